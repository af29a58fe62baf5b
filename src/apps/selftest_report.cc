// The figures of one drill.
#include <algorithm>

#include "apps/selftest.h"

namespace tollgate::apps {

namespace {

constexpr std::int64_t kTakeoverStallUs = 1'000;
constexpr double kTakeoverLimitMs = 3.0;
constexpr double kP99LimitMs = 18.0;
constexpr double kP999LimitMs = 25.0;
constexpr double kRecoveryLimitMs = 1'000.0;

struct Latencies {
    std::vector<std::int64_t> raw;
    std::vector<std::int64_t> corrected;
    void add(const Exchange& times, const std::vector<Stall>& stalls) {
        const std::int64_t took = times.received_us - times.scheduled_us;
        raw.push_back(took);
        if (!overlaps_stall(stalls, times.scheduled_us, times.received_us, kStallUs)) {
            corrected.push_back(took);
        }
    }
};

}  // namespace

DrillReport drill_report(const std::string& fault, const std::vector<DrillSample>& samples,
                         const std::vector<Stall>& stalls, std::int64_t fault_from_us,
                         std::int64_t fault_until_us) {
    DrillReport out;
    out.fault = fault;
    Latencies during;
    Latencies before;
    std::int64_t last_fallback = fault_until_us;
    for (const DrillSample& sample : samples) {
        ++out.events;
        if (!sample.answered) {
            ++out.unanswered;
            continue;
        }
        const bool on = sample.times.scheduled_us >= fault_from_us &&
                        sample.times.scheduled_us < fault_until_us;
        if (!sample.cause.empty()) {
            ++out.by_cause[sample.cause];
            const double takeover = static_cast<double>(sample.takeover_us) / 1000.0;
            out.takeover_ms_max_raw = std::max(out.takeover_ms_max_raw, takeover);
            if (!overlaps_stall(stalls, sample.times.scheduled_us, sample.times.received_us,
                                kTakeoverStallUs)) {
                out.takeover_ms_max = std::max(out.takeover_ms_max, takeover);
                out.takeover_stored_ms_max = std::max(
                    out.takeover_stored_ms_max, static_cast<double>(sample.stored_us) / 1000.0);
            }
        }
        if (on) {
            ++out.fault_events;
            out.fault_by_model += sample.by_model ? 1U : 0U;
            during.add(sample.times, stalls);
        } else if (sample.times.scheduled_us < fault_from_us) {
            before.add(sample.times, stalls);
        } else if (!sample.by_model) {
            last_fallback = std::max(last_fallback, sample.times.scheduled_us);
        }
    }
    out.recovery_ms = static_cast<double>(last_fallback - fault_until_us) / 1000.0;
    out.fault_ms = percentiles_of(during.corrected, 1000.0);
    out.fault_ms_raw = percentiles_of(during.raw, 1000.0);
    out.calm_ms = percentiles_of(before.corrected, 1000.0);
    out.passed = out.unanswered == 0 && out.fault_events > 0 &&
                 out.takeover_ms_max <= kTakeoverLimitMs && out.fault_ms.p99 <= kP99LimitMs &&
                 out.fault_ms.p999 <= kP999LimitMs && out.recovery_ms <= kRecoveryLimitMs;
    return out;
}

}  // namespace tollgate::apps
