// The answer to POST /v1/assessments, written once and stored as it is sent.
#include <algorithm>
#include <cstdio>

#include "decision/combine.h"
#include "pipeline/impl.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

namespace {

std::string_view mode_word(const RuleDef& rule, EventTime at) {
    if (rule.mode == RuleMode::kFallback) {
        return "fallback";
    }
    return counts(rule, at) ? "live" : "shadow";
}

void write_rules(JsonWriter& out, const Flight& f) {
    const CompiledRules& rules = *f.in.pack->rules;
    const auto ids = [&](std::string_view name, std::span<const std::uint16_t> list) {
        out.key(name);
        out.begin_array();
        for (const std::uint16_t index : list) {
            out.string(rules.rules[index].id);
        }
        out.end_array();
    };
    out.key("rules");
    out.begin_object();
    out.key("hits");
    out.begin_array();
    for (std::size_t i = 0; i < f.rules.hit_count; ++i) {
        const RuleDef& rule = rules.rules[f.rules.hits[i]];
        out.begin_object();
        out.key("id");
        out.string(rule.id);
        out.key("action");
        out.string(to_text(rule.action));
        out.key("reason");
        out.string(rule.reason);
        out.key("mode");
        out.string(mode_word(rule, f.in.event.occurred_at));
        out.end_object();
    }
    out.end_array();
    ids("unknown", std::span(f.rules.unknown).first(f.rules.unknown_count));
    ids("errors", std::span(f.rules.errors).first(f.rules.error_count));
    out.end_object();
}

void write_limit(JsonWriter& out, const Flight& f, EventTime now) {
    out.key("limit");
    if (!f.limit) {
        out.null();
        return;
    }
    const AccountLimit* own = f.account == nullptr ? nullptr : f.account->limit_at(now);
    out.begin_object();
    out.key("amount");
    out.string(to_text(*f.limit));
    out.key("currency");
    out.string(alpha3_of(f.limit->currency));
    out.key("set_by");
    out.string(own == nullptr ? std::string_view("policy") : std::string_view(own->set_by));
    out.key("sequence");
    out.whole(own == nullptr ? 0 : own->sequence);
    out.key("expires_at");
    if (own == nullptr || !own->expires_at) {
        out.null();
    } else {
        out.string(format_rfc3339(*own->expires_at));
    }
    out.end_object();
}

void write_fallback(JsonWriter& out, const Flight& f) {
    constexpr std::string_view kCauses[] = {"", "timeout", "unavailable", "overloaded", "deadline"};
    out.key("fallback");
    if (f.fault == FaultCause::kNone) {
        out.null();
        return;
    }
    out.begin_object();
    out.key("cause");
    out.string(kCauses[static_cast<std::size_t>(f.fault)]);
    out.key("after_us");
    out.integer(f.fault_after_us);
    out.end_object();
}

void write_vote(JsonWriter& out, const Flight& f) {
    out.key("probability");
    f.vote ? out.number(static_cast<double>(f.vote->probability)) : out.null();
    out.key("score");
    f.vote ? out.number(f.vote->score) : out.null();
    out.key("band");
    if (f.vote) {
        out.string(to_text(f.vote->band));
    } else {
        out.null();
    }
}

void write_times(JsonWriter& out, const StageTimes& times) {
    out.key("timings_us");
    out.begin_object();
    const std::pair<std::string_view, std::int64_t> stages[] = {
        {"parse", times.parse},   {"windows", times.windows},   {"rules", times.rules},
        {"queue", times.queue},   {"tokenize", times.tokenize}, {"encoder", times.encoder},
        {"policy", times.policy}, {"store", times.store},       {"total", times.total}};
    for (const auto& [name, value] : stages) {
        out.key(name);
        out.integer(value);
    }
    out.end_object();
}

void write_versions(JsonWriter& out, const Flight& f, const PipelineOptions& options,
                    const ModelSeam* model) {
    out.key("versions");
    out.begin_object();
    out.key("build");
    out.string(options.build);
    out.key("policy");
    out.string(f.in.pack->hash);
    out.key("model");
    if (model == nullptr) {
        out.null();
    } else {
        out.string(model->profile().digest);
    }
    out.key("prompt");
    out.null();
    out.key("kernels");
    out.string(options.kernels);
    out.end_object();
}

}  // namespace

std::string Pipeline::Impl::render(Flight& f, std::string_view id,
                                   std::string_view persisted) const {
    constexpr std::string_view kSources[] = {"model", "rules", "default"};
    std::string body;
    body.reserve(1536);
    JsonWriter out(body);
    out.begin_object();
    out.key("id");
    if (id.empty()) {
        out.null();
    } else {
        out.string(id);
    }
    out.key("event_id");
    out.string(f.in.event.event_id);
    out.key("decision");
    out.string(to_text(f.combined.decision));
    out.key("decided_by");
    out.string(to_text(f.combined, *f.in.pack->rules));
    write_vote(out, f);
    out.key("source");
    out.string(kSources[static_cast<std::size_t>(f.source)]);
    write_fallback(out, f);
    write_rules(out, f);
    write_limit(out, f, f.tenant->clock->now(loop.wall()));
    out.key("analysis");
    out.null();
    out.key("event_time");
    out.string(to_text(f.admission));
    write_versions(out, f, options, model);
    write_times(out, f.times);
    out.key("deadline");
    out.begin_object();
    out.key("budget_ms");
    out.number(static_cast<double>(f.in.budget.count()) / 1000.0);
    out.key("left_ms");
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(f.deadline - loop.now()).count();
    out.number(static_cast<double>(left / 100) / 10.0);
    out.end_object();
    out.key("persisted");
    f.persisted_at = body.size() + 1;
    f.persisted_size = persisted.size();
    out.string(persisted);
    out.end_object();
    return body;
}

}  // namespace tollgate::pipeline
