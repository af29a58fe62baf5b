// `tollgate bench echo`: what HTTP alone costs here; a server's events per second are read beside
// it.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "apps/bench.h"
#include "apps/cli.h"
#include "apps/load_client.h"
#include "apps/replay_report.h"
#include "apps/traffic_feed.h"
#include "base/time.h"
#include "server/echo.h"

namespace tollgate::apps {

namespace {

// The echo server in a process of its own, so that it has a core as a server would; ends with it.
class EchoProcess {
  public:
    static Result<EchoProcess> start() {
        int ends[2] = {-1, -1};
        if (::pipe(ends) != 0) {
            return Error{Fault::kInternal, "bench echo: no pipe"};
        }
        const pid_t pid = ::fork();
        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)::close(ends[0]);
            const Status ran = server::run_echo(0, [&ends](std::uint16_t port) {
                (void)!::write(ends[1], &port, sizeof port);
                (void)::close(ends[1]);
            });
            _exit(ran ? 0 : 1);
        }
        (void)::close(ends[1]);
        EchoProcess out(pid);
        const bool told = pid > 0 && ::read(ends[0], &out.port_, sizeof out.port_) ==
                                         static_cast<ssize_t>(sizeof out.port_);
        (void)::close(ends[0]);
        if (!told) {
            return Error{Fault::kInternal, "bench echo: its server did not start"};
        }
        return out;
    }
    EchoProcess(EchoProcess&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), port_(other.port_) {}
    EchoProcess(const EchoProcess&) = delete;
    EchoProcess& operator=(const EchoProcess&) = delete;
    EchoProcess& operator=(EchoProcess&&) = delete;
    ~EchoProcess() {
        if (pid_ > 0) {
            (void)::kill(pid_, SIGTERM);
            (void)::waitpid(pid_, nullptr, 0);
        }
    }
    std::uint16_t port() const { return port_; }

  private:
    explicit EchoProcess(pid_t pid) : pid_(pid) {}
    pid_t pid_ = -1;
    std::uint16_t port_ = 0;
};

Result<std::vector<std::string>> bodies_of(const BenchEchoOptions& options) {
    FeedOptions feed_options;
    feed_options.outcomes = false;
    feed_options.limit = options.events;
    TG_TRY(const auto feed, TrafficFeed::open(options.input, feed_options));
    std::vector<std::string> bodies;
    FeedStep step;
    for (;;) {
        TG_TRY(const bool more, feed->next(step));
        if (!more) {
            break;
        }
        bodies.push_back(std::move(step.item.event_json));
    }
    if (bodies.empty()) {
        return Error{Fault::kBadInput, "--input: no event in " + options.input};
    }
    return bodies;
}

}  // namespace

Status bench_echo(const BenchEchoOptions& options) {
    TG_TRY(const auto bodies, bodies_of(options));
    TG_TRY(const EchoProcess echo, EchoProcess::start());
    LoadOptions load;
    load.port = std::to_string(echo.port());
    load.connections = options.connections;
    load.flat_out = true;
    std::size_t sent = 0;
    std::size_t failed = 0;
    std::vector<std::int64_t> micros;
    micros.reserve(bodies.size());
    const auto began = Steady::now();
    TG_TRY(const auto ran,
           run_load(
               load,
               [&](LoadRequest& request) {
                   if (sent == bodies.size()) {
                       return false;
                   }
                   request.body = bodies[sent++];
                   return true;
               },
               [&](const LoadReply& reply) {
                   failed += reply.answered && reply.status == 200 ? 0U : 1U;
                   micros.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
                                        reply.received - reply.sent)
                                        .count());
               },
               [] {}));
    (void)ran;
    const double seconds = std::chrono::duration<double>(Steady::now() - began).count();
    const double rate = static_cast<double>(bodies.size()) / seconds;
    const Percentiles ms = percentiles_of(micros, 1e3);
    (void)std::printf(
        "Bare Beast echo of the same bodies, %zu connections: %zu requests in %.1f s (%.1f/s), %zu "
        "failed; ms p50 %.2f  p99 %.2f  p99.9 %.2f\n",
        options.connections, bodies.size(), seconds, rate, failed, ms.p50, ms.p99, ms.p999);
    return failed == 0 ? ok() : Status(Error{Fault::kInternal, "bench echo: requests failed"});
}

}  // namespace tollgate::apps
