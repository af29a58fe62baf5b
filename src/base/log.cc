// The process's log. It and the check handler are the one exception to "no globals": a fault must
// be reportable from any depth, from noexcept code and before main has built anything, and handing
// a logger to every function that might meet one would put it into every signature.
#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/log_ring.h"
#include "base/threads.h"
#include "base/time.h"

namespace tollgate {
namespace {

// What a started log owns. The writer alone uses the sink.
struct Writer {
    std::shared_ptr<spdlog::logger> sink;  // spdlog's own type
    std::thread thread;
};

struct Log {
    LogRing ring;  // zeroed memory until used: an idle process pays no page for it
    // Set last by start_log, cleared first by stop_log. Sequentially consistent with `inside`:
    // stop_log clears `running` and then waits for those who saw it set to leave.
    std::atomic<bool> running{false};
    std::atomic<int> inside{0};
    std::atomic<std::uint8_t> least{0};     // relaxed: a level may be seen a moment late
    std::atomic<std::uint64_t> dropped{0};  // relaxed: a count
    std::atomic<std::uint32_t> signal{0};   // counts pushes, with release; the writer waits on it
    std::atomic<bool> stopping{false};      // set before the last signal, which publishes it
    std::mutex control;                     // guards start and stop and the one below
    // Owned. Not a unique_ptr: a process that exits without stop_log must not destroy a sink that
    // its writer still uses.
    Writer* writer = nullptr;
};

// Constant-initialised and trivially destroyed: usable before main and until the process ends.
constinit Log g_log;
static_assert(std::is_trivially_destructible_v<Log>);

std::int64_t wall_micros() {
    return to_micros(std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()));
}

// The way out without a writer: one write(2) to standard error.
void write_directly(const LogRecord& record) {
    std::string line;
    record.format(line);
    line.push_back('\n');
    // A broken standard error leaves nowhere to report to.
    (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void write_queued(spdlog::logger& sink, std::string& line) {
    LogRecord record;
    while (g_log.ring.pop(record)) {
        line.clear();
        record.format(line);
        sink.log(spdlog::level::info, line);
    }
    sink.flush();
}

void writer_loop(spdlog::logger& sink) {
    (void)enter_thread(ThreadRole::kBackground, "log");
    std::string line;
    line.reserve(1024);
    while (true) {
        const std::uint32_t seen = g_log.signal.load(std::memory_order_acquire);
        const bool last = g_log.stopping.load(std::memory_order_acquire);
        write_queued(sink, line);
        if (last) {
            return;
        }
        g_log.signal.wait(seen, std::memory_order_acquire);
    }
}

void wake_writer() {
    g_log.signal.fetch_add(1, std::memory_order_release);
    g_log.signal.notify_one();
}

// The sink for `path`, or nothing when it cannot be opened (the reason in `why`).
std::shared_ptr<spdlog::logger> open_sink(const std::string& path, std::string& why) noexcept {
    try {
        spdlog::sink_ptr sink;
        if (path.empty() || path == "-") {
            sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
        } else {
            sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(path);
        }
        auto logger = std::make_shared<spdlog::logger>("tollgate", std::move(sink));
        logger->set_pattern("%v");
        return logger;
    } catch (const std::exception& e) {
        why = e.what();
        return nullptr;
    }
}

}  // namespace

void log_event(Level level, std::string_view event, std::initializer_list<Field> fields) noexcept {
    if (static_cast<std::uint8_t>(level) < g_log.least.load(std::memory_order_relaxed)) {
        return;
    }
    const std::int64_t now = wall_micros();
    g_log.inside.fetch_add(1);
    const bool running = g_log.running.load();
    if (running) {
        if (g_log.ring.push(now, level, event, fields)) {
            wake_writer();
        } else {
            g_log.dropped.fetch_add(1, std::memory_order_relaxed);
        }
    }
    g_log.inside.fetch_sub(1);
    if (!running) {
        LogRecord record;
        record.fill(now, level, event, fields);
        write_directly(record);
    }
}

Status start_log(const std::string& path, Level least) {
    const std::scoped_lock lock(g_log.control);
    if (g_log.writer != nullptr) {
        return Error{Fault::kConflict, "log: it is already started"};
    }
    std::string why;
    auto sink = open_sink(path, why);
    if (sink == nullptr) {
        return Error{Fault::kBadInput, "log: \"" + path + "\" cannot be opened for appending",
                     std::move(why)};
    }
    g_log.least.store(static_cast<std::uint8_t>(least), std::memory_order_relaxed);
    g_log.stopping.store(false, std::memory_order_release);
    g_log.writer = new Writer{std::move(sink), {}};
    g_log.writer->thread = std::thread(writer_loop, std::ref(*g_log.writer->sink));
    g_log.running.store(true);
    return ok();
}

void stop_log() noexcept {
    const std::scoped_lock lock(g_log.control);
    if (g_log.writer == nullptr) {
        return;
    }
    g_log.running.store(false);
    while (g_log.inside.load() != 0) {
        std::this_thread::yield();  // a copy into a slot takes well under a microsecond
    }
    g_log.stopping.store(true, std::memory_order_release);
    wake_writer();
    g_log.writer->thread.join();
    delete g_log.writer;
    g_log.writer = nullptr;
    g_log.least.store(0, std::memory_order_relaxed);
}

std::uint64_t log_dropped() noexcept {
    return g_log.dropped.load(std::memory_order_relaxed);
}

}  // namespace tollgate
