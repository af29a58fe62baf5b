// The child sleeps to absolute times on the monotonic clock and writes each late waking into a
// pipe.
#include "apps/stall_meter.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

namespace tollgate::apps {

namespace {
constexpr std::int64_t kTick = 1'000;  // us
constexpr std::size_t kMaxStalls = 1'000'000;

std::int64_t now_us() {
    timespec t{};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000;
}

[[noreturn]] void run_child(int pipe) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::int64_t due = now_us() + kTick;
    for (;;) {
        const timespec at{due / 1'000'000, (due % 1'000'000) * 1'000};
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
        const std::int64_t woke = now_us();
        if (woke - due >= kTick) {
            const Stall stall{due, woke};
            if (::write(pipe, &stall, sizeof stall) != static_cast<ssize_t>(sizeof stall) &&
                errno != EAGAIN) {
                _exit(0);
            }
        }
        due = std::max(due + kTick, woke - woke % kTick + kTick);
    }
}
}  // namespace

Result<StallMeter> StallMeter::start() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return Error{Fault::kInternal, "stall meter: no pipe"};
    }
    (void)::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    (void)::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const pid_t pid = ::fork();
    if (pid < 0) {
        (void)::close(ends[0]);
        (void)::close(ends[1]);
        return Error{Fault::kInternal, "stall meter: no process"};
    }
    if (pid == 0) {
        (void)::close(ends[0]);
        run_child(ends[1]);
    }
    (void)::close(ends[1]);
    return StallMeter(pid, ends[0]);
}

StallMeter::StallMeter(StallMeter&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pipe_(std::exchange(other.pipe_, -1)) {}

StallMeter::~StallMeter() {
    if (pid_ > 0) {
        (void)stop();
    }
}

std::vector<Stall> StallMeter::stop() {
    std::vector<Stall> stalls;
    if (pid_ <= 0) {
        return stalls;
    }
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    Stall stall;
    while (stalls.size() < kMaxStalls &&
           ::read(pipe_, &stall, sizeof stall) == static_cast<ssize_t>(sizeof stall)) {
        stalls.push_back(stall);
    }
    (void)::close(pipe_);
    pid_ = -1;
    return stalls;
}

bool overlaps_stall(const std::vector<Stall>& stalls, std::int64_t from_us, std::int64_t until_us,
                    std::int64_t least_us) {
    auto at =
        std::lower_bound(stalls.begin(), stalls.end(), from_us,
                         [](const Stall& stall, std::int64_t t) { return stall.until_us < t; });
    for (; at != stalls.end() && at->from_us <= until_us; ++at) {
        if (at->until_us - at->from_us >= least_us) {
            return true;
        }
    }
    return false;
}

}  // namespace tollgate::apps
