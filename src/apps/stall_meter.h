// StallMeter: a process of its own that wakes every millisecond and notes when the machine did not
// let it, so that a load test can tell the server's latency from the host's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace tollgate::apps {

struct Stall {
    std::int64_t from_us = 0;  // CLOCK_MONOTONIC microseconds: when it should have woken
    std::int64_t until_us = 0;
};

// Forks in start(); the child holds no file of the parent but its pipe and ends with it.
class StallMeter {
  public:
    static Result<StallMeter> start();
    StallMeter(StallMeter&& other) noexcept;
    StallMeter& operator=(StallMeter&&) = delete;
    ~StallMeter();
    // Ends the child and returns stalls of 1 ms and more, in order (at most 1,000,000).
    std::vector<Stall> stop();

  private:
    StallMeter(int pid, int pipe) : pid_(pid), pipe_(pipe) {}
    int pid_;
    int pipe_;
};

// True when a stall of at least `least_us` overlaps [from, until]. `stalls` in order; log n.
bool overlaps_stall(const std::vector<Stall>& stalls, std::int64_t from_us, std::int64_t until_us,
                    std::int64_t least_us);

}  // namespace tollgate::apps
