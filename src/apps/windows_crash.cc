// Verifies through a data folder: a child loads, decides, is killed, starts again, recovers and
// goes on.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "apps/cli.h"
#include "apps/temporary_folder.h"
#include "apps/windows_verify.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/metrics.h"
#include "build_info.h"
#include "pipeline/import.h"
#include "pipeline/pipeline.h"
#include "pipeline/virtual_loop.h"
#include "store/store.h"

namespace tollgate::apps {

namespace {

constexpr std::string_view kTenant = "verify";
// Events before the kill that are decided and committed one by one, after the snapshot that the
// import leaves: recovery has to join both.
constexpr std::uint64_t kDecidedBeforeKill = 20'000;

// What the child tells its parent through the pipe: one message a verified row, and how much it
// recovered.
struct Message {
    std::uint64_t row = 0;  // UINT64_MAX: `wrong` is the number of recovered events
    std::uint64_t wrong = 0;
};
static_assert(sizeof(Message) <= 512, "smaller than PIPE_BUF: a kill cannot cut a message");

// The child's work on one opened data folder.
class Child {
  public:
    Child(const VerifyInput& input, pipeline::Pipeline& pipeline, pipeline::VirtualLoop& loop,
          int pipe)
        : input_(input), pipeline_(pipeline), loop_(loop), row_(*input.pack), pipe_(pipe) {}

    void tell(const Message& message) const {
        if (::write(pipe_, &message, sizeof message) != static_cast<ssize_t>(sizeof message)) {
            _exit(1);  // the parent is gone
        }
    }

    // Rows [from, to) as history, in bulk; those that are there already are skipped. Ends with a
    // snapshot.
    Status import(std::size_t from, std::size_t to) {
        TG_TRY(const auto importer, pipeline::Importer::open(pipeline_, std::string(kTenant)));
        for (std::size_t i = from; i < to; ++i) {
            const Event event = handbook_event(input_.rows[i]);
            const std::uint64_t known = importer->stats().duplicates;
            const std::uint32_t wrong = compare(i, event);
            TG_TRY([[maybe_unused]] const auto added,
                   importer->add(event, handbook_outcome(input_.rows[i])));
            if (importer->stats().duplicates == known) {
                tell_row(i, wrong);
            }
        }
        return importer->finish();
    }

    // Rows [from, to) decided one by one, each confirmed by the store before its outcome goes in.
    Status decide(std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            bool done = false;
            submit(i, done);
            if (!loop_.run_until([&done] { return done; })) {
                return Error{Fault::kTimeout, "the store did not confirm for 30 s"};
            }
            TG_TRY([[maybe_unused]] const auto labelled, outcome(i));
        }
        return ok();
    }

    // As a client does whose request was not answered: sent again, applied once.
    Status outcome(std::size_t i) {
        bool done = false;
        std::optional<Error> error;
        pipeline_.outcome(std::string(kTenant), handbook_outcome(input_.rows[i]),
                          [&done, &error](const pipeline::Reply& reply) {
                              done = true;
                              error = reply.error;
                          });
        if (!loop_.run_until([&done] { return done; })) {
            return Error{Fault::kTimeout, "the store did not confirm for 30 s"};
        }
        return error ? Status(*error) : ok();
    }

    // In the middle of row i: submitted, not confirmed.
    [[noreturn]] void die_at(std::size_t i) {
        bool done = false;
        submit(i, done);
        (void)::kill(::getpid(), SIGKILL);
        std::abort();
    }

  private:
    // The row's windows as its event will see them, before it is recorded. A row that is there
    // already would see itself
    // twice: those are not told.
    std::uint32_t compare(std::size_t i, const Event& event) {
        const OracleRow* expected = input_.expected(input_.rows[i].id);
        WindowStore* windows = pipeline_.windows_of(kTenant);
        if (expected == nullptr || windows == nullptr) {
            return 0;
        }
        row_.set(event);
        return mismatches(*expected, input_.windows,
                          row_.assess(*windows, i + 1, RecordMode::kReadOnly));
    }

    void tell_row(std::size_t i, std::uint32_t wrong) const {
        if (input_.expected(input_.rows[i].id) != nullptr) {
            tell({.row = i, .wrong = wrong});
        }
    }

    void submit(std::size_t i, bool& done) {
        Event event = handbook_event(input_.rows[i]);
        loop_.set_wall(event.occurred_at);
        tell_row(i, compare(i, event));
        pipeline_.assess({.tenant = std::string(kTenant),
                          .pack = pipeline_.pack_of(kTenant),
                          .event = std::move(event),
                          .received = loop_.now(),
                          .reply = [&done](const pipeline::Reply&) { done = true; }});
    }

    const VerifyInput& input_;
    pipeline::Pipeline& pipeline_;
    pipeline::VirtualLoop& loop_;
    EventRow row_;
    int pipe_;
};

enum class LifeNumber : std::uint8_t { kFirst, kSecond };

// What the second life does: counts what it found, sends again what the kill left open, goes on to
// the end.
Status go_on(const VerifyInput& input, const store::Store& store, std::size_t killed_at,
             Child& child) {
    std::uint64_t events = 0;
    TG_TRY([[maybe_unused]] const auto counted,
           store.scan(store::Family::kEvents, kTenant, {}, [&events](auto, auto) {
               ++events;
               return true;
           }));
    child.tell({.row = UINT64_MAX, .wrong = events});
    // The row of the kill may have got into the log, its outcome cannot.
    TG_TRY(const auto there, store.get(store::Family::kEvents, kTenant,
                                       handbook_event(input.rows[killed_at]).event_id));
    if (there) {
        TG_TRY([[maybe_unused]] const auto labelled, child.outcome(killed_at));
    }
    return child.import(0, input.rows.size());
}

// The first life is killed at row `crash_at`, the second goes on to the end.
Status live(const VerifyInput& input, const std::string& folder, std::uint64_t crash_at,
            LifeNumber life, int pipe) {
    FaultSwitches faults;
    Metrics metrics;
    store::StoreOptions store_options;
    store_options.path = folder;
    TG_TRY(const auto store, store::Store::open(store_options, faults, metrics));
    pipeline::VirtualLoop loop(EventTime{}, &faults);
    pipeline::PipelineOptions options;
    options.virtual_time = true;
    options.snapshot_every = std::chrono::seconds(0);
    options.build = kBuildVersion;
    TG_TRY(const auto pipeline,
           pipeline::Pipeline::open(options, input.pack, *store, loop, metrics, faults, nullptr));
    TG_TRY([[maybe_unused]] const auto known, pipeline->ensure_tenant(std::string(kTenant)));
    Child child(input, *pipeline, loop, pipe);
    if (life == LifeNumber::kSecond) {
        return go_on(input, *store, crash_at - 1, child);
    }
    const std::size_t last = crash_at - 1;
    const std::size_t decided = last - std::min<std::size_t>(kDecidedBeforeKill, last / 2);
    TG_TRY([[maybe_unused]] const auto imported, child.import(0, decided));
    TG_TRY([[maybe_unused]] const auto ran, child.decide(decided, last));
    child.die_at(last);
}

struct LifeResult {
    int status = 0;  // waitpid's
    std::vector<Message> messages;
};

// Runs live() in a child process and gathers what it tells until it ends.
Result<LifeResult> run_life(const VerifyInput& input, const std::string& folder,
                            std::uint64_t crash_at, LifeNumber number, ProgressBar& bar) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return Error{Fault::kInternal, std::string("pipe: ") + std::strerror(errno)};
    }
    const pid_t pid = ::fork();
    if (pid < 0) {
        return Error{Fault::kInternal, std::string("fork: ") + std::strerror(errno)};
    }
    if (pid == 0) {
        (void)::close(ends[0]);
        const int code =
            report("windows verify (child)", live(input, folder, crash_at, number, ends[1]));
        _exit(code);
    }
    (void)::close(ends[1]);
    LifeResult life;
    Message message;
    for (;;) {
        const ssize_t size = ::read(ends[0], &message, sizeof message);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size != static_cast<ssize_t>(sizeof message)) {
            break;
        }
        life.messages.push_back(message);
        if (message.row != UINT64_MAX) {
            bar.show(static_cast<double>(message.row) / static_cast<double>(input.rows.size()),
                     message.row, "rows");
        }
    }
    (void)::close(ends[0]);
    (void)::waitpid(pid, &life.status, 0);
    return life;
}

}  // namespace

Result<VerifyResult> verify_with_crash(const VerifyInput& input, const VerifyOptions& options) {
    if (options.crash_at < 2 || options.crash_at > input.rows.size()) {
        return Error{Fault::kBadInput, "--crash-at = " + std::to_string(options.crash_at) +
                                           ", allowed 2.." + std::to_string(input.rows.size())};
    }
    TG_TRY(const auto folder, TemporaryFolder::make(options.data, "verify"));
    ProgressBar bar("verify", options.quiet);
    TG_TRY(const LifeResult first,
           run_life(input, folder.path(), options.crash_at, LifeNumber::kFirst, bar));
    if (!WIFSIGNALED(first.status) || WTERMSIG(first.status) != SIGKILL) {
        return Error{Fault::kInternal, "the first process ended without being killed"};
    }
    TG_TRY(const LifeResult second,
           run_life(input, folder.path(), options.crash_at, LifeNumber::kSecond, bar));
    if (!WIFEXITED(second.status) || WEXITSTATUS(second.status) != 0) {
        return Error{Fault::kInternal, "the second process failed"};
    }
    VerifyResult out;
    out.events = input.rows.size();
    // A row that the kill took back is told twice; the second time counts.
    std::vector<std::int64_t> wrong(input.rows.size(), -1);
    for (const LifeResult* life : {&first, &second}) {
        for (const Message& message : life->messages) {
            if (message.row == UINT64_MAX) {
                out.recovered = message.wrong;
            } else {
                wrong[message.row] = static_cast<std::int64_t>(message.wrong);
            }
        }
    }
    for (const std::int64_t row : wrong) {
        out.cells += row >= 0 ? kOracleCells : 0U;
        out.wrong += row > 0 ? static_cast<std::uint64_t>(row) : 0U;
    }
    return out;
}

}  // namespace tollgate::apps
