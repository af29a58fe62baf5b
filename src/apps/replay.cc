// `tollgate replay`: the command line of both kinds of replay.
#include "apps/replay.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "apps/cli.h"
#include "apps/commands.h"
#include "build_info.h"

namespace tollgate::apps {

namespace {

struct ReplayCommand {
    ReplayOptions options;
    std::string from;
    std::string until;
    std::string json;
    double feedback_delay_s = -1.0;
    bool no_outcomes = false;
    bool lockstep = false;
};

Status check_range(std::string_view name, double value, double least, double most) {
    if (value >= least && value <= most) {
        return ok();
    }
    char text[160];
    (void)std::snprintf(text, sizeof text, "%.*s = %g, allowed %g..%g",
                        static_cast<int>(name.size()), name.data(), value, least, most);
    return Error{Fault::kBadInput, text};
}

Status check_load(const ReplayOptions& options) {
    const int chosen =
        (options.rate != 0.0 ? 1 : 0) + (options.speed != 0.0 ? 1 : 0) + (options.flat_out ? 1 : 0);
    if (chosen != 1) {
        return Error{Fault::kBadInput,
                     "say how fast: exactly one of --rate R, --speed X and --flat-out"};
    }
    if (options.server.empty() || options.key.empty()) {
        return Error{Fault::kBadInput, "--server URL and --key KEY are needed (or --lockstep)"};
    }
    if (options.rate != 0.0) {
        return check_range("--rate", options.rate, 0.001, 1e6);
    }
    return options.flat_out ? ok() : check_range("--speed", options.speed, 1e-3, 1e9);
}

Result<ReplayReport> run(ReplayCommand& command) {
    ReplayOptions& options = command.options;
    TG_TRY(options.feed.from, moment_of("--from", command.from));
    TG_TRY(options.feed.until, moment_of("--until", command.until));
    options.feed.outcomes = !command.no_outcomes;
    if (command.feedback_delay_s >= 0.0) {
        TG_TRY([[maybe_unused]] const auto in_range,
               check_range("--feedback-delay", command.feedback_delay_s, 0.0, 3e8));
        options.feed.feedback_delay = std::chrono::duration_cast<Micros>(
            std::chrono::duration<double>(command.feedback_delay_s));
    }
    if (!command.lockstep) {
        TG_TRY([[maybe_unused]] const auto checked, check_load(options));
        return replay_load(options);
    }
    if (options.data.empty()) {
        return Error{Fault::kBadInput, "--lockstep needs --data DIR, a folder for its records"};
    }
    return replay_lockstep(options);
}

Status replay(ReplayCommand& command, int& exit_code) {
    TG_TRY(ReplayReport report, run(command));
    report.build = kBuildVersion;
    (void)std::fputs(to_table(report).c_str(), stdout);
    if (!command.json.empty()) {
        TG_TRY([[maybe_unused]] const auto written,
               write_file(command.json, to_json(report) + "\n"));
    }
    exit_code = report.unanswered == 0 ? 0 : 1;
    return ok();
}

void add_options(CLI::App* sub, ReplayCommand& command) {
    ReplayOptions& options = command.options;
    sub->add_option("--input", options.input,
                    "JSONL of {\"event\",\"outcome\"} or the Handbook's CSV; .zst too; - reads "
                    "standard input")
        ->required();
    sub->add_option("--from", command.from,
                    "only events from this time on (2018-08-08 or RFC 3339)");
    sub->add_option("--until", command.until, "only events before this time");
    sub->add_option("--limit", options.feed.limit, "at most that many events");
    sub->add_flag("--no-outcomes", command.no_outcomes,
                  "post no outcome; labels still measure quality");
    sub->add_option("--feedback-delay", command.feedback_delay_s,
                    "post each outcome that many seconds of event time after its event, instead "
                    "of at its known_at");
    sub->add_option("--json", command.json, "write the figures to this file, too");
    sub->add_flag("--quiet", options.quiet, "no progress line");

    sub->add_option("--server", options.server, "http://HOST:PORT of the API")->group("Load");
    sub->add_option("--key", options.key, "API key with the scope assess")->group("Load");
    sub->add_option("--rate", options.rate, "events a second, evenly spaced")->group("Load");
    sub->add_option("--speed", options.speed,
                    "times as fast as the events came (3600: an hour a second)")
        ->group("Load");
    sub->add_flag("--flat-out", options.flat_out, "the next as soon as a connection is free")
        ->group("Load");
    sub->add_option("--connections", options.connections, "1..4096")
        ->capture_default_str()
        ->group("Load");

    sub->add_flag("--lockstep", command.lockstep, "decide in this process under virtual time")
        ->group("Lockstep");
    sub->add_option("--data", options.data, "folder for the records; a new one for equal logs")
        ->group("Lockstep");
    sub->add_option("--policy", options.policy, "policy pack folder (default: the embedded pack)")
        ->group("Lockstep");
    sub->add_option("--tenant", options.tenant, "tenant to decide for")
        ->capture_default_str()
        ->group("Lockstep");
}

}  // namespace

void register_replay(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<ReplayCommand>();
    CLI::App* sub = app.add_subcommand(
        "replay",
        "Send recorded or simulated traffic and measure: latency, decisions, quality.\n"
        "  tollgate replay --input traffic.jsonl.zst --server http://127.0.0.1:8080 --key $KEY "
        "--rate 300\n"
        "  tollgate replay --input handbook.csv.zst --from 2018-08-08 --until 2018-08-15 --server "
        "... --speed 3600\n"
        "  tollgate replay --lockstep --input traffic.jsonl --data /tmp/run1\n"
        "Open loop: requests leave by the clock and latency runs from that moment, so a server "
        "that stalls cannot hide it.\n"
        "A process beside measures the machine's own stalls; \"corrected\" leaves out requests "
        "that one of 5 ms overlapped.\n"
        "Outcomes are posted when the event stream reaches their known_at. --lockstep runs twice "
        "to equal record logs.\n"
        "Exit code 0 only when every event got a decision.");
    add_options(sub, *command);
    sub->callback([command, &exit_code] {
        int decided = 0;
        const Status status = replay(*command, decided);
        exit_code = status ? decided : report("replay", status);
    });
}

}  // namespace tollgate::apps
