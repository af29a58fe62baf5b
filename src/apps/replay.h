// The two ways of `tollgate replay`: open-loop load on a server, and lockstep in this process.
#pragma once

#include <optional>
#include <string>

#include "apps/replay_report.h"
#include "apps/traffic_feed.h"
#include "base/result.h"

namespace tollgate::apps {

struct ReplayOptions {
    std::string input;
    FeedOptions feed;
    bool quiet = false;
    // Against a server.
    std::string server;
    std::string key;
    double rate = 0.0;   // events a second; 0: not chosen
    double speed = 0.0;  // times as fast as the events came; 0: not chosen
    bool flat_out = false;
    std::size_t connections = 32;
    // Lockstep.
    std::string data;
    std::string policy;
    std::string tenant = "default";
};

Result<ReplayReport> replay_load(const ReplayOptions& options);

// Virtual time: each event is answered before the next is read, outcomes are applied at theirs.
// Equal files, options and packs give equal record logs, byte for byte, in an empty data folder.
Result<ReplayReport> replay_lockstep(const ReplayOptions& options);

}  // namespace tollgate::apps
