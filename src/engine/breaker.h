// Breaker: keeps requests away from a model that fails, and lets a probe find out when it is well.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/time.h"

namespace tollgate {

struct BreakerOptions {
    std::uint32_t failures = 5;                  // in a row; then it opens
    std::chrono::milliseconds probe_every{100};  // while open
};

// Closed: requests pass. Open: none does; every probe_every one probe of the owner's own (no
// customer's request) may go. A probe that ends well closes it. Thread-safe; each call takes one
// uncontended mutex.
class Breaker {
  public:
    enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };  // half-open: a probe is out

    explicit Breaker(const BreakerOptions& options = {}) : options_(options) {}

    bool allows() const;
    State state() const;
    std::uint64_t times_opened() const;

    void succeeded();
    void failed(Steady::time_point now);
    void force_open(Steady::time_point now);  // what failed is known to be gone

    // True when a probe should go now; it then counts as out until probe_ended().
    bool take_probe(Steady::time_point now);
    void probe_ended(bool well, Steady::time_point now);

  private:
    void open(Steady::time_point now);  // with mutex_ held

    const BreakerOptions options_;
    mutable std::mutex mutex_;  // guards all below
    State state_ = State::kClosed;
    std::uint32_t failures_ = 0;
    std::uint64_t times_opened_ = 0;
    Steady::time_point next_probe_;
};

}  // namespace tollgate
