// `tollgate selftest fallback`: breaks a model in every way on purpose and measures how the rules
// take over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/replay_report.h"
#include "apps/stall_meter.h"
#include "base/result.h"

namespace tollgate::apps {

struct SelftestOptions {
    std::string model;
    std::string policy;   // a folder; empty: the embedded default pack
    std::string kernels;  // of the server; empty: the best
    std::string fault;    // freeze, slow, crash, nan; empty: all in turn
    double rate = 300.0;
    std::uint64_t seconds = 60;  // a fault; the middle third of them it is on
    std::string json;
    bool quiet = false;
};

// One answered or unanswered request of a drill.
struct DrillSample {
    Exchange times;
    bool answered = false;
    bool by_model = false;
    std::string cause;             // of the fallback; empty: none
    std::int64_t takeover_us = 0;  // from the fault's being known to the decision
    std::int64_t stored_us = 0;    // the same to its being stored
};

struct DrillReport {
    std::string fault;
    std::uint64_t events = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t fault_events = 0;    // scheduled while the fault was on
    std::uint64_t fault_by_model = 0;  // of them, answered by the model all the same
    std::map<std::string, std::uint64_t> by_cause;
    double takeover_ms_max = 0.0;  // of requests that no stall of 1 ms and more overlaps
    double takeover_ms_max_raw = 0.0;
    double takeover_stored_ms_max = 0.0;  // with the store's confirmation; as the first
    Percentiles fault_ms;                 // latency of fault_events, corrected
    Percentiles fault_ms_raw;
    Percentiles calm_ms;       // latency before the fault, corrected
    double recovery_ms = 0.0;  // from the fault's end to the last answer not by the model
    bool passed = false;
};

// What the samples say; times in CLOCK_MONOTONIC microseconds.
DrillReport drill_report(const std::string& fault, const std::vector<DrillSample>& samples,
                         const std::vector<Stall>& stalls, std::int64_t fault_from_us,
                         std::int64_t fault_until_us);

Status selftest_fallback(const SelftestOptions& options);

}  // namespace tollgate::apps
