// Records: the canonical text of what happened, which is what is chained, compared and re-computed
// (docs/records.md).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "decision/account.h"
#include "decision/combine.h"
#include "decision/event.h"
#include "decision/pack.h"
#include "decision/rules.h"
#include "decision/stream_clock.h"
#include "decision/windows.h"

namespace tollgate {

enum class RecordKind : std::uint8_t {
    kAssessment,
    kOutcome,
    kAccount,
    kPolicy,
    kImport,
    kLateScore
};
// "assessment", "outcome", "account", "policy", "import", "late_score"
std::string_view to_text(RecordKind kind);

// Gives 16 salt bytes for a personal field of a thing (an event id, an outcome id). In service
// random_salt; in lockstep a function of its arguments, so that equal runs give equal bytes; in a
// re-computation the old salts of the sidecar.
using Salt = std::array<char, 16>;
using SaltFn = std::function<Salt(std::string_view of, std::string_view path)>;
Salt random_salt(std::string_view of, std::string_view path);
SaltFn derived_salts(std::string secret);

// The record's text (canonical JSON) and, when it has personal values, the sidecar that holds them
// with their salts. Erasing the sidecar leaves the chain valid.
struct Sealed {
    std::string text;
    std::string personal;
};

struct Provenance {
    std::string build;
    std::string policy;   // the pack's hash
    std::string model;    // empty: none configured
    std::string prompt;   // empty: none
    std::string kernels;  // "none" without a model
    friend bool operator==(const Provenance&, const Provenance&) = default;
};

// The encoder's input: its tokens, and how many more the text had than the model takes.
struct EncodedSize {
    std::uint32_t tokens = 0;
    std::uint32_t cut = 0;
    friend bool operator==(const EncodedSize&, const EncodedSize&) = default;
};

// Views of one decision. Not in the record: id, timings, deadline, when it arrived.
struct RecordInput {
    std::string_view tenant;
    const PolicyPack* pack = nullptr;
    const Event* event = nullptr;
    std::uint64_t arrival = 0;
    const WindowValues* windows = nullptr;  // null: not computed (source "default")
    const RuleResults* rules = nullptr;     // null: not evaluated
    Admission admission = Admission::kFresh;
    std::string_view fault;  // cause of a model fault or of "default"; empty: none
    std::optional<float> probability;
    std::optional<EncodedSize> encoded;  // of the text that the encoder scored
    std::optional<std::uint64_t>
        limit_sequence;  // the account's limit in force; nullopt: none or the policy's default
    std::optional<std::uint64_t> block_sequence;
    Combined combined;
    std::string_view source;  // "model", "rules", "default"
    const Provenance* provenance = nullptr;
};

Sealed make_assessment_record(const RecordInput& input, const SaltFn& salts);
Sealed make_outcome_record(std::string_view tenant, const Outcome& outcome, const SaltFn& salts);
Sealed make_account_record(std::string_view tenant, const AccountChange& change,
                           const Schema& schema, const SaltFn& salts);
struct PolicyActivation {
    std::string hash;
    std::string by;
    EventTime at;  // stream clock
    friend bool operator==(const PolicyActivation&, const PolicyActivation&) = default;
};
Sealed make_policy_record(std::string_view tenant, const PolicyActivation& activation);
// A score that came after its event had been answered by the rules.
struct LateScore {
    std::string event_id;
    float probability = 0.0F;
    std::string model;
    friend bool operator==(const LateScore&, const LateScore&) = default;
};
Sealed make_late_score_record(std::string_view tenant, const LateScore& late);
// An event of the past, recorded into the windows and not decided. `windows` gives the kept
// numbers; may be null.
Sealed make_import_record(std::string_view tenant, const PolicyPack& pack, const Event& event,
                          std::uint64_t arrival, const WindowValues* windows, const SaltFn& salts);

// What a record says, in terms of the pack it names.
struct RecordHead {
    RecordKind kind = RecordKind::kAssessment;
    std::string tenant;
    std::string policy;  // hash of the pack whose schema the event has; empty for outcomes
};
struct AssessmentRecord {
    Event event;
    std::uint64_t arrival = 0;
    bool has_windows = false;
    std::vector<Value> windows;      // by the pack's WindowId; strings by key alone
    std::vector<std::int64_t> kept;  // by the pack's keeps, micro-units, INT64_MIN unknown
    std::vector<std::string> hits, unknown, errors;  // rule ids
    Admission admission = Admission::kFresh;
    std::uint32_t cold_keys = 0;
    std::uint32_t overflow_keys = 0;
    std::string fault;
    std::optional<float> probability;
    std::optional<EncodedSize> encoded;
    std::optional<std::uint64_t> limit_sequence;
    std::optional<std::uint64_t> block_sequence;
    Verdict decision = Verdict::kApprove;
    std::string decided_by;
    std::string source;
    Provenance provenance;
};
struct Record {
    RecordHead head;
    std::optional<AssessmentRecord> assessment;  // kAssessment and kImport (event, arrival, kept)
    std::optional<Outcome> outcome;
    std::optional<AccountChange> account;
    std::optional<PolicyActivation> policy;
    std::optional<LateScore> late_score;
    std::vector<std::string>
        redacted;  // paths whose value was erased: ids keep their hash, the rest is absent
};

Result<RecordHead> parse_record_head(std::string_view text);
// `personal` is the sidecar, or empty once erased. `pack` is the one the head names; may be null
// for outcomes and policies, and for account records. kCorrupt when the text is no record, or a
// personal value does not fit its hash.
Result<Record> parse_record(std::string_view text, std::string_view personal,
                            const PolicyPack* pack);

// Salts as the sidecar holds them, for a re-computation; a path that it lacks gets zeros.
Result<SaltFn> sidecar_salts(std::string_view personal);

}  // namespace tollgate
