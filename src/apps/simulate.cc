// `tollgate simulate`: labelled traffic of an invented bank, the same bytes for the same seed.
#include "pipeline/simulate.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/cli.h"
#include "apps/commands.h"
#include "base/time.h"

namespace tollgate::apps {

namespace {

struct SimulateCommand {
    pipeline::SimulateOptions options;
    std::string start;
    std::string out;
    bool no_outcomes = false;
    bool quiet = false;
};

// A day alone ("2026-11-01") is its midnight, UTC.
Result<EventTime> start_time(const std::string& text) {
    return parse_rfc3339("--start", text.size() == 10 ? text + "T00:00:00Z" : text);
}

Status simulate(SimulateCommand& command) {
    command.options.with_outcomes = !command.no_outcomes;
    if (!command.start.empty()) {
        TG_TRY(command.options.start, start_time(command.start));
    }
    TG_TRY([[maybe_unused]] const auto valid, pipeline::validate(command.options));
    TG_TRY(const auto out, LineWriter::open(command.out));
    pipeline::Simulator simulator(command.options);
    ProgressBar bar("simulate", command.quiet);
    std::string line;
    std::uint64_t lines = 0;
    while (simulator.next(line)) {
        TG_TRY([[maybe_unused]] const auto written, out->write(line));
        if (++lines % 1024 == 0) {
            bar.show(static_cast<double>(lines) / static_cast<double>(command.options.events),
                     lines, "events");
        }
    }
    TG_TRY([[maybe_unused]] const auto closed, out->close());
    bar.finish();
    if (!command.quiet) {
        (void)std::fprintf(stderr, "simulate: %s events, seed %llu, written to %s\n",
                           grouped(lines).c_str(),
                           static_cast<unsigned long long>(command.options.seed),
                           command.out == "-" ? "standard output" : command.out.c_str());
    }
    return ok();
}

}  // namespace

void register_simulate(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<SimulateCommand>();
    CLI::App* sub = app.add_subcommand(
        "simulate",
        "Write labelled traffic of an invented bank: the same seed gives the same bytes anywhere.\n"
        "  tollgate simulate --events 100000 --seed 7 --out traffic.jsonl.zst\n"
        "  tollgate simulate --events 2000 --seed 1 --fraud-share 0.05 --out - | head\n"
        "Feed it to `tollgate replay` (a load test with labels) or `tollgate import` (history).\n"
        "docs/simulator.md says what each scenario is.");
    auto& options = command->options;
    sub->add_option("--events", options.events, "lines to write, 1..200,000,000")
        ->capture_default_str();
    sub->add_option("--seed", options.seed, "the run's number; another seed, another run")
        ->capture_default_str();
    sub->add_option("--out", command->out,
                    "file to write; compressed when it ends in .zst; - for standard output")
        ->required();
    sub->add_option("--days", options.days, "days the run covers, 1..3,660")->capture_default_str();
    sub->add_option("--customers", options.customers, "100..10,000,000")->capture_default_str();
    sub->add_option("--terminals", options.terminals, "100..1,000,000")->capture_default_str();
    sub->add_option("--fraud-share", options.fraud_share, "share of fraudulent lines, 0..0.3")
        ->capture_default_str();
    sub->add_option("--start", command->start,
                    "first day, as 2026-11-01 or 2026-11-01T00:00:00Z (default 2026-11-01)");
    sub->add_flag("--no-outcomes", command->no_outcomes, "leave every outcome null");
    sub->add_flag("--quiet", command->quiet, "no progress");
    sub->callback([command, &exit_code] { exit_code = report("simulate", simulate(*command)); });
}

}  // namespace tollgate::apps
