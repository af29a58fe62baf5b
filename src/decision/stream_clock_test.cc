// Tests of the stream clock: what moves it, what is late, what is ahead, and that only event time
// counts.
#include "decision/stream_clock.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tollgate {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const EventTime kStart = from_micros(1'764'547'200'000'000);  // 2025-12-01

ClockRules event_rules() {
    return {.mode = ClockMode::kEvent};
}

TEST(StreamClock, EventModeFollowsTheHighestEventAndNeverTheWall) {
    StreamClock clock(event_rules());
    EXPECT_EQ(clock.now(kStart), EventTime{});
    EXPECT_EQ(clock.admit(kStart, EventTime{}), Admission::kFresh);
    EXPECT_EQ(clock.admit(kStart + minutes(4), kStart + hours(90)), Admission::kFresh);
    EXPECT_EQ(clock.now(kStart - hours(5)), kStart + minutes(4));
    EXPECT_EQ(clock.admit(kStart + minutes(3), {}), Admission::kFresh);
    EXPECT_EQ(clock.now({}), kStart + minutes(4));
}

TEST(StreamClock, LateIsBetweenLateAfterAndLateness) {
    StreamClock clock(event_rules());
    (void)clock.admit(kStart, {});
    EXPECT_EQ(clock.admit(kStart - minutes(1), {}), Admission::kFresh);
    EXPECT_EQ(clock.admit(kStart - minutes(1) - Micros(1), {}), Admission::kLate);
    EXPECT_EQ(clock.admit(kStart - hours(24), {}), Admission::kLate);
    EXPECT_EQ(clock.admit(kStart - hours(24) - Micros(1), {}), Admission::kTooLate);
    EXPECT_EQ(clock.now({}), kStart);
}

TEST(StreamClock, OneEventFromTheFutureDoesNotMoveTheClockButASecondDoes) {
    StreamClock clock(event_rules());
    (void)clock.admit(kStart, {});
    EXPECT_EQ(clock.admit(kStart + hours(24 * 365), {}), Admission::kFresh);
    EXPECT_EQ(clock.now({}), kStart);
    // The stream goes on, with a gap of an hour: the first event after it waits for the next.
    EXPECT_EQ(clock.admit(kStart + hours(1), {}), Admission::kFresh);
    EXPECT_EQ(clock.now({}), kStart);
    (void)clock.admit(kStart + hours(1) + seconds(10), {});
    EXPECT_EQ(clock.now({}), kStart + hours(1) + seconds(10));
}

TEST(StreamClock, SparseStreamStillMoves) {
    StreamClock clock(event_rules());
    for (int i = 0; i < 10; ++i) {
        (void)clock.admit(kStart + hours(i), {});
    }
    EXPECT_EQ(clock.now({}), kStart + hours(8));  // one event behind: the last waits
}

TEST(StreamClock, WallModeRefusesTheFutureAndCountsFromTheWall) {
    StreamClock clock(ClockRules{});
    EXPECT_EQ(clock.admit(kStart + minutes(5), kStart), Admission::kFresh);
    EXPECT_EQ(clock.admit(kStart + minutes(5) + Micros(1), kStart), Admission::kAhead);
    EXPECT_EQ(clock.admit(kStart - minutes(2), kStart), Admission::kLate);
    EXPECT_EQ(clock.admit(kStart - hours(25), kStart), Admission::kTooLate);
    EXPECT_EQ(clock.now(kStart), kStart);
}

TEST(StreamClock, WallStepsBackAreHeldWhenSmallAndBelievedWhenLarge) {
    StreamClock clock(ClockRules{});
    (void)clock.admit(kStart, kStart);
    EXPECT_EQ(clock.now(kStart - seconds(30)), kStart);
    (void)clock.admit(kStart, kStart + hours(48));  // a wrong jump
    EXPECT_EQ(clock.now(kStart + seconds(1)), kStart + seconds(1));
    EXPECT_EQ(clock.admit(kStart, kStart + seconds(1)), Admission::kFresh);
    EXPECT_EQ(clock.steps_back(), 1U);
}

TEST(StreamClock, StateSurvivesEncodingAndBadStateChangesNothing) {
    StreamClock clock(event_rules());
    (void)clock.admit(kStart, {});
    (void)clock.admit(kStart + hours(1), {});
    StreamClock copy(event_rules());
    ASSERT_TRUE(copy.decode(clock.encode()));
    EXPECT_EQ(copy.encode(), clock.encode());
    (void)copy.admit(kStart + hours(1) + seconds(1), {});
    EXPECT_EQ(copy.now({}), kStart + hours(1) + seconds(1));
    const std::string state = copy.encode();
    for (std::size_t size = 0; size < state.size(); ++size) {
        const auto got = copy.decode(std::string_view(state).substr(0, size));
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().fault, Fault::kCorrupt);
    }
    EXPECT_EQ(copy.encode(), state);
}

// Case U3: the same events delivered on another day, at other wall times, are admitted alike.
TEST(StreamClock, ReplayTomorrowGivesTheSameAdmissions) {
    std::mt19937_64 random(3);
    std::vector<EventTime> events;
    for (int i = 0; i < 500; ++i) {
        events.push_back(kStart + seconds(i * 20) -
                         seconds(random() % 10 == 0 ? random() % 200'000 : random() % 30));
    }
    StreamClock today(event_rules());
    StreamClock tomorrow(event_rules());
    for (std::size_t i = 0; i < events.size(); ++i) {
        const EventTime wall = events[i] + seconds(random() % 100);
        EXPECT_EQ(today.admit(events[i], wall), tomorrow.admit(events[i], wall + hours(24)));
        EXPECT_EQ(today.now(wall), tomorrow.now(wall + hours(24)));
    }
}

}  // namespace
}  // namespace tollgate
