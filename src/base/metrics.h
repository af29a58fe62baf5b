// Prometheus metrics of one process, behind the well-kept prometheus-cpp registry: counters, gauges
// and histograms with labels, rendered as text format 0.0.4. Names are documented in
// docs/operations.md exactly as scraped.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tollgate {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Handles are cheap to copy, valid while the Metrics lives, safe from any thread, and allocate
// nothing when used.
class Counter {
  public:
    void add(double n = 1.0) const noexcept;
    double value() const noexcept;

  private:
    friend class Metrics;
    void* impl_ = nullptr;
};
class Gauge {
  public:
    void set(double v) const noexcept;
    void add(double n) const noexcept;
    double value() const noexcept;

  private:
    friend class Metrics;
    void* impl_ = nullptr;
};
class Histogram {
  public:
    void observe(double v) const noexcept;

  private:
    friend class Metrics;
    void* impl_ = nullptr;
};

// Latency bounds in seconds, 50 us to 1 s: 50u 100u 200u 500u 1m 2m 5m 10m 15m 20m 50m 100m 200m
// 500m 1.
const std::vector<double>& latency_buckets();

class Metrics {
  public:
    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    // Finds or makes the series. A handle default-constructed (never bound) ignores what is done to
    // it. The number of series a family may have is bounded (10,000): past it the one series with
    // every label "other" is returned.
    Counter counter(std::string_view name, std::string_view help, Labels labels = {});
    Gauge gauge(std::string_view name, std::string_view help, Labels labels = {});
    Histogram histogram(std::string_view name, std::string_view help, Labels labels = {},
                        const std::vector<double>& bounds = latency_buckets());

    std::string render() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate
