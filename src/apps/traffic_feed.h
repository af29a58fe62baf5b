// TrafficFeed: a traffic file in the order a bank's systems would send it, each outcome when it
// becomes known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "apps/traffic.h"
#include "base/result.h"
#include "base/time.h"

namespace tollgate::apps {

struct FeedOptions {
    std::optional<EventTime> from;   // events before it are left out
    std::optional<EventTime> until;  // the first event at or after it ends the feed
    std::uint64_t limit = 0;         // events; 0: all
    bool outcomes = true;
    // Outcomes that long after their event instead of at their known_at.
    std::optional<Micros> feedback_delay;
};

struct FeedStep {
    bool is_outcome = false;
    EventTime at;
    TrafficItem item;          // of an event
    std::string outcome_json;  // of an outcome
};

// Outcomes known at the time of an event come before it; those known after the last event are
// counted, not given.
// Memory: the outcomes that wait for their time.
class TrafficFeed {
  public:
    TrafficFeed(std::unique_ptr<TrafficReader> reader, const FeedOptions& options)
        : reader_(std::move(reader)), options_(options) {}
    static Result<std::unique_ptr<TrafficFeed>> open(const std::string& path,
                                                     const FeedOptions& options);

    // False at the end. kBadInput when an event is older than the one before it: a feed that goes
    // back in time would decide on other windows than the bank did.
    Result<bool> next(FeedStep& step);
    std::uint64_t events() const { return events_; }
    std::uint64_t waiting_outcomes() const { return waiting_.size(); }  // at the end: not given
    double progress() const;

  private:
    struct Waiting {
        EventTime at;
        std::uint64_t order = 0;  // of its event: ties go in that order
        std::string json;
    };
    struct Later {
        bool operator()(const Waiting& a, const Waiting& b) const {
            return a.at != b.at ? a.at > b.at : a.order > b.order;
        }
    };
    Result<bool> read_event();

    std::unique_ptr<TrafficReader> reader_;
    FeedOptions options_;
    std::priority_queue<Waiting, std::vector<Waiting>, Later> waiting_;
    std::optional<TrafficItem> upcoming_;
    std::optional<EventTime> last_;
    std::uint64_t events_ = 0;
    bool ended_ = false;
};

}  // namespace tollgate::apps
