// `tollgate bench rules`: windows, rules and recording of one event after the other, timed each,
// allocations counted.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "apps/bench.h"
#include "apps/cli.h"
#include "apps/cpu.h"
#include "apps/event_row.h"
#include "apps/open_pack.h"
#include "apps/traffic.h"
#include "base/alloc_count.h"
#include "build_info.h"
#include "decision/event_json.h"
#include "decision/rules.h"
#include "pipeline/rebase.h"
#include "pipeline/simulate.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate::apps {

namespace {

constexpr double kNsPerUs = 1000.0;

struct Figures {
    std::uint64_t events = 0;
    std::uint64_t history = 0;
    double p50_us = 0.0, p90_us = 0.0, p99_us = 0.0, p999_us = 0.0, max_us = 0.0;
    double mean_us = 0.0;
    std::uint64_t allocations = 0;
    std::uint64_t hits = 0;  // of rules, so that the work is seen to be done
    std::uint64_t overflow_keys = 0;
    std::uint64_t new_keys = 0;  // seen for the first time in the timed region: each needs memory
};

std::uint64_t keys_of(const WindowStore& windows) {
    std::uint64_t keys = 0;
    for (const WindowStats::PerKey& key : windows.stats().keys) {
        keys += key.keys;
    }
    return keys;
}

// Room for that many more events of each key; beyond it a key's log grows, which is counted.
constexpr std::size_t kRowsAhead = 96;
// And for new keys: seen are 0.28 an event of made-up traffic, 0.24 on the Handbook.
constexpr std::size_t kKeysAhead = 40'000;

// An event as the default pack declares it, which is what the simulator writes; attributes that the
// bench's pack lacks are left out.
Result<Event> read_event(const JsonValue& json, const Schema& from, const Schema& to) {
    TG_TRY(const Event event, parse_event(json, from));
    return pipeline::rebase_event(event, from, to);
}

Result<std::vector<Event>> file_events(const BenchRulesOptions& options, const Schema& from,
                                       const Schema& to) {
    const std::uint64_t wanted = options.events + options.history;
    std::vector<Event> events;
    events.reserve(wanted);
    TG_TRY(const auto reader, TrafficReader::open(options.input));
    TrafficItem item;
    JsonDocument json;
    while (events.size() < wanted) {
        TG_TRY(const bool more, reader->next(item));
        if (!more) {
            break;
        }
        TG_TRY(const JsonValue root, json.parse(item.event_json));
        TG_TRY(Event event, read_event(root, from, to));
        events.push_back(std::move(event));
    }
    if (events.size() < options.history + 1'000) {
        return Error{Fault::kBadInput, options.input + ": " + std::to_string(events.size()) +
                                           " events; --history and 1,000 more are needed"};
    }
    return events;
}

Result<std::vector<Event>> simulated_events(const BenchRulesOptions& options, const Schema& from,
                                            const Schema& to) {
    pipeline::SimulateOptions simulate;
    simulate.events = options.events + options.history;
    simulate.seed = options.seed;
    simulate.days = 60;
    pipeline::Simulator simulator(simulate);
    std::vector<Event> events;
    events.reserve(simulate.events);
    std::string line;
    JsonDocument json;
    while (simulator.next(line)) {
        TG_TRY(const JsonValue root, json.parse(line));
        const auto event_json = root.find("event");
        TG_CHECK(event_json.has_value(), "the simulator writes an event a line");
        TG_TRY(Event event, read_event(*event_json, from, to));
        events.push_back(std::move(event));
    }
    return events;
}

Figures measure(const PolicyPack& pack, const std::vector<Event>& events, std::uint64_t history,
                bool quiet) {
    WindowLimits limits;
    limits.max_events_per_key = 1'000'000;
    WindowStore windows(pack.rules->plan, limits);
    EventRow row(pack);
    auto results = std::make_unique<RuleResults>();
    Figures out;
    ProgressBar bar("history", quiet);
    std::uint64_t arrival = 0;
    // History takes the timed path too: pools and scratch have their size before the clock starts.
    for (; arrival < history; ++arrival) {
        row.set(events[arrival]);
        (void)row.assess(windows, arrival + 1, RecordMode::kRecord);
        evaluate_rules(*pack.rules, row.input(), false, *results);
        if (arrival % 4096 == 0) {
            bar.show(static_cast<double>(arrival) / static_cast<double>(history), arrival,
                     "events");
        }
    }
    bar.finish();
    windows.reserve(kKeysAhead, kRowsAhead);
    const std::uint64_t keys_before = keys_of(windows);
    std::vector<std::int64_t> nanos;
    nanos.reserve(events.size() - history);
    double sum = 0.0;
    const std::uint64_t allocated_before = thread_allocations();
    for (; arrival < events.size(); ++arrival) {
        const auto began = Steady::now();
        row.set(events[arrival]);
        const WindowValues& values = row.assess(windows, arrival + 1, RecordMode::kRecord);
        evaluate_rules(*pack.rules, row.input(), false, *results);
        const auto took = Steady::now() - began;
        nanos.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
        sum += static_cast<double>(nanos.back());
        out.hits += results->hit_count;
        out.overflow_keys += values.overflow_keys;
    }
    out.allocations = thread_allocations() - allocated_before;
    out.new_keys = keys_of(windows) - keys_before;
    out.events = nanos.size();
    out.history = history;
    out.mean_us = sum / static_cast<double>(nanos.size()) / kNsPerUs;
    std::sort(nanos.begin(), nanos.end());
    const auto at = [&nanos](double q) {
        const auto rank = static_cast<std::size_t>(q * static_cast<double>(nanos.size()));
        return static_cast<double>(nanos[std::min(rank, nanos.size() - 1)]) / kNsPerUs;
    };
    out.p50_us = at(0.5);
    out.p90_us = at(0.9);
    out.p99_us = at(0.99);
    out.p999_us = at(0.999);
    out.max_us = static_cast<double>(nanos.back()) / kNsPerUs;
    return out;
}

std::string to_json(const Figures& f, const PolicyPack& pack) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    const std::pair<std::string_view, std::uint64_t> counts[] = {
        {"events", f.events},
        {"history", f.history},
        {"rules", pack.rules->rules.size()},
        {"windows", pack.rules->plan.windows.size()},
        {"allocations", f.allocations},
        {"new_keys", f.new_keys},
        {"hits", f.hits},
        {"overflow_keys", f.overflow_keys}};
    for (const auto& [name, count] : counts) {
        out.key(name);
        out.whole(count);
    }
    out.key("allocations_counted");
    out.boolean(allocations_counted());
    const std::pair<std::string_view, double> times[] = {
        {"mean_us", f.mean_us}, {"p50_us", f.p50_us},   {"p90_us", f.p90_us},
        {"p99_us", f.p99_us},   {"p999_us", f.p999_us}, {"max_us", f.max_us}};
    for (const auto& [name, value] : times) {
        out.key(name);
        out.number(value);
    }
    out.key("policy");
    out.string(pack.hash);
    out.key("cpu");
    out.string(cpu_model());
    out.key("build");
    out.string(kBuildVersion);
    out.end_object();
    return text;
}

}  // namespace

Status bench_rules(const BenchRulesOptions& options) {
    if (options.events < 1'000 || options.events > 10'000'000 || options.history > 10'000'000) {
        return Error{Fault::kBadInput, "--events = " + std::to_string(options.events) +
                                           " (allowed 1,000..10,000,000), --history = " +
                                           std::to_string(options.history) +
                                           " (allowed 0..10,000,000)"};
    }
    TG_TRY(const auto pack, open_pack(options.policy, "bench"));
    TG_TRY(const auto usual, open_pack(""));
    TG_TRY(const auto events, options.input.empty()
                                  ? simulated_events(options, usual->schema(), pack->schema())
                                  : file_events(options, usual->schema(), pack->schema()));
    const Figures f = measure(*pack, events, options.history, options.quiet);
    (void)std::printf("%zu rules, %zu windows, %s events timed after %s of history\n",
                      pack->rules->rules.size(), pack->rules->plan.windows.size(),
                      grouped(f.events).c_str(), grouped(f.history).c_str());
    (void)std::printf(
        "one event (fields, windows, rules, recorded), us: mean %.1f  p50 %.1f  p90 "
        "%.1f  p99 %.1f  p99.9 %.1f  max %.1f\n",
        f.mean_us, f.p50_us, f.p90_us, f.p99_us, f.p999_us, f.max_us);
    if (allocations_counted()) {
        (void)std::printf("allocations in the timed region: %s (%s keys were new)\n",
                          grouped(f.allocations).c_str(), grouped(f.new_keys).c_str());
    } else {
        (void)std::printf("allocations in the timed region: not counted in this build\n");
    }
    (void)std::printf("rule hits %s; %s, tollgate %s\n", grouped(f.hits).c_str(),
                      cpu_model().c_str(), std::string(kBuildVersion).c_str());
    if (!options.json.empty()) {
        return write_file(options.json, to_json(f, *pack) + "\n");
    }
    return ok();
}

}  // namespace tollgate::apps
