// Names and labels of the HTTP metrics.
#include "server/http_metrics.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tollgate::server {
namespace {

constexpr std::array<std::string_view, 6> kClasses{"", "1xx", "2xx", "3xx", "4xx", "5xx"};

}  // namespace

HttpMetrics::HttpMetrics(Metrics& metrics)
    : connections(metrics.gauge("tollgate_http_connections", "Open connections")),
      accepted(metrics.counter("tollgate_http_connections_total", "Connections accepted")),
      refused(metrics.counter("tollgate_http_connections_refused_total",
                              "Connections answered 503 because all places were taken")),
      evicted(metrics.counter("tollgate_http_connections_evicted_total",
                              "Idle or slow connections closed to make room")),
      timeouts(metrics.counter("tollgate_http_timeouts_total",
                               "Requests or answers that were not taken in time")),
      faults(metrics.counter("tollgate_http_malformed_total",
                             "Requests that were not well-formed HTTP")),
      bytes_in(metrics.counter("tollgate_http_received_bytes_total", "Bytes read")),
      bytes_out(metrics.counter("tollgate_http_sent_bytes_total", "Bytes written")),
      batch_lines(metrics.counter("tollgate_http_batch_lines_total", "Lines of batches answered")),
      batch_errors(metrics.counter("tollgate_http_batch_line_errors_total",
                                   "Lines of batches answered by an error")),
      key_reloads(
          metrics.counter("tollgate_key_reloads_total", "Times the key file was read anew")),
      key_failures(metrics.counter("tollgate_key_reload_failures_total",
                                   "Times the key file could not be read; the old keys stay")) {
    const auto bind = [&metrics](PerRoute& out, std::string_view method, std::string_view path) {
        for (std::size_t i = 2; i < kClasses.size(); ++i) {
            out.by_class[i] =
                metrics.counter("tollgate_http_requests_total", "Requests answered",
                                {{"method", method}, {"route", path}, {"status", kClasses[i]}});
        }
        out.duration = metrics.histogram(
            "tollgate_http_request_seconds",
            "From the last byte of a request to its answer being handed to the socket",
            {{"method", method}, {"route", path}});
    };
    for (const Route& route : routes()) {
        bind(routes_[static_cast<std::size_t>(route.id)], to_text(route.method), route.path);
    }
    bind(routes_.back(), "other", "other");
}

void HttpMetrics::answered(const Route* route, int status, std::chrono::microseconds took) const {
    const PerRoute& at = routes_[route == nullptr ? kRoutes : static_cast<std::size_t>(route->id)];
    const auto hundreds = static_cast<std::size_t>(std::clamp(status / 100, 2, 5));
    at.by_class[hundreds].add();
    at.duration.observe(static_cast<double>(took.count()) * 1e-6);
}

}  // namespace tollgate::server
