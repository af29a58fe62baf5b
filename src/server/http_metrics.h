// HttpMetrics: the counters of the HTTP face, bound once so that a request only adds.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "base/metrics.h"
#include "server/routes.h"

namespace tollgate::server {

struct HttpMetrics {
    explicit HttpMetrics(Metrics& metrics);

    // `route` nullptr: the request matched none, label "other".
    void answered(const Route* route, int status, std::chrono::microseconds took) const;

    Gauge connections;
    Counter accepted;
    Counter refused;   // past max_connections
    Counter evicted;   // idle or slow ones closed to make room
    Counter timeouts;  // header, body or write limit passed
    Counter faults;    // requests that were no well-formed HTTP
    Counter bytes_in;
    Counter bytes_out;
    Counter batch_lines;
    Counter batch_errors;
    Counter key_reloads;
    Counter key_failures;

  private:
    struct PerRoute {
        std::array<Counter, 6> by_class;  // index: hundreds of the status
        Histogram duration;
    };
    static constexpr std::size_t kRoutes = static_cast<std::size_t>(RouteId::kDrain) + 1;
    std::array<PerRoute, kRoutes + 1> routes_;  // the last is "other"
};

}  // namespace tollgate::server
