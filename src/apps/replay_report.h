// What a replay found: latencies as sent and corrected for the machine's stalls, decisions,
// quality; as a table and JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/stall_meter.h"
#include "apps/traffic.h"
#include "base/latency_histogram.h"
#include "text/json.h"

namespace tollgate::apps {

constexpr std::int64_t kLateUs = 50'000;  // an answer later than that is late
constexpr std::int64_t kStallUs = 5'000;  // a stall that excuses it

struct Percentiles {
    std::uint64_t count = 0;
    double p50 = 0.0, p90 = 0.0, p99 = 0.0, p999 = 0.0, max = 0.0;
};
// Nearest rank: the smallest value that at least q of all do not exceed. Sorts `values`; `unit`
// divides (1000: us to ms).
Percentiles percentiles_of(std::vector<std::int64_t>& values, double unit);

struct QualityFigures {
    std::uint64_t events = 0;
    std::uint64_t frauds = 0;
    std::optional<double> auc;
    std::optional<double> average_precision;
    std::optional<double> card_precision_100;
    std::optional<double> best_f1;
    std::optional<double> flagged_f1;  // flagged: declined or sent to review
    std::uint64_t flagged_fraud = 0;
    std::uint64_t flagged_legit = 0;
};

struct StallFigures {
    std::uint64_t over_1ms = 0;
    std::uint64_t over_5ms = 0;
    double longest_ms = 0.0;
    std::uint64_t excused = 0;  // late answers that a stall of 5 ms overlapped
};

// Of an answer's timings_us, in this order.
constexpr std::array<std::string_view, 9> kStages{
    "parse", "windows", "rules", "queue", "tokenize", "encoder", "policy", "store", "total"};

struct ReplayReport {
    std::uint64_t events = 0;
    std::uint64_t unanswered = 0;  // no decision: no answer at all, or a status other than 200
    std::map<unsigned, std::uint64_t> refused;  // of these, by status
    std::string first_refusal;
    std::uint64_t late_raw = 0;
    std::uint64_t late = 0;  // no stall overlapped
    Percentiles latency_ms;
    Percentiles latency_corrected_ms;
    Percentiles client_lateness_ms;
    std::map<std::string, std::uint64_t> by_source, by_decision, by_band, persisted;
    std::array<LatencyHistogram, kStages.size()> stages;
    std::uint64_t outcomes_sent = 0;
    std::uint64_t outcomes_failed = 0;
    std::uint64_t outcomes_after_end = 0;
    std::optional<QualityFigures> quality;  // nullopt: the file has no outcome at all
    std::optional<StallFigures> stalls;     // nullopt: not a timed run
    double seconds = 0.0;
    std::string mode;      // "rate 300/s", "speed 100", "flat out", "lockstep"
    std::string log_hash;  // lockstep
    std::string build;
};

std::string to_json(const ReplayReport& report);
std::string to_table(const ReplayReport& report);

// Times of one exchange, CLOCK_MONOTONIC microseconds.
struct Exchange {
    std::int64_t scheduled_us = 0;
    std::int64_t sent_us = 0;
    std::int64_t received_us = 0;
};

// Gathers answers. Not thread-safe. About 64 bytes an event.
class ReplayCollector {
  public:
    // The event's number, which its answer gives back.
    std::uint64_t add_event(const TrafficItem& item);
    // `status` 0: no answer.
    void answer(std::uint64_t event, const Exchange& times, unsigned status, std::string_view body,
                std::string_view server_timing);
    void outcome_answer(unsigned status);
    // Fills everything but mode, seconds, build and outcomes_after_end. `stalls` null: not timed.
    ReplayReport finish(const std::vector<Stall>* stalls);

  private:
    struct Sample {
        Exchange times;
        double score = 0.0;
        std::int32_t day = 0;
        std::uint32_t customer = 0;
        bool fraud = false;
        bool answered = false;
        bool flagged = false;
    };
    bool read_answer(const JsonValue& root, Sample& sample);
    void read_stages(const JsonValue& root, std::string_view server_timing);
    std::optional<QualityFigures> quality() const;
    void latencies(const std::vector<Stall>* stalls);

    ReplayReport report_;
    std::vector<Sample> samples_;
    std::unordered_map<std::string, std::uint32_t> customers_;
    JsonDocument json_;
    bool any_label_ = false;
};

// "parse;dur=0.012, windows;dur=0.034" into microseconds by kStages; stages not named are left as
// they are.
void parse_server_timing(std::string_view header, std::array<std::int64_t, kStages.size()>& stages);

}  // namespace tollgate::apps
