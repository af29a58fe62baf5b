// The report of a replay as JSON for machines and as a table for people.
#include "apps/replay_report.h"

#include <cstdarg>
#include <cstdio>

#include "apps/cli.h"
#include "apps/cpu.h"
#include "text/json_writer.h"

namespace tollgate::apps {

namespace {

__attribute__((format(printf, 2, 3))) void append(std::string& out, const char* format, ...) {
    char text[512];
    std::va_list arguments;
    va_start(arguments, format);
    (void)std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    out += text;
}

void write_percentiles(JsonWriter& out, std::string_view key, const Percentiles& p) {
    out.key(key);
    out.begin_object();
    const std::pair<std::string_view, double> values[] = {
        {"p50", p.p50}, {"p90", p.p90}, {"p99", p.p99}, {"p999", p.p999}, {"max", p.max}};
    for (const auto& [name, value] : values) {
        out.key(name);
        out.number(value);
    }
    out.key("count");
    out.whole(p.count);
    out.end_object();
}

void write_counts(JsonWriter& out, std::string_view key,
                  const std::map<std::string, std::uint64_t>& counts) {
    out.key(key);
    out.begin_object();
    for (const auto& [name, count] : counts) {
        out.key(name);
        out.whole(count);
    }
    out.end_object();
}

void write_optional(JsonWriter& out, std::string_view key, const std::optional<double>& value) {
    out.key(key);
    value ? out.number(*value) : out.null();
}

void write_quality(JsonWriter& out, const std::optional<QualityFigures>& quality) {
    out.key("quality");
    if (!quality) {
        out.null();
        return;
    }
    out.begin_object();
    out.key("events");
    out.whole(quality->events);
    out.key("frauds");
    out.whole(quality->frauds);
    write_optional(out, "auc", quality->auc);
    write_optional(out, "average_precision", quality->average_precision);
    write_optional(out, "card_precision_100", quality->card_precision_100);
    write_optional(out, "best_f1", quality->best_f1);
    write_optional(out, "flagged_f1", quality->flagged_f1);
    out.key("flagged_fraud");
    out.whole(quality->flagged_fraud);
    out.key("flagged_legit");
    out.whole(quality->flagged_legit);
    out.end_object();
}

void write_stages(JsonWriter& out, const ReplayReport& report) {
    out.key("stages_us");
    out.begin_object();
    for (std::size_t i = 0; i < kStages.size(); ++i) {
        const LatencyHistogram& h = report.stages[i];
        out.key(kStages[i]);
        out.begin_object();
        const std::pair<std::string_view, double> quantiles[] = {
            {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
        for (const auto& [name, q] : quantiles) {
            out.key(name);
            out.integer(h.quantile(q));
        }
        out.key("max");
        out.integer(h.max());
        out.end_object();
    }
    out.end_object();
}

void write_stalls(JsonWriter& out, const std::optional<StallFigures>& stalls) {
    out.key("stalls");
    if (!stalls) {
        out.null();
        return;
    }
    out.begin_object();
    out.key("over_1ms");
    out.whole(stalls->over_1ms);
    out.key("over_5ms");
    out.whole(stalls->over_5ms);
    out.key("longest_ms");
    out.number(stalls->longest_ms);
    out.key("late_excused");
    out.whole(stalls->excused);
    out.end_object();
}

void append_latency(std::string& out, const char* name, const Percentiles& p) {
    append(out, "  %-22s %9.2f %9.2f %9.2f %9.2f %9.2f\n", name, p.p50, p.p90, p.p99, p.p999,
           p.max);
}

void append_counts(std::string& out, const char* name,
                   const std::map<std::string, std::uint64_t>& counts, std::uint64_t all) {
    append(out, "  %-22s", name);
    for (const auto& [what, count] : counts) {
        append(out, " %s %s (%.2f %%) ", what.c_str(), grouped(count).c_str(),
               all == 0 ? 0.0 : 100.0 * static_cast<double>(count) / static_cast<double>(all));
    }
    out += '\n';
}

std::string measure(const std::optional<double>& value) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.4f", value.value_or(0.0));
    return value ? text : "undefined";
}

void append_quality(std::string& out, const QualityFigures& q) {
    append(out, "\nQuality (label: outcome says fraud)\n");
    append(out, "  %s events, %s frauds\n", grouped(q.events).c_str(), grouped(q.frauds).c_str());
    append(out, "  %-22s %s\n", "AUC ROC", measure(q.auc).c_str());
    append(out, "  %-22s %s\n", "average precision", measure(q.average_precision).c_str());
    append(out, "  %-22s %s\n", "card precision@100", measure(q.card_precision_100).c_str());
    append(out, "  %-22s %s\n", "best F1", measure(q.best_f1).c_str());
    append(out, "  %-22s %s  (%s frauds and %s others declined or reviewed)\n", "F1 as decided",
           measure(q.flagged_f1).c_str(), grouped(q.flagged_fraud).c_str(),
           grouped(q.flagged_legit).c_str());
}

void append_times(std::string& out, const ReplayReport& r) {
    append(out, "\n  %-22s %9s %9s %9s %9s %9s\n", "Latency (ms)", "p50", "p90", "p99", "p99.9",
           "max");
    append_latency(out, "as scheduled", r.latency_ms);
    append_latency(out, "corrected for stalls", r.latency_corrected_ms);
    append_latency(out, "client's own lateness", r.client_lateness_ms);
    append(out, "  %-22s %s as scheduled, %s corrected\n", "late (over 50 ms)",
           grouped(r.late_raw).c_str(), grouped(r.late).c_str());
    append(out, "  %-22s %s of 1 ms and more, %s of 5 ms, longest %.1f ms; %s lates excused\n",
           "stalls of the machine", grouped(r.stalls->over_1ms).c_str(),
           grouped(r.stalls->over_5ms).c_str(), r.stalls->longest_ms,
           grouped(r.stalls->excused).c_str());
    append(out, "\n  %-22s %9s %9s %9s %9s %9s\n", "Server stages (us)", "p50", "p90", "p99",
           "p99.9", "max");
    for (std::size_t i = 0; i < kStages.size(); ++i) {
        const LatencyHistogram& h = r.stages[i];
        if (h.max() > 0) {
            append(out, "  %-22s %9lld %9lld %9lld %9lld %9lld\n", std::string(kStages[i]).c_str(),
                   static_cast<long long>(h.quantile(0.5)), static_cast<long long>(h.quantile(0.9)),
                   static_cast<long long>(h.quantile(0.99)),
                   static_cast<long long>(h.quantile(0.999)), static_cast<long long>(h.max()));
        }
    }
}

}  // namespace

std::string to_json(const ReplayReport& r) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    out.key("mode");
    out.string(r.mode);
    const std::pair<std::string_view, std::uint64_t> counts[] = {
        {"events", r.events},
        {"unanswered", r.unanswered},
        {"late", r.late},
        {"late_raw", r.late_raw},
        {"outcomes", r.outcomes_sent},
        {"outcomes_failed", r.outcomes_failed},
        {"outcomes_after_end", r.outcomes_after_end}};
    for (const auto& [name, count] : counts) {
        out.key(name);
        out.whole(count);
    }
    out.key("seconds");
    out.number(r.seconds);
    out.key("events_per_s");
    out.number(r.seconds > 0.0 ? static_cast<double>(r.events) / r.seconds : 0.0);
    write_percentiles(out, "latency_ms", r.latency_ms);
    write_percentiles(out, "latency_corrected_ms", r.latency_corrected_ms);
    write_percentiles(out, "client_lateness_ms", r.client_lateness_ms);
    write_counts(out, "by_source", r.by_source);
    write_counts(out, "by_decision", r.by_decision);
    write_counts(out, "by_band", r.by_band);
    write_counts(out, "persisted", r.persisted);
    out.key("refused");
    out.begin_object();
    for (const auto& [status, count] : r.refused) {
        out.key(std::to_string(status));
        out.whole(count);
    }
    out.end_object();
    write_stages(out, r);
    write_stalls(out, r.stalls);
    write_quality(out, r.quality);
    if (!r.log_hash.empty()) {
        out.key("log_hash");
        out.string(r.log_hash);
    }
    out.key("cpu");
    out.string(cpu_model());
    out.key("build");
    out.string(r.build);
    out.end_object();
    return text;
}

std::string to_table(const ReplayReport& r) {
    std::string out;
    append(out, "\nReplay, %s: %s events in %.1f s (%.1f/s), %s unanswered\n", r.mode.c_str(),
           grouped(r.events).c_str(), r.seconds,
           r.seconds > 0.0 ? static_cast<double>(r.events) / r.seconds : 0.0,
           grouped(r.unanswered).c_str());
    append_counts(out, "decisions", r.by_decision, r.events);
    append_counts(out, "decided from", r.by_source, r.events);
    append_counts(out, "bands", r.by_band, r.events);
    append_counts(out, "persisted", r.persisted, r.events);
    append(out, "  %-22s %s sent, %s failed, %s become known after the end\n", "outcomes",
           grouped(r.outcomes_sent).c_str(), grouped(r.outcomes_failed).c_str(),
           grouped(r.outcomes_after_end).c_str());
    for (const auto& [status, count] : r.refused) {
        append(out, "  refused with %-9u %s\n", status, grouped(count).c_str());
    }
    if (!r.first_refusal.empty()) {
        out += "  the first: " + r.first_refusal + "\n";
    }
    if (r.stalls) {
        append_times(out, r);
    }
    if (r.quality) {
        append_quality(out, *r.quality);
    }
    if (!r.log_hash.empty()) {
        out += "\n  record log             sha256 " + r.log_hash + "\n";
    }
    append(out, "\n  %s, tollgate %s\n", cpu_model().c_str(), r.build.c_str());
    return out;
}

}  // namespace tollgate::apps
