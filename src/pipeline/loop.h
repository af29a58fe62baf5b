// Loop: the io thread as the pipeline sees it, so that the decision loop knows no sockets and tests
// can own time.
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace tollgate::pipeline {

// Implemented over Boost.Asio in server/, and with virtual time for tests and lockstep replay.
class Loop {
  public:
    using TimerId = std::uint64_t;
    virtual ~Loop() = default;
    // Runs f on the loop's thread, in order of posting. Safe from any thread.
    virtual void post(std::function<void()> f) = 0;
    // Runs f on the loop's thread at `when` or soon after, unless cancelled first. Loop thread
    // only.
    virtual TimerId call_at(Steady::time_point when, std::function<void()> f) = 0;
    virtual void cancel(TimerId id) = 0;  // unknown or already run: nothing happens
    virtual Steady::time_point now() const = 0;
    virtual EventTime wall() const = 0;  // the wall clock, with FaultSwitches::clock_jump_us added
};

}  // namespace tollgate::pipeline
