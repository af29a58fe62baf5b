// Breaker in virtual time.
#include "engine/breaker.h"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

using std::chrono::milliseconds;

TEST(Breaker, OpensAfterFailuresInARowAlone) {
    Breaker breaker({.failures = 3, .probe_every = milliseconds(100)});
    const Steady::time_point t0{};
    breaker.failed(t0);
    breaker.failed(t0);
    breaker.succeeded();
    breaker.failed(t0);
    breaker.failed(t0);
    EXPECT_TRUE(breaker.allows());
    breaker.failed(t0);
    EXPECT_FALSE(breaker.allows());
    EXPECT_EQ(breaker.times_opened(), 1U);
}

TEST(Breaker, OneProbeAtATimeAndOnlyWhenDue) {
    Breaker breaker({.failures = 1, .probe_every = milliseconds(100)});
    const Steady::time_point t0{};
    EXPECT_FALSE(breaker.take_probe(t0 + milliseconds(500)));  // closed: nothing to find out
    breaker.failed(t0);
    EXPECT_FALSE(breaker.take_probe(t0 + milliseconds(99)));
    EXPECT_TRUE(breaker.take_probe(t0 + milliseconds(100)));
    EXPECT_FALSE(breaker.take_probe(t0 + milliseconds(500)));
    breaker.probe_ended(false, t0 + milliseconds(120));
    EXPECT_FALSE(breaker.allows());
    EXPECT_FALSE(breaker.take_probe(t0 + milliseconds(219)));
    EXPECT_TRUE(breaker.take_probe(t0 + milliseconds(220)));
    EXPECT_EQ(breaker.state(), Breaker::State::kHalfOpen);
    breaker.probe_ended(true, t0 + milliseconds(230));
    EXPECT_TRUE(breaker.allows());
}

// Late failures of requests that were out when it opened change nothing.
TEST(Breaker, FailuresWhileOpenDoNotPutOffTheProbe) {
    Breaker breaker({.failures = 1, .probe_every = milliseconds(100)});
    const Steady::time_point t0{};
    breaker.force_open(t0);
    breaker.failed(t0 + milliseconds(90));
    EXPECT_TRUE(breaker.take_probe(t0 + milliseconds(100)));
    breaker.failed(t0 + milliseconds(101));
    breaker.probe_ended(true, t0 + milliseconds(102));
    EXPECT_TRUE(breaker.allows());
    EXPECT_EQ(breaker.times_opened(), 1U);
}

}  // namespace
}  // namespace tollgate
