// combine: rules, limit, block and the model's vote become one decision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decision/account.h"
#include "decision/event.h"
#include "decision/policy.h"
#include "decision/rates.h"
#include "decision/rules.h"

namespace tollgate {

enum class DecidedBy : std::uint8_t { kDefault, kModel, kLimit, kRule, kBlock };

struct ModelVote {
    float probability = 0.0F;
    double score = 0.0;
    Band band = Band::kLow;
};
ModelVote vote_of(float probability, const BandRules& bands) noexcept;

// The account's limit in force at `now`, else the policy's default for that type of event, else
// nullopt.
std::optional<Money> limit_of(const AccountState* account, const Policy& policy, EventType type,
                              EventTime now) noexcept;

enum class LimitCheck : std::uint8_t {
    kNone,  // no limit
    kUnder,
    kOver,
    // no rate to the limit's currency at that time: counts as over, a cap must not vanish with a
    // rate
    kUnknown,
};
LimitCheck check_limit(const Event& event, const std::optional<Money>& limit,
                       const Rates& rates) noexcept;

struct CombineInput {
    const CompiledRules* rules = nullptr;
    const RuleResults* results = nullptr;
    const Policy* policy = nullptr;
    EventTime at;          // the event's own time: shadow_until reads it
    bool blocked = false;  // account->block_at(stream clock) != nullptr
    LimitCheck limit = LimitCheck::kNone;
    std::optional<ModelVote> vote;
    bool model_fault = false;  // a model is configured and did not vote; false without a model
};

struct Combined {
    Verdict decision = Verdict::kApprove;
    DecidedBy decided_by = DecidedBy::kDefault;
    std::uint16_t rule = 0;  // index into CompiledRules::rules, with kRule
    friend bool operator==(const Combined&, const Combined&) = default;
};

// Precedence, first that applies:
//   1 an account block: decline;
//   2 the most severe hard rule that fired;
//   3 with an approving rule among those that fired: the most severe of the rules (model and limit
//   have no say);
//   4 the most severe of rules, limit, model. On equal severity a rule is named before the limit,
//   the limit before the
//     model, the earlier rule before the later.
// A rule that erred votes its rule set's on_error (an on_error of approve has no allow-list power).
// Shadow rules never count. Under a model fault the model has no vote; when no rule fired,
// [fallback] default votes in its place. When nothing
// voted: approve by default. Never fails, allocates nothing.
Combined combine(const CombineInput& input) noexcept;

// The last step of the ladder, when even the rules are over capacity: a block declines, else
// [fallback] default.
Combined default_decision(const Policy& policy, bool blocked) noexcept;

// "model", "rule:R017", "limit", "block", "default".
std::string to_text(const Combined& combined, const CompiledRules& rules);

}  // namespace tollgate
