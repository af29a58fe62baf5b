// The drills: a server, simulated traffic by the clock, and a switch for a third of the time.
#include "apps/selftest.h"

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/embedded_pack.h"
#include "apps/load_client.h"
#include "apps/server_process.h"
#include "apps/temporary_folder.h"
#include "build_info.h"
#include "pipeline/simulate.h"
#include "server/keys.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate::apps {

namespace {

struct FaultKind {
    std::string_view name;
    std::string_view on;  // body of POST /admin/faults
    std::string_view off;
};
constexpr std::array kFaults{
    FaultKind{"freeze", R"({"worker_frozen":true})", R"({"worker_frozen":false})"},
    FaultKind{"slow", R"({"scorer_delay_us":40000})", R"({"scorer_delay_us":0})"},
    FaultKind{"crash", R"({"encoder_crash":true})", R"({"encoder_crash":false})"},
    FaultKind{"nan", R"({"encoder_nan":true})", R"({"encoder_nan":false})"},
};

std::int64_t monotonic_us(Steady::time_point t) {
    return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}

// The pack on the traffic's own clock: a month of made-up events passes in a minute.
Status write_policy(const SelftestOptions& options, const std::string& folder) {
    PackFiles files;
    if (options.policy.empty()) {
        files = embedded_pack("default");
    } else {
        TG_TRY(files, read_pack_folder(options.policy));
    }
    if (files["policy.toml"].find("\n[time]") == std::string::npos) {
        files["policy.toml"] += "\n[time]\nstream_clock = \"event\"\nmax_ahead = \"1d\"\n";
    }
    for (const auto& [path, text] : files) {
        const std::filesystem::path to = std::filesystem::path(folder) / path;
        std::error_code fault;
        std::filesystem::create_directories(to.parent_path(), fault);
        std::ofstream out(to, std::ios::binary);
        out << text;
        if (!out) {
            return Error{Fault::kBadInput, to.string() + ": cannot be written"};
        }
    }
    return ok();
}

// One run of traffic: gives requests by the clock and keeps what came back.
class Drill {
  public:
    Drill(const SelftestOptions& options, const FaultKind& fault, std::uint64_t seed)
        : options_(options),
          fault_(fault),
          events_(static_cast<std::uint64_t>(options.rate * static_cast<double>(options.seconds))),
          simulator_({.seed = seed, .events = events_, .with_outcomes = false}),
          samples_(events_),
          bar_("selftest " + std::string(fault.name), options.quiet) {}

    bool next(LoadRequest& request) {
        if (sent_ == events_ || !simulator_.next(line_)) {
            return false;
        }
        if (sent_ == 0) {
            began_ = Steady::now() + std::chrono::milliseconds(200);
            started_.store(true, std::memory_order_release);
        }
        // {"event":{…},"outcome":null,…}: the event is the first member.
        const auto root = json_.parse(line_);
        const std::size_t begin = line_.find('{', 1);
        const std::size_t end = line_.find(",\"outcome\":");
        TG_CHECK(root && end != std::string::npos, "a simulated line");
        request.body = line_.substr(begin, end - begin);
        request.tag = sent_;
        request.scheduled = began_ + offset(static_cast<double>(sent_) / options_.rate);
        ++sent_;
        return true;
    }

    void take(const LoadReply& reply) {
        DrillSample& sample = samples_[reply.tag];
        sample.times = {.scheduled_us = monotonic_us(reply.scheduled),
                        .sent_us = monotonic_us(reply.sent),
                        .received_us = monotonic_us(reply.received)};
        const auto root = json_.parse(reply.body);
        if (!reply.answered || reply.status != 200 || !root || !root->is(JsonKind::kObject)) {
            return;
        }
        sample.answered = true;
        const auto source = root->find("source");
        sample.by_model = source && source->is(JsonKind::kString) && source->string() == "model";
        const auto fallback = root->find("fallback");
        if (!fallback || !fallback->is(JsonKind::kObject)) {
            return;
        }
        sample.cause = std::string(fallback->find("cause")->string());
        std::array<std::int64_t, kStages.size()> stages{};
        parse_server_timing(reply.server_timing, stages);
        // The body's total ends when the decision is handed to the store, the header's with the
        // store's confirmation.
        const auto timings = root->find("timings_us");
        const std::int64_t decided = timings->find("total")->integer();
        // What is not before the model was asked, nor waiting for it.
        const std::int64_t before =
            stages[0] + stages[1] + stages[2] + fallback->find("after_us")->integer();
        sample.takeover_us = decided - before;
        sample.stored_us = stages.back() - before;
    }

    void tick() {
        bar_.show(static_cast<double>(sent_) / static_cast<double>(events_), sent_, "events");
    }

    // Waits, on a thread of its own, for the fault's time, and sets and lifts it.
    void switch_fault(const LoadOptions& admin, const std::atomic<bool>& stop) {
        const double third = static_cast<double>(options_.seconds) / 3.0;
        while (!started_.load(std::memory_order_acquire) && !stop) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        std::this_thread::sleep_until(began_ + offset(third));
        from_us_ = monotonic_us(Steady::now());
        switched_ = send_once(admin, "POST", "/admin/faults", std::string(fault_.on)).has_value();
        std::this_thread::sleep_until(began_ + offset(2.0 * third));
        switched_ = switched_ &&
                    send_once(admin, "POST", "/admin/faults", std::string(fault_.off)).has_value();
        until_us_ = monotonic_us(Steady::now());
    }

    Result<DrillReport> finish(const std::vector<Stall>& stalls) {
        bar_.finish();
        if (!switched_) {
            return Error{Fault::kInternal, "the fault could not be switched"};
        }
        samples_.resize(sent_);
        return drill_report(std::string(fault_.name), samples_, stalls, from_us_, until_us_);
    }

  private:
    static Steady::duration offset(double seconds) {
        return std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
    }

    const SelftestOptions& options_;
    const FaultKind& fault_;
    std::uint64_t events_;
    pipeline::Simulator simulator_;
    std::vector<DrillSample> samples_;
    ProgressBar bar_;
    std::string line_;
    JsonDocument json_;
    std::uint64_t sent_ = 0;
    Steady::time_point began_;          // written before started_
    std::atomic<bool> started_{false};  // release by next(), acquire by the switching thread
    std::int64_t from_us_ = 0;          // the switching thread's until it is joined
    std::int64_t until_us_ = 0;
    bool switched_ = false;
};

Result<DrillReport> run_drill(const SelftestOptions& options, const FaultKind& fault) {
    TG_TRY(const auto folder, TemporaryFolder::make({}, "selftest"));
    const std::string data = folder.path() + "/data";
    std::error_code ignored;
    std::filesystem::create_directories(data, ignored);
    if (Status wrote = write_policy(options, folder.path() + "/policy"); !wrote) {
        return std::move(wrote).error();
    }
    TG_TRY(const auto key,
           server::create_key(
               data,
               {.tenant = "selftest",
                .name = {},
                .scopes = *server::parse_scopes("assess,read,admin")},
               EventTime(std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now()))));
    std::vector<std::string> arguments{"--data",
                                       data,
                                       "--listen",
                                       "127.0.0.1:0",
                                       "--policy",
                                       folder.path() + "/policy",
                                       "--model",
                                       options.model,
                                       "--enable-faults",
                                       "--log",
                                       folder.path() + "/log"};
    if (!options.kernels.empty()) {
        arguments.insert(arguments.end(), {"--kernels", options.kernels});
    }
    TG_TRY(auto server, ServerProcess::start(arguments, folder.path() + "/errors"));
    LoadOptions load;
    LoadOptions admin;
    load.key = key.token;
    admin.key = key.token;
    if (Status a = parse_server_url(server.url(), load),
        b = parse_server_url(server.admin_url(), admin);
        !a || !b) {
        return a ? std::move(b).error() : std::move(a).error();
    }
    TG_TRY(auto meter, StallMeter::start());
    Drill drill(options, fault, 1);
    std::atomic<bool> stop{false};
    std::thread switcher([&] { drill.switch_fault(admin, stop); });
    const Status ran = run_load(
        load, [&](LoadRequest& request) { return drill.next(request); },
        [&](const LoadReply& reply) { drill.take(reply); }, [&] { drill.tick(); });
    stop = true;
    switcher.join();
    const std::vector<Stall> stalls = meter.stop();
    if (!ran) {
        return ran.error();
    }
    if (const int status = server.stop(); status != 0) {
        return Error{Fault::kInternal, "the server ended with status " + std::to_string(status)};
    }
    return drill.finish(stalls);
}

std::string to_json(const std::vector<DrillReport>& reports) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    out.key("build");
    out.string(kBuildVersion);
    out.key("drills");
    out.begin_array();
    for (const DrillReport& r : reports) {
        out.begin_object();
        out.key("fault");
        out.string(r.fault);
        out.key("by_cause");
        out.begin_object();
        for (const auto& [cause, count] : r.by_cause) {
            out.key(cause);
            out.whole(count);
        }
        out.end_object();
        const std::pair<const char*, std::uint64_t> counts[] = {
            {"events", r.events},
            {"unanswered", r.unanswered},
            {"fault_events", r.fault_events},
            {"fault_by_model", r.fault_by_model}};
        for (const auto& [name, count] : counts) {
            out.key(name);
            out.whole(count);
        }
        const std::pair<const char*, double> figures[] = {
            {"takeover_ms_max", r.takeover_ms_max},
            {"takeover_ms_max_raw", r.takeover_ms_max_raw},
            {"takeover_stored_ms_max", r.takeover_stored_ms_max},
            {"p99_ms", r.fault_ms.p99},
            {"p999_ms", r.fault_ms.p999},
            {"p99_ms_raw", r.fault_ms_raw.p99},
            {"p999_ms_raw", r.fault_ms_raw.p999},
            {"calm_p50_ms", r.calm_ms.p50},
            {"calm_p99_ms", r.calm_ms.p99},
            {"recovery_ms", r.recovery_ms}};
        for (const auto& [name, figure] : figures) {
            out.key(name);
            out.number(figure);
        }
        out.key("passed");
        out.boolean(r.passed);
        out.end_object();
    }
    out.end_array();
    out.end_object();
    return text;
}

void print(const DrillReport& r) {
    std::string causes;
    for (const auto& [cause, count] : r.by_cause) {
        causes += (causes.empty() ? "" : ", ") + cause + " " + grouped(count);
    }
    (void)std::printf("%-7s %8s %10llu %9.2f %9.2f %9.2f %10.2f %10.0f  %s  %s\n", r.fault.c_str(),
                      grouped(r.events).c_str(), static_cast<unsigned long long>(r.unanswered),
                      r.calm_ms.p99, r.fault_ms.p99, r.fault_ms.p999, r.takeover_ms_max,
                      r.recovery_ms, r.passed ? "pass" : "FAIL", causes.c_str());
    (void)std::fflush(stdout);
}

}  // namespace

Status selftest_fallback(const SelftestOptions& options) {
    std::vector<const FaultKind*> chosen;
    for (const FaultKind& fault : kFaults) {
        if (options.fault.empty() || options.fault == fault.name) {
            chosen.push_back(&fault);
        }
    }
    (void)std::printf("%-7s %8s %10s %9s %9s %9s %10s %10s\n", "fault", "events", "unanswered",
                      "calm p99", "p99", "p99.9", "takeover", "recovery");
    (void)std::printf("%-7s %8s %10s %9s %9s %9s %10s %10s\n", "", "", "", "ms", "ms", "ms",
                      "max, ms", "ms");
    std::vector<DrillReport> reports;
    for (const FaultKind* fault : chosen) {
        TG_TRY(DrillReport report, run_drill(options, *fault));
        print(report);
        reports.push_back(std::move(report));
    }
    if (!options.json.empty()) {
        TG_TRY(const auto out, LineWriter::open(options.json));
        TG_TRY([[maybe_unused]] const auto wrote, out->write(to_json(reports)));
        TG_TRY([[maybe_unused]] const auto closed, out->close());
    }
    for (const DrillReport& report : reports) {
        if (!report.passed) {
            return Error{Fault::kInternal,
                         "the fallback drill \"" + report.fault +
                             "\" did not meet: nothing unanswered, p99 <= 18 ms, p99.9 <= 25 ms, "
                             "takeover <= 3 ms, recovery <= 1,000 ms"};
        }
    }
    return ok();
}

void register_selftest(CLI::App& app, int& exit_code) {
    CLI::App* selftest = app.add_subcommand("selftest",
                                            "Prove on this machine what the server promises.\n"
                                            "  tollgate selftest fallback --model models/default");
    selftest->require_subcommand(1);
    auto options = std::make_shared<SelftestOptions>();
    CLI::App* command = selftest->add_subcommand(
        "fallback",
        "Start a server, send simulated traffic by the clock, break the encoder for the middle "
        "third of the time, and measure how the rules take over and the model comes back.\n"
        "Faults: freeze (the lane hangs), slow (40 ms a score), crash (the lane dies), nan. "
        "Takeover runs from the fault's being known to the decision, before it is stored (the JSON "
        "has it with the store, too). Latencies run from the scheduled send time; corrected ones "
        "leave out requests that a "
        "stall of the machine of 5 ms or more overlapped (takeover: 1 ms).");
    command->add_option("--model", options->model, "encoder model folder")->required();
    command->add_option("--policy", options->policy,
                        "policy pack folder (default: the embedded pack)");
    command->add_option("--fault", options->fault, "one of them; default: all four in turn")
        ->check(CLI::IsMember({"freeze", "slow", "crash", "nan"}));
    command->add_option("--rate", options->rate, "events a second, 1..5000")
        ->check(CLI::Range(1.0, 5000.0))
        ->capture_default_str();
    command->add_option("--seconds", options->seconds, "of each fault's run, 3..3600")
        ->check(CLI::Range(3, 3600))
        ->capture_default_str();
    command->add_option("--kernels", options->kernels, "kernel table of the server");
    command->add_option("--json", options->json, "write the figures to this file, too");
    command->add_flag("--quiet", options->quiet, "no progress line");
    command->callback([options, &exit_code] {
        exit_code = report("selftest fallback", selftest_fallback(*options));
    });
}

}  // namespace tollgate::apps
