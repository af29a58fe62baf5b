// Writes records: fixed order of members, everything exact, nothing of the hour it was written.
#include <array>
#include <bit>
#include <string>

#include "base/check.h"
#include "decision/event_json.h"
#include "decision/record.h"
#include "decision/record_seal.h"
#include "decision/record_value.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 6> kKinds{"assessment", "outcome", "account",
                                                 "policy",     "import",  "late_score"};
constexpr std::int64_t kUnknownKept = INT64_MIN;

void begin(JsonWriter& out, RecordKind kind, std::string_view tenant) {
    out.begin_object();
    out.key("kind");
    out.string(to_text(kind));
    out.key("tenant");
    out.string(tenant);
}

void text_or_null(JsonWriter& out, std::string_view key, std::string_view text) {
    out.key(key);
    text.empty() ? out.null() : out.string(text);
}

void number_or_null(JsonWriter& out, std::string_view key,
                    const std::optional<std::uint64_t>& number) {
    out.key(key);
    number ? out.whole(*number) : out.null();
}

// True when a window shows a value of a personal field: its result is sealed like the field.
bool shows_personal(const WindowDef& window, const PolicyPack& pack) {
    if (!window.slot) {
        return false;
    }
    const RowSlot& slot = pack.rules->plan.layout.slots[*window.slot];
    return slot.kind == RowSlot::Kind::kField && window.fn != WindowFn::kCount &&
           is_personal(pack.schema(), pack.fields.at(slot.field).name);
}

void windows(JsonWriter& out, const PolicyPack& pack, const WindowValues& values, Sealer& sealer) {
    const WindowPlan& plan = pack.rules->plan;
    TG_CHECK(values.values.size() == plan.windows.size() && values.kept.size() >= plan.keeps.size(),
             "window values of another plan");
    out.begin_object();
    for (std::size_t i = 0; i < plan.windows.size(); ++i) {
        const WindowDef& window = plan.windows[i];
        out.key(window.name);
        if (!shows_personal(window, pack) || values.values[i].is_unknown()) {
            append_value(out, values.values[i]);
            continue;
        }
        std::string json;
        JsonWriter writer(json);
        append_value(writer, values.values[i]);
        out.string(sealer.seal("windows." + window.name, json));
    }
    out.end_object();
}

void kept(JsonWriter& out, const PolicyPack& pack, const WindowValues* values) {
    const auto& keeps = pack.rules->plan.keeps;
    out.key("kept");
    out.begin_object();
    for (std::size_t i = 0; values != nullptr && i < keeps.size() && i < values->kept.size(); ++i) {
        out.key(keeps[i].name);
        if (values->kept[i] == kUnknownKept) {
            out.null();
        } else {
            out.string(to_text(Number{values->kept[i], 1'000'000}));
        }
    }
    out.end_object();
}

void rule_ids(JsonWriter& out, std::string_view key, std::span<const std::uint16_t> indexes,
              const CompiledRules& rules) {
    out.key(key);
    out.begin_array();
    for (const std::uint16_t index : indexes) {
        out.string(rules.rules[index].id);
    }
    out.end_array();
}

void rule_results(JsonWriter& out, const RuleResults* results, const CompiledRules& rules) {
    out.key("rules");
    if (results == nullptr) {
        return out.null();
    }
    out.begin_object();
    rule_ids(out, "hits", std::span(results->hits).first(results->hit_count), rules);
    rule_ids(out, "unknown", std::span(results->unknown).first(results->unknown_count), rules);
    rule_ids(out, "errors", std::span(results->errors).first(results->error_count), rules);
    out.end_object();
}

void provenance(JsonWriter& out, const Provenance& from) {
    out.key("provenance");
    out.begin_object();
    out.key("build");
    out.string(from.build);
    text_or_null(out, "model", from.model);
    text_or_null(out, "prompt", from.prompt);
    out.key("kernels");
    out.string(from.kernels);
    out.end_object();
}

}  // namespace

std::string_view to_text(RecordKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    return index < kKinds.size() ? kKinds[index] : std::string_view("unknown");
}

Sealed make_assessment_record(const RecordInput& input, const SaltFn& salts) {
    TG_CHECK(input.pack != nullptr && input.event != nullptr && input.provenance != nullptr,
             "a record needs a pack, an event and provenance");
    const PolicyPack& pack = *input.pack;
    Sealed sealed;
    sealed.text.reserve(2048);
    Sealer sealer(salts, input.event->event_id);
    JsonWriter out(sealed.text);
    begin(out, RecordKind::kAssessment, input.tenant);
    out.key("policy");
    out.string(input.provenance->policy);
    out.key("event");
    append_event(out, sealed_event(*input.event, pack.schema(), sealer), pack.schema());
    out.key("arrival");
    out.whole(input.arrival);
    out.key("admission");
    out.string(to_text(input.admission));
    out.key("windows");
    if (input.windows != nullptr) {
        windows(out, pack, *input.windows, sealer);
    } else {
        out.null();
    }
    kept(out, pack, input.windows);
    out.key("cold_keys");
    out.whole(input.windows == nullptr ? 0 : input.windows->cold_keys);
    out.key("overflow_keys");
    out.whole(input.windows == nullptr ? 0 : input.windows->overflow_keys);
    rule_results(out, input.rules, *pack.rules);
    text_or_null(out, "fault", input.fault);
    out.key("probability_bits");
    input.probability ? out.whole(std::bit_cast<std::uint32_t>(*input.probability)) : out.null();
    out.key("encoder");
    if (input.encoded) {
        out.begin_object();
        out.key("tokens");
        out.whole(input.encoded->tokens);
        out.key("cut");
        out.whole(input.encoded->cut);
        out.end_object();
    } else {
        out.null();
    }
    number_or_null(out, "limit_sequence", input.limit_sequence);
    number_or_null(out, "block_sequence", input.block_sequence);
    out.key("decision");
    out.string(to_text(input.combined.decision));
    out.key("decided_by");
    out.string(to_text(input.combined, *pack.rules));
    out.key("source");
    out.string(input.source);
    provenance(out, *input.provenance);
    out.end_object();
    sealed.personal = sealer.take();
    return sealed;
}

Sealed make_outcome_record(std::string_view tenant, const Outcome& outcome, const SaltFn& salts) {
    Sealed sealed;
    Sealer sealer(salts, outcome.outcome_id);
    Outcome kept_outcome = outcome;
    if (!outcome.note.empty()) {
        kept_outcome.note = sealer.seal_text("note", outcome.note);
    }
    JsonWriter out(sealed.text);
    begin(out, RecordKind::kOutcome, tenant);
    out.key("outcome");
    append_outcome(out, kept_outcome);
    out.end_object();
    sealed.personal = sealer.take();
    return sealed;
}

Sealed make_account_record(std::string_view tenant, const AccountChange& change,
                           const Schema& schema, const SaltFn& salts) {
    Sealed sealed;
    Sealer sealer(salts, std::to_string(change.sequence));
    AccountChange kept_change = change;
    if (is_personal(schema, "account_id")) {
        kept_change.account_id = sealer.seal_text("account_id", change.account_id);
    }
    JsonWriter out(sealed.text);
    begin(out, RecordKind::kAccount, tenant);
    out.key("change");
    append_account_change(out, kept_change);
    out.end_object();
    sealed.personal = sealer.take();
    return sealed;
}

Sealed make_late_score_record(std::string_view tenant, const LateScore& late) {
    Sealed sealed;
    JsonWriter out(sealed.text);
    begin(out, RecordKind::kLateScore, tenant);
    out.key("event_id");
    out.string(late.event_id);
    out.key("probability_bits");
    out.whole(std::bit_cast<std::uint32_t>(late.probability));
    out.key("model");
    out.string(late.model);
    out.end_object();
    return sealed;
}

Sealed make_policy_record(std::string_view tenant, const PolicyActivation& activation) {
    Sealed sealed;
    JsonWriter out(sealed.text);
    begin(out, RecordKind::kPolicy, tenant);
    out.key("policy");
    out.string(activation.hash);
    out.key("by");
    out.string(activation.by);
    out.key("at");
    out.string(format_rfc3339(activation.at));
    out.end_object();
    return sealed;
}

Sealed make_import_record(std::string_view tenant, const PolicyPack& pack, const Event& event,
                          std::uint64_t arrival, const WindowValues* windows, const SaltFn& salts) {
    Sealed sealed;
    Sealer sealer(salts, event.event_id);
    JsonWriter out(sealed.text);
    begin(out, RecordKind::kImport, tenant);
    out.key("policy");
    out.string(pack.hash);
    out.key("event");
    append_event(out, sealed_event(event, pack.schema(), sealer), pack.schema());
    out.key("arrival");
    out.whole(arrival);
    kept(out, pack, windows);
    out.end_object();
    sealed.personal = sealer.take();
    return sealed;
}

}  // namespace tollgate
