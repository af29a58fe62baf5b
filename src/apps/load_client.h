// LoadClient: open-loop HTTP load on keep-alive connections. A request's latency runs from its
// scheduled send time, so a server that stops answering cannot hide it (no coordinated omission).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tollgate::apps {

struct LoadRequest {
    std::string target = "/v1/assessments";
    std::string body;
    std::uint64_t tag = 0;         // the caller's own number
    Steady::time_point scheduled;  // flat out: set when it is sent
};
struct LoadReply {
    std::uint64_t tag = 0;
    bool answered = false;  // false: connection failed, refused or timed out
    unsigned status = 0;
    std::string body;
    std::string server_timing;
    Steady::time_point scheduled;
    Steady::time_point sent;
    Steady::time_point received;
};

struct LoadOptions {
    std::string host = "127.0.0.1";
    std::string port;
    std::string key;
    std::size_t connections = 32;  // 1..4096
    std::chrono::milliseconds give_up{5'000};
    bool flat_out = false;  // the next request as soon as a connection is free
};

// "http://127.0.0.1:8080" -> host and port; kBadInput otherwise.
Status parse_server_url(const std::string& url, LoadOptions& options);

// Runs until `next` returns false and all replies are in. `next` fills the request to send next
// (scheduled in order); it is called when the previous one has been handed to a connection or
// queued. `reply` sees every request exactly once. `tick` runs about ten times a second. All on the
// calling thread.
Status run_load(const LoadOptions& options, const std::function<bool(LoadRequest&)>& next,
                const std::function<void(const LoadReply&)>& reply,
                const std::function<void()>& tick);

// One request on a connection of its own (CLI commands with --server).
Result<LoadReply> send_once(const LoadOptions& options, const std::string& method,
                            const std::string& target, const std::string& body);

}  // namespace tollgate::apps
