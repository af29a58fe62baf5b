// Names and priorities of threads by Linux calls.
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace tollgate {
namespace {

// On Linux a nice value belongs to a thread when it is set by thread id.
bool set_nice(int value) noexcept {
    return ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), value) == 0;
}

bool set_policy(int policy) noexcept {
    const sched_param none{};
    return ::sched_getscheduler(0) == policy || ::sched_setscheduler(0, policy, &none) == 0;
}

int nice_of(ThreadRole role) noexcept {
    switch (role) {
        case ThreadRole::kIo:
        case ThreadRole::kCommit:
            return 0;
        case ThreadRole::kFastCompute:
            return 5;
        case ThreadRole::kDeepCompute:
            return 19;
        case ThreadRole::kBackground:
            return 10;
    }
    return 0;
}

}  // namespace

bool enter_thread(ThreadRole role, std::string_view name) noexcept {
    std::array<char, 16> kept{};
    std::copy_n(name.begin(), std::min(name.size(), kept.size() - 1), kept.begin());
    const bool named = ::pthread_setname_np(::pthread_self(), kept.data()) == 0;
    if (role == ThreadRole::kDeepCompute) {
        return (set_policy(SCHED_IDLE) || set_nice(nice_of(role))) && named;
    }
    return set_policy(SCHED_OTHER) && set_nice(nice_of(role)) && named;
}

}  // namespace tollgate
