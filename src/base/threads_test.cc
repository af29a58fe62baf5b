// Tests of base/threads.h: the name is kept and the priority is the role's.
#include "base/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

namespace tollgate {
namespace {

struct Seen {
    bool entered = false;
    std::string name;
    int nice = 0;
    int policy = 0;
};

Seen seen_in(ThreadRole role, std::string_view name) {
    Seen seen;
    std::thread([&] {
        seen.entered = enter_thread(role, name);
        std::array<char, 16> text{};
        (void)::pthread_getname_np(::pthread_self(), text.data(), text.size());
        seen.name = text.data();
        seen.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
        seen.policy = ::sched_getscheduler(0);
    }).join();
    return seen;
}

TEST(Threads, BackgroundHasItsNameCutTo15BytesAndNice10) {
    const Seen seen = seen_in(ThreadRole::kBackground, "review-worker-number-9");
    EXPECT_EQ(seen.name, "review-worker-n");
    if (seen.entered) {
        EXPECT_EQ(seen.nice, 10);
        EXPECT_EQ(seen.policy, SCHED_OTHER);
    }
}

TEST(Threads, DeepComputeIsIdleOrTheLowestNice) {
    const Seen seen = seen_in(ThreadRole::kDeepCompute, "deep");
    EXPECT_TRUE(seen.entered);
    EXPECT_TRUE(seen.policy == SCHED_IDLE || seen.nice == 19);
}

TEST(Threads, PriorityBelongsToTheThreadAlone) {
    const int before = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
    (void)seen_in(ThreadRole::kFastCompute, "fast");
    EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())), before);
}

}  // namespace
}  // namespace tollgate
