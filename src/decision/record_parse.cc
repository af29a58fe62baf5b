// Reads records back, with or without their personal values.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "decision/describe.h"
#include "decision/event_json.h"
#include "decision/json_fields.h"
#include "decision/record.h"
#include "decision/record_seal.h"
#include "decision/record_value.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 6> kKinds{"assessment", "outcome", "account",
                                                 "policy",     "import",  "late_score"};
constexpr std::array<std::string_view, 4> kVerdicts{"approve", "challenge", "review", "decline"};
constexpr std::array<std::string_view, 4> kAdmissions{"fresh", "late", "too_late", "ahead"};
constexpr TextBounds kText{0, 1024, true};
// A record is larger than a request: every window by name.
constexpr JsonLimits kLimits{.max_bytes = 16U << 20, .max_depth = 64, .max_members = 4096};

Error corrupt(const Error& why) {
    return {Fault::kCorrupt, "record: " + why.message};
}
Error corrupt(const std::string& why) {
    return {Fault::kCorrupt, "record: " + why};
}

Result<RecordHead> head_of(const JsonMembers& members) {
    RecordHead head;
    TG_TRY(const std::size_t kind, required_choice(members, "kind", kKinds));
    head.kind = static_cast<RecordKind>(kind);
    TG_TRY(head.tenant, required_text(members, "tenant", kText));
    TG_TRY(auto policy, optional_text(members, "policy", kText));
    head.policy = std::move(policy).value_or("");
    return head;
}

Result<std::optional<std::uint64_t>> optional_unsigned(const JsonMembers& members,
                                                       std::string_view name) {
    const auto json = members.find(name);
    if (!json) {
        return std::optional<std::uint64_t>{};
    }
    TG_TRY(const std::uint64_t number, unsigned_of(*json, name));
    return std::optional(number);
}

Result<std::uint32_t> small_unsigned(const JsonMembers& members, std::string_view name) {
    TG_TRY(const JsonValue json, members.need(name));
    TG_TRY(const std::uint64_t number, unsigned_of(json, name));
    if (number > UINT32_MAX) {
        return bad_field(name, "is beyond 4294967295");
    }
    return static_cast<std::uint32_t>(number);
}

Result<Event> event_of(const JsonMembers& members, const Schema& schema, Unsealer& unsealer) {
    TG_TRY(const JsonValue json, members.need("event"));
    if (!json.is(JsonKind::kObject)) {
        return wrong_kind("event", "an object", json);
    }
    const bool personal = !schema.personal_fields.empty() ||
                          std::any_of(schema.attributes.begin(), schema.attributes.end(),
                                      [](const AttributeDef& a) { return a.personal; });
    if (!personal) {
        return parse_event(json, schema);
    }
    TG_TRY(const std::string text, clear_event(json, schema, unsealer));
    JsonDocument document(kLimits);
    TG_TRY(const JsonValue clear, document.parse(text));
    return parse_event(clear, schema);
}

// One window's value, opened when it was sealed.
Result<Value> window_of(const JsonValue& json, const WindowDef& window, Unsealer& unsealer) {
    if (!json.is(JsonKind::kString) || !is_seal(json.string())) {
        return read_value(json, window.type);
    }
    TG_TRY(const auto clear, unsealer.open("windows." + window.name, json.string()));
    if (!clear) {
        return Value::unknown();
    }
    JsonDocument document(kLimits);
    TG_TRY(const JsonValue value, document.parse(*clear));
    return read_value(value, window.type);
}

Status read_windows(const JsonMembers& members, const WindowPlan& plan, Unsealer& unsealer,
                    AssessmentRecord& out) {
    const auto json = members.find("windows");
    if (!json) {
        return ok();
    }
    TG_TRY(const JsonMembers windows, json_members(*json, "windows"));
    (void)windows;
    out.has_windows = true;
    for (const WindowDef& window : plan.windows) {
        const auto value = json->find(window.name);
        if (!value) {
            return bad_field("windows." + window.name, "is required");
        }
        TG_TRY(const Value read, window_of(*value, window, unsealer));
        out.windows.push_back(read);
    }
    return ok();
}

Status read_kept(const JsonMembers& members, const WindowPlan& plan, AssessmentRecord& out) {
    out.kept.assign(plan.keeps.size(), INT64_MIN);
    TG_TRY(const JsonValue json, members.need("kept"));
    TG_TRY(const JsonMembers kept, json_members(json, "kept"));
    for (std::size_t i = 0; i < plan.keeps.size(); ++i) {
        const auto value = kept.find(plan.keeps[i].name);
        if (!value) {
            continue;
        }
        const auto number =
            value->is(JsonKind::kString) ? read_exact(value->string()) : std::nullopt;
        const auto micro = number ? to_scaled(*number, 6) : std::nullopt;
        if (!micro) {
            return bad_field(kept.path_of(plan.keeps[i].name), "is not a number");
        }
        out.kept[i] = *micro;
    }
    return ok();
}

Result<std::vector<std::string>> ids_of(const JsonMembers& rules, std::string_view name) {
    TG_TRY(const JsonValue json, rules.need(name));
    std::vector<std::string> ids;
    const bool good = json.is(JsonKind::kArray) && json.each_item([&](const JsonValue& item) {
        if (!item.is(JsonKind::kString) || ids.size() >= kMaxRules) {
            return false;
        }
        ids.emplace_back(item.string());
        return true;
    });
    if (!good) {
        return bad_field(rules.path_of(name), "must be an array of rule ids");
    }
    return ids;
}

Status read_rules(const JsonMembers& members, AssessmentRecord& out) {
    const auto json = members.find("rules");
    if (!json) {
        return ok();
    }
    TG_TRY(const JsonMembers rules, json_members(*json, "rules"));
    TG_TRY(out.hits, ids_of(rules, "hits"));
    TG_TRY(out.unknown, ids_of(rules, "unknown"));
    TG_TRY(out.errors, ids_of(rules, "errors"));
    return ok();
}

Status read_provenance(const JsonMembers& members, const RecordHead& head, Provenance& out) {
    TG_TRY(const JsonValue json, members.need("provenance"));
    TG_TRY(const JsonMembers provenance, json_members(json, "provenance"));
    out.policy = head.policy;
    TG_TRY(out.build, required_text(provenance, "build", kText));
    TG_TRY(auto model, optional_text(provenance, "model", kText));
    TG_TRY(auto prompt, optional_text(provenance, "prompt", kText));
    TG_TRY(out.kernels, required_text(provenance, "kernels", kText));
    out.model = std::move(model).value_or("");
    out.prompt = std::move(prompt).value_or("");
    return ok();
}

Status read_verdict(const JsonMembers& members, AssessmentRecord& out) {
    TG_TRY(const std::size_t admission, required_choice(members, "admission", kAdmissions));
    out.admission = static_cast<Admission>(admission);
    TG_TRY(out.cold_keys, small_unsigned(members, "cold_keys"));
    TG_TRY(out.overflow_keys, small_unsigned(members, "overflow_keys"));
    TG_TRY(auto fault, optional_text(members, "fault", kText));
    out.fault = std::move(fault).value_or("");
    if (members.find("probability_bits")) {
        TG_TRY(const std::uint32_t bits, small_unsigned(members, "probability_bits"));
        out.probability = std::bit_cast<float>(bits);
    }
    if (const auto json = members.find("encoder")) {
        TG_TRY(const JsonMembers encoder, json_members(*json, "encoder"));
        EncodedSize encoded;
        TG_TRY(encoded.tokens, small_unsigned(encoder, "tokens"));
        TG_TRY(encoded.cut, small_unsigned(encoder, "cut"));
        out.encoded = encoded;
    }
    TG_TRY(out.limit_sequence, optional_unsigned(members, "limit_sequence"));
    TG_TRY(out.block_sequence, optional_unsigned(members, "block_sequence"));
    TG_TRY(const std::size_t decision, required_choice(members, "decision", kVerdicts));
    out.decision = static_cast<Verdict>(decision);
    TG_TRY(out.decided_by, required_text(members, "decided_by", kText));
    TG_TRY(out.source, required_text(members, "source", kText));
    return ok();
}

Result<AssessmentRecord> assessment_of(const JsonMembers& members, const RecordHead& head,
                                       const PolicyPack& pack, Unsealer& unsealer) {
    AssessmentRecord out;
    TG_TRY(out.event, event_of(members, pack.schema(), unsealer));
    TG_TRY(const JsonValue arrival, members.need("arrival"));
    TG_TRY(out.arrival, unsigned_of(arrival, "arrival"));
    TG_TRY(const auto kept, read_kept(members, pack.rules->plan, out));
    (void)kept;
    if (head.kind == RecordKind::kImport) {
        out.provenance.policy = head.policy;
        return out;
    }
    TG_TRY(const auto windows, read_windows(members, pack.rules->plan, unsealer, out));
    (void)windows;
    TG_TRY(const auto rules, read_rules(members, out));
    (void)rules;
    TG_TRY(const auto verdict, read_verdict(members, out));
    (void)verdict;
    TG_TRY(const auto provenance, read_provenance(members, head, out.provenance));
    (void)provenance;
    return out;
}

// The clear text of a sealed string, the seal itself once erased, or the text as it is.
Result<std::string> opened(std::string_view path, const std::string& text, Unsealer& unsealer) {
    if (!is_seal(text)) {
        return text;
    }
    TG_TRY(const auto clear, unsealer.open(path, text));
    if (!clear) {
        return text;
    }
    JsonDocument document(kLimits);
    TG_TRY(const JsonValue json, document.parse(*clear));
    return text_of(json, path, {0, kMaxNoteBytes, true});
}

Result<Outcome> outcome_of(const JsonMembers& members, Unsealer& unsealer) {
    TG_TRY(const JsonValue json, members.need("outcome"));
    TG_TRY(Outcome outcome, parse_outcome(json));
    TG_TRY(auto note, opened("note", outcome.note, unsealer));
    outcome.note = is_seal(note) ? std::string{} : std::move(note);
    return outcome;
}

Result<AccountChange> change_of(const JsonMembers& members, Unsealer& unsealer) {
    TG_TRY(const JsonValue json, members.need("change"));
    TG_TRY(AccountChange change, parse_account_change(json));
    TG_TRY(change.account_id, opened("account_id", change.account_id, unsealer));
    return change;
}

Result<LateScore> late_score_of(const JsonMembers& members) {
    LateScore late;
    TG_TRY(late.event_id, required_text(members, "event_id", kText));
    TG_TRY(const std::uint32_t bits, small_unsigned(members, "probability_bits"));
    late.probability = std::bit_cast<float>(bits);
    TG_TRY(late.model, required_text(members, "model", kText));
    return late;
}

Result<PolicyActivation> activation_of(const JsonMembers& members, const RecordHead& head) {
    PolicyActivation activation;
    activation.hash = head.policy;
    TG_TRY(activation.by, required_text(members, "by", kText));
    TG_TRY(activation.at, required_time(members, "at"));
    return activation;
}

Result<Record> record_of(const JsonMembers& members, RecordHead head, const PolicyPack* pack,
                         Unsealer& unsealer) {
    Record record;
    record.head = std::move(head);
    switch (record.head.kind) {
        case RecordKind::kAssessment:
        case RecordKind::kImport: {
            if (pack == nullptr || pack->hash != record.head.policy) {
                return bad_field(
                    "policy", short_quote(record.head.policy) + " is not the pack that was given");
            }
            TG_TRY(record.assessment, assessment_of(members, record.head, *pack, unsealer));
            break;
        }
        case RecordKind::kOutcome: {
            TG_TRY(record.outcome, outcome_of(members, unsealer));
            break;
        }
        case RecordKind::kAccount: {
            TG_TRY(record.account, change_of(members, unsealer));
            break;
        }
        case RecordKind::kPolicy: {
            TG_TRY(record.policy, activation_of(members, record.head));
            break;
        }
        case RecordKind::kLateScore: {
            TG_TRY(record.late_score, late_score_of(members));
            break;
        }
    }
    record.redacted = unsealer.take_redacted();
    return record;
}

}  // namespace

Result<RecordHead> parse_record_head(std::string_view text) {
    JsonDocument document(kLimits);
    const auto json = document.parse(text);
    if (!json || !json->is(JsonKind::kObject)) {
        return json ? corrupt("not an object") : corrupt(json.error());
    }
    auto head = head_of(JsonMembers(*json, ""));
    if (!head) {
        return corrupt(head.error());
    }
    return head;
}

Result<Record> parse_record(std::string_view text, std::string_view personal,
                            const PolicyPack* pack) {
    JsonDocument document(kLimits);
    const auto json = document.parse(text);
    if (!json || !json->is(JsonKind::kObject)) {
        return json ? corrupt("not an object") : corrupt(json.error());
    }
    const JsonMembers members(*json, "");
    auto head = head_of(members);
    if (!head) {
        return corrupt(head.error());
    }
    TG_TRY(Unsealer unsealer, Unsealer::read(personal));
    auto record = record_of(members, *std::move(head), pack, unsealer);
    if (!record) {
        return record.error().fault == Fault::kCorrupt ? record : corrupt(record.error());
    }
    return record;
}

}  // namespace tollgate
