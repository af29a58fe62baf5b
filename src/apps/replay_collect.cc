// Gathers the answers of a replay and works out its figures.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "apps/replay_report.h"
#include "pipeline/quality.h"

namespace tollgate::apps {

namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;

std::string text_of(const JsonValue& root, std::string_view key) {
    const auto member = root.find(key);
    return member && member->is(JsonKind::kString) ? std::string(member->string()) : "none";
}

int severity_of(std::string_view decision) {
    return decision == "decline" ? 3 : decision == "review" ? 2 : decision == "challenge" ? 1 : 0;
}

std::size_t hits_of(const JsonValue& root) {
    const auto rules = root.find("rules");
    const auto hits = rules && rules->is(JsonKind::kObject) ? rules->find("hits") : std::nullopt;
    return hits && hits->is(JsonKind::kArray) ? hits->size() : 0;
}

// The model's probability; without one the decision's severity, then the number of rules that
// fired. Both lie in 0..1, so that the few answers without a model's vote still have a place among
// the others.
double score_of(const JsonValue& root, int severity) {
    const auto probability = root.find("probability");
    if (probability && probability->is(JsonKind::kDouble)) {
        return probability->number();
    }
    if (probability && probability->is(JsonKind::kInteger)) {
        return static_cast<double>(probability->integer());
    }
    const double hits = static_cast<double>(std::min<std::size_t>(hits_of(root), 999)) / 1000.0;
    return (static_cast<double>(severity) + hits) / 4.0;
}

}  // namespace

Percentiles percentiles_of(std::vector<std::int64_t>& values, double unit) {
    Percentiles out;
    out.count = values.size();
    if (values.empty()) {
        return out;
    }
    std::sort(values.begin(), values.end());
    const auto at = [&](double q) {
        const double rank = std::ceil(q * static_cast<double>(values.size()));
        const auto index = static_cast<std::size_t>(std::max(1.0, rank)) - 1;
        return static_cast<double>(values[std::min(index, values.size() - 1)]) / unit;
    };
    out.p50 = at(0.5);
    out.p90 = at(0.9);
    out.p99 = at(0.99);
    out.p999 = at(0.999);
    out.max = static_cast<double>(values.back()) / unit;
    return out;
}

void parse_server_timing(std::string_view header,
                         std::array<std::int64_t, kStages.size()>& stages) {
    while (!header.empty()) {
        const std::size_t comma = header.find(',');
        std::string_view entry = header.substr(0, comma);
        header = comma == std::string_view::npos ? std::string_view() : header.substr(comma + 1);
        entry.remove_prefix(std::min(entry.find_first_not_of(' '), entry.size()));
        const std::size_t mark = entry.find(";dur=");
        if (mark == std::string_view::npos) {
            continue;
        }
        const auto stage = std::find(kStages.begin(), kStages.end(), entry.substr(0, mark));
        const std::string_view number = entry.substr(mark + 5);
        double ms = 0.0;
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ms);
        if (stage != kStages.end() && error == std::errc{} && ms >= 0.0 && ms < 1e9) {
            stages[static_cast<std::size_t>(stage - kStages.begin())] = std::llround(ms * 1000.0);
        }
    }
}

std::uint64_t ReplayCollector::add_event(const TrafficItem& item) {
    Sample sample;
    sample.day = static_cast<std::int32_t>(to_micros(item.at) / kDayUs);
    sample.customer =
        customers_.emplace(item.account_id, static_cast<std::uint32_t>(customers_.size()))
            .first->second;
    sample.fraud = item.label == Label::kFraud;
    any_label_ = any_label_ || item.label != Label::kNone;
    samples_.push_back(sample);
    ++report_.events;
    return samples_.size() - 1;
}

void ReplayCollector::answer(std::uint64_t event, const Exchange& times, unsigned status,
                             std::string_view body, std::string_view server_timing) {
    Sample& sample = samples_[event];
    sample.times = times;
    if (status == 200) {
        const auto root = json_.parse(body);
        if (root && read_answer(*root, sample)) {
            sample.answered = true;
            read_stages(*root, server_timing);
            return;
        }
    }
    ++report_.unanswered;
    if (status != 0) {
        ++report_.refused[status];
        if (report_.first_refusal.empty()) {
            report_.first_refusal = std::string(body.substr(0, 400));
        }
    }
}

void ReplayCollector::outcome_answer(unsigned status) {
    ++report_.outcomes_sent;
    report_.outcomes_failed += status >= 200 && status < 300 ? 0U : 1U;
}

// False when the body is no decision.
bool ReplayCollector::read_answer(const JsonValue& root, Sample& sample) {
    if (!root.is(JsonKind::kObject) || !root.find("decision")) {
        return false;
    }
    const std::string decision = text_of(root, "decision");
    const int severity = severity_of(decision);
    sample.score = score_of(root, severity);
    sample.flagged = severity >= 2;
    ++report_.by_decision[decision];
    ++report_.by_band[text_of(root, "band")];
    ++report_.by_source[text_of(root, "source")];
    ++report_.persisted[text_of(root, "persisted")];
    return true;
}

// The header knows more than the body: the store's confirmation came after the body was written.
void ReplayCollector::read_stages(const JsonValue& root, std::string_view server_timing) {
    std::array<std::int64_t, kStages.size()> stages{};
    const auto timings = root.find("timings_us");
    if (timings && timings->is(JsonKind::kObject)) {
        for (std::size_t i = 0; i < kStages.size(); ++i) {
            const auto value = timings->find(kStages[i]);
            stages[i] = value && value->is(JsonKind::kInteger) ? value->integer() : 0;
        }
    }
    parse_server_timing(server_timing, stages);
    for (std::size_t i = 0; i < kStages.size(); ++i) {
        report_.stages[i].record(stages[i]);
    }
}

std::optional<QualityFigures> ReplayCollector::quality() const {
    if (!any_label_) {
        return std::nullopt;
    }
    QualityFigures out;
    std::vector<double> scores;
    std::vector<double> flags;
    std::vector<std::uint8_t> fraud;
    std::vector<pipeline::CardEvent> cards;
    for (const Sample& sample : samples_) {
        if (!sample.answered) {
            continue;
        }
        scores.push_back(sample.score);
        flags.push_back(sample.flagged ? 1.0 : 0.0);
        fraud.push_back(sample.fraud ? 1 : 0);
        cards.push_back({.day = sample.day,
                         .customer = sample.customer,
                         .score = sample.score,
                         .fraud = sample.fraud});
        out.frauds += sample.fraud ? 1U : 0U;
    }
    out.events = scores.size();
    out.auc = pipeline::auc_roc(scores, fraud);
    out.average_precision = pipeline::average_precision(scores, fraud);
    out.card_precision_100 = pipeline::card_precision(cards, 100);
    if (const auto best = pipeline::best_f1(scores, fraud)) {
        out.best_f1 = best->f1;
    }
    const pipeline::Confusion flagged = pipeline::confusion_at(flags, fraud, 0.5);
    out.flagged_f1 = pipeline::f1_of(flagged);
    out.flagged_fraud = flagged.true_fraud;
    out.flagged_legit = flagged.false_fraud;
    return out;
}

// Latency from the scheduled send time, of answered events; corrected: without those that a stall
// overlaps.
void ReplayCollector::latencies(const std::vector<Stall>* stalls) {
    std::vector<std::int64_t> raw;
    std::vector<std::int64_t> corrected;
    std::vector<std::int64_t> lateness;
    for (const Sample& sample : samples_) {
        const Exchange& t = sample.times;
        if (!sample.answered) {
            continue;
        }
        const std::int64_t latency = t.received_us - t.scheduled_us;
        const bool stalled =
            stalls != nullptr && overlaps_stall(*stalls, t.scheduled_us, t.received_us, kStallUs);
        raw.push_back(latency);
        lateness.push_back(std::max<std::int64_t>(0, t.sent_us - t.scheduled_us));
        report_.late_raw += latency > kLateUs ? 1U : 0U;
        if (!stalled) {
            corrected.push_back(latency);
            report_.late += latency > kLateUs ? 1U : 0U;
        }
    }
    report_.latency_ms = percentiles_of(raw, 1000.0);
    report_.latency_corrected_ms = percentiles_of(corrected, 1000.0);
    report_.client_lateness_ms = percentiles_of(lateness, 1000.0);
}

ReplayReport ReplayCollector::finish(const std::vector<Stall>* stalls) {
    latencies(stalls);
    report_.quality = quality();
    if (stalls != nullptr) {
        StallFigures figures;
        for (const Stall& stall : *stalls) {
            const std::int64_t length = stall.until_us - stall.from_us;
            ++figures.over_1ms;
            figures.over_5ms += length >= kStallUs ? 1U : 0U;
            figures.longest_ms = std::max(figures.longest_ms, static_cast<double>(length) / 1000.0);
        }
        figures.excused = report_.late_raw - report_.late;
        report_.stalls = figures;
    }
    return std::move(report_);
}

}  // namespace tollgate::apps
