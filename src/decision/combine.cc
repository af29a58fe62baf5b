// The precedence of block, rules, limit and model.
#include "decision/combine.h"

#include "base/check.h"

namespace tollgate {
namespace {

struct Vote {
    Verdict verdict = Verdict::kApprove;
    std::uint16_t rule = 0;
};

// What the rules that count say together.
struct RuleVotes {
    std::optional<Vote> hard;
    std::optional<Vote> most_severe;  // of those that fired or erred
    bool fired = false;
    bool approving = false;
};

void keep_more_severe(std::optional<Vote>& best, Verdict verdict, std::uint16_t rule) noexcept {
    if (!best || verdict > best->verdict || (verdict == best->verdict && rule < best->rule)) {
        best = Vote{verdict, rule};
    }
}

RuleVotes rule_votes(const CombineInput& input) noexcept {
    RuleVotes votes;
    const CompiledRules& rules = *input.rules;
    const RuleResults& results = *input.results;
    for (std::size_t i = 0; i < results.hit_count; ++i) {
        const std::uint16_t index = results.hits[i];
        const RuleDef& rule = rules.rules[index];
        if (!counts(rule, input.at) || (rule.mode == RuleMode::kFallback && !input.model_fault)) {
            continue;
        }
        votes.fired = true;
        votes.approving = votes.approving || rule.action == Verdict::kApprove;
        keep_more_severe(votes.most_severe, rule.action, index);
        if (rule.hard) {
            keep_more_severe(votes.hard, rule.action, index);
        }
    }
    for (std::size_t i = 0; i < results.error_count; ++i) {
        const std::uint16_t index = results.errors[i];
        const RuleDef& rule = rules.rules[index];
        const std::optional<Verdict>& verdict = rules.rulesets[rule.ruleset].on_error;
        if (verdict && counts(rule, input.at)) {
            keep_more_severe(votes.most_severe, *verdict, index);
        }
    }
    return votes;
}

}  // namespace

ModelVote vote_of(float probability, const BandRules& bands) noexcept {
    const double score = score_of(probability, bands);
    return {probability, score, band_of(score, bands)};
}

std::optional<Money> limit_of(const AccountState* account, const Policy& policy, EventType type,
                              EventTime now) noexcept {
    if (account != nullptr) {
        if (const AccountLimit* limit = account->limit_at(now)) {
            return limit->amount;
        }
    }
    return policy.limits.by_type[static_cast<std::size_t>(type)];
}

LimitCheck check_limit(const Event& event, const std::optional<Money>& limit,
                       const Rates& rates) noexcept {
    if (!limit) {
        return LimitCheck::kNone;
    }
    const auto amount = rates.convert(event.amount, limit->currency, event.occurred_at);
    if (!amount) {
        return LimitCheck::kUnknown;
    }
    return *amount > limit->minor_units ? LimitCheck::kOver : LimitCheck::kUnder;
}

Combined combine(const CombineInput& input) noexcept {
    TG_CHECK(input.rules != nullptr && input.results != nullptr && input.policy != nullptr,
             "combine needs rules, results and a policy");
    if (input.blocked) {
        return {Verdict::kDecline, DecidedBy::kBlock, 0};
    }
    const RuleVotes votes = rule_votes(input);
    if (votes.hard) {
        return {votes.hard->verdict, DecidedBy::kRule, votes.hard->rule};
    }
    if (votes.approving) {
        return {votes.most_severe->verdict, DecidedBy::kRule, votes.most_severe->rule};
    }
    Combined best;
    bool voted = false;
    const auto consider = [&](Verdict verdict, DecidedBy by, std::uint16_t rule) {
        if (!voted || verdict > best.decision) {
            best = {verdict, by, rule};
        }
        voted = true;
    };
    if (votes.most_severe) {
        consider(votes.most_severe->verdict, DecidedBy::kRule, votes.most_severe->rule);
    }
    if (input.limit == LimitCheck::kOver || input.limit == LimitCheck::kUnknown) {
        consider(input.policy->limits.action, DecidedBy::kLimit, 0);
    }
    if (input.vote && !input.model_fault) {
        const bool high = input.vote->band == Band::kHigh;
        consider(high ? input.policy->bands.high_action : Verdict::kApprove, DecidedBy::kModel, 0);
    }
    if (input.model_fault && !votes.fired) {
        consider(input.policy->fallback, DecidedBy::kDefault, 0);
    }
    return best;
}

Combined default_decision(const Policy& policy, bool blocked) noexcept {
    return blocked ? Combined{Verdict::kDecline, DecidedBy::kBlock, 0}
                   : Combined{policy.fallback, DecidedBy::kDefault, 0};
}

std::string to_text(const Combined& combined, const CompiledRules& rules) {
    switch (combined.decided_by) {
        case DecidedBy::kModel:
            return "model";
        case DecidedBy::kLimit:
            return "limit";
        case DecidedBy::kBlock:
            return "block";
        case DecidedBy::kRule:
            return "rule:" + rules.rules.at(combined.rule).id;
        case DecidedBy::kDefault:
            break;
    }
    return "default";
}

}  // namespace tollgate
