// `tollgate bench`: the command line of the benches that ship in the binary.
#include "apps/bench.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli.h"
#include "apps/commands.h"

namespace tollgate::apps {

namespace {

void register_encoder(CLI::App& bench, int& exit_code) {
    auto options = std::make_shared<BenchEncoderOptions>();
    CLI::App* encoder = bench.add_subcommand(
        "encoder",
        "Time a model's forward pass at several shapes, interleaved, beside the machine's peak.\n"
        "  tollgate bench encoder --model models/default --shapes 1x30,8x30\n"
        "Ids are random: the time does not depend on them. bench/peers/encoder compares with other "
        "engines.");
    encoder->add_option("--model", options->model, "model folder; no tokenizer is needed")
        ->required();
    encoder->add_option("--shapes", options->shapes, "BATCHxTOKENS, separated by commas")
        ->capture_default_str();
    encoder->add_option("--threads", options->threads, "of the lane, 1..64")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    encoder->add_option("--kernels", options->kernels,
                        "kernel table (default: the best; see `tollgate kernels`)");
    encoder->add_option("--precision", options->precision, "fp32 or int8")
        ->check(CLI::IsMember({"fp32", "int8"}))
        ->capture_default_str();
    encoder->add_option("--seconds", options->seconds, "to measure, 0.1..3600")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    encoder->add_option("--json", options->json, "write the figures to this file, too");
    encoder->add_flag(
        "--serve", options->serve,
        "read requests \"BATCH TOKENS id id ...\" from standard input and answer each "
        "with \"MS value value ...\"");
    encoder->add_flag("--quiet", options->quiet, "no progress line");
    encoder->callback(
        [options, &exit_code] { exit_code = report("bench encoder", bench_encoder(*options)); });
}

}  // namespace

void register_bench(CLI::App& app, int& exit_code) {
    CLI::App* bench = app.add_subcommand(
        "bench",
        "Measure this binary on this machine.\n"
        "  tollgate bench rules\n"
        "  tollgate bench echo --input traffic.jsonl\n"
        "  tollgate bench rules --input handbook.csv.zst --events 500000 --json rules.json");
    bench->require_subcommand(1);

    auto options = std::make_shared<BenchRulesOptions>();
    CLI::App* rules = bench->add_subcommand(
        "rules",
        "Time one event through the decision's core: read its windows, evaluate all rules, record "
        "it.\n"
        "The embedded bench pack has 30 windows and 100 rules. Events of --history are recorded "
        "first, so that windows are full and pools have their size; each event after is timed "
        "alone and its allocations counted.\n"
        "Goal: p99 <= 100 us, p99.9 <= 500 us, no allocation.");
    rules->add_option("--input", options->input,
                      "JSONL traffic or the Handbook's CSV; .zst too (default: simulated)");
    rules->add_option("--events", options->events, "timed events, 1,000..10,000,000")
        ->capture_default_str();
    rules->add_option("--history", options->history, "events recorded before, 0..10,000,000")
        ->capture_default_str();
    rules->add_option("--seed", options->seed, "of the simulated events")->capture_default_str();
    rules->add_option("--policy", options->policy, "another pack's folder");
    rules->add_option("--json", options->json, "write the figures to this file, too");
    rules->add_flag("--quiet", options->quiet, "no progress line");
    rules->callback(
        [options, &exit_code] { exit_code = report("bench rules", bench_rules(*options)); });

    auto echoed = std::make_shared<BenchEchoOptions>();
    CLI::App* echo = bench->add_subcommand(
        "echo",
        "Requests a second of a bare Beast echo server on this machine, flat out with the same "
        "bodies: what `replay --flat-out` is held against.");
    echo->add_option("--input", echoed->input, "JSONL traffic or the Handbook's CSV; .zst too")
        ->required();
    echo->add_option("--events", echoed->events, "bodies, 1,000..10,000,000")
        ->check(CLI::Range(1'000, 10'000'000))
        ->capture_default_str();
    echo->add_option("--connections", echoed->connections, "1..4096")->capture_default_str();
    register_encoder(*bench, exit_code);
    echo->callback([echoed, &exit_code] { exit_code = report("bench echo", bench_echo(*echoed)); });
}

}  // namespace tollgate::apps
