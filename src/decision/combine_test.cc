// Tests of combining: every combination of block, rules, errors, limit, vote and fault against a
// second statement of it.
#include "decision/combine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tollgate {
namespace {

const EventTime kNow = from_micros(1'764'547'200'000'000);

struct Shape {
    const char* id;
    Verdict action;
    RuleMode mode;
    bool hard;
};
constexpr std::array kShapes{
    Shape{"A", Verdict::kApprove, RuleMode::kLive, false},
    Shape{"C", Verdict::kChallenge, RuleMode::kLive, false},
    Shape{"R", Verdict::kReview, RuleMode::kLive, false},
    Shape{"D", Verdict::kDecline, RuleMode::kLive, false},
    Shape{"HA", Verdict::kApprove, RuleMode::kLive, true},
    Shape{"HC", Verdict::kChallenge, RuleMode::kLive, true},
    Shape{"S", Verdict::kDecline, RuleMode::kShadow, true},
    Shape{"F", Verdict::kReview, RuleMode::kFallback, false},
};
constexpr std::size_t kErring = 1;  // rule C may err

CompiledRules make_rules(std::optional<Verdict> on_error) {
    CompiledRules rules;
    rules.rulesets.push_back({.name = "card", .on_error = on_error});
    for (const Shape& shape : kShapes) {
        RuleDef rule;
        rule.id = shape.id;
        rule.action = shape.action;
        rule.mode = shape.mode;
        rule.hard = shape.hard;
        rules.rules.push_back(std::move(rule));
    }
    return rules;
}

// The rule of precedence said another way: gather votes with ranks, take the best.
struct Vote {
    Verdict verdict;
    int rank;  // rule 0, limit 1, model 2, default 3
    std::uint16_t rule;
};

Combined expected(const CombineInput& in, const std::vector<std::size_t>& hits, bool erred) {
    if (in.blocked) {
        return {Verdict::kDecline, DecidedBy::kBlock, 0};
    }
    std::vector<Vote> hard;
    std::vector<Vote> votes;
    bool fired = false;
    bool allow = false;
    for (const std::size_t h : hits) {
        if (kShapes[h].mode == RuleMode::kShadow ||
            (kShapes[h].mode == RuleMode::kFallback && !in.model_fault)) {
            continue;
        }
        fired = true;
        allow |= kShapes[h].action == Verdict::kApprove;
        const Vote vote{kShapes[h].action, 0, static_cast<std::uint16_t>(h)};
        votes.push_back(vote);
        if (kShapes[h].hard) {
            hard.push_back(vote);
        }
    }
    const auto on_error = in.rules->rulesets[0].on_error;
    if (erred && on_error) {
        votes.push_back({*on_error, 0, kErring});
    }
    if (!hard.empty()) {
        votes = hard;
    } else if (!allow) {
        if (in.limit == LimitCheck::kOver || in.limit == LimitCheck::kUnknown) {
            votes.push_back({Verdict::kChallenge, 1, 0});
        }
        if (in.vote && !in.model_fault) {
            votes.push_back(
                {in.vote->band == Band::kHigh ? Verdict::kDecline : Verdict::kApprove, 2, 0});
        }
        if (in.model_fault && !fired) {
            votes.push_back({in.policy->fallback, 3, 0});
        }
    }
    if (votes.empty()) {
        return {};
    }
    const Vote best =
        *std::min_element(votes.begin(), votes.end(), [](const Vote& a, const Vote& b) {
            return std::tuple(-static_cast<int>(a.verdict), a.rank, a.rule) <
                   std::tuple(-static_cast<int>(b.verdict), b.rank, b.rule);
        });
    constexpr std::array kBy{DecidedBy::kRule, DecidedBy::kLimit, DecidedBy::kModel,
                             DecidedBy::kDefault};
    return {best.verdict, kBy[static_cast<std::size_t>(best.rank)], best.rule};
}

TEST(Combine, EveryCombinationFollowsThePrecedence) {
    Policy policy;
    std::size_t checked = 0;
    for (const auto on_error : {std::optional<Verdict>{}, std::optional(Verdict::kApprove),
                                std::optional(Verdict::kReview)}) {
        const CompiledRules rules = make_rules(on_error);
        for (unsigned bits = 0; bits < 4096U * 2; ++bits) {
            RuleResults results;
            std::vector<std::size_t> hits;
            const bool erred = (bits & 256U) != 0;
            for (std::size_t i = 0; i < kShapes.size(); ++i) {
                if ((bits >> i & 1U) != 0 && !(erred && i == kErring)) {
                    results.hits[results.hit_count++] = static_cast<std::uint16_t>(i);
                    hits.push_back(i);
                }
            }
            if (erred) {
                results.errors[results.error_count++] = kErring;
            }
            CombineInput in{.rules = &rules, .results = &results, .policy = &policy, .at = kNow};
            in.blocked = (bits & 512U) != 0;
            in.model_fault = (bits & 1024U) != 0;
            policy.fallback = (bits & 2048U) != 0 ? Verdict::kReview : Verdict::kApprove;
            const bool voted = (bits & 4096U) != 0;
            for (const LimitCheck limit :
                 {LimitCheck::kNone, LimitCheck::kUnder, LimitCheck::kOver, LimitCheck::kUnknown}) {
                for (const Band band : {Band::kLow, Band::kGrey, Band::kHigh}) {
                    in.limit = limit;
                    in.vote = voted ? std::optional(ModelVote{0.5F, 0.5, band}) : std::nullopt;
                    ASSERT_EQ(combine(in), expected(in, hits, erred)) << bits;
                    ++checked;
                }
            }
        }
    }
    EXPECT_EQ(checked, 3U * 8192U * 12U);
}

TEST(Combine, ShadowRuleCountsOnceItsTimeIsOver) {
    CompiledRules rules = make_rules(std::nullopt);
    rules.rules[6].shadow_until = kNow;
    RuleResults results;
    results.hits[results.hit_count++] = 6;
    const Policy policy;
    CombineInput in{
        .rules = &rules, .results = &results, .policy = &policy, .at = kNow - Micros(1)};
    EXPECT_EQ(combine(in).decision, Verdict::kApprove);
    in.at = kNow + Micros(1);
    EXPECT_EQ(combine(in).decision, Verdict::kDecline);
    EXPECT_EQ(to_text(combine(in), rules), "rule:S");
}

TEST(Combine, DefaultStepStillHonoursABlock) {
    Policy policy;
    policy.fallback = Verdict::kChallenge;
    EXPECT_EQ(default_decision(policy, false),
              (Combined{Verdict::kChallenge, DecidedBy::kDefault, 0}));
    EXPECT_EQ(default_decision(policy, true).decided_by, DecidedBy::kBlock);
}

TEST(Limit, AccountsOwnComesBeforeThePolicysDefaultAndNoRateCountsAsOver) {
    const Currency usd{840};
    const Currency eur{978};
    Policy policy;
    policy.limits.by_type[0] = Money{50'000, usd};
    EXPECT_EQ(limit_of(nullptr, policy, EventType::kPayment, kNow)->minor_units, 50'000);
    EXPECT_FALSE(limit_of(nullptr, policy, EventType::kTransfer, kNow));
    AccountState state;
    state.limit = AccountLimit{.amount = {30'000, usd}, .expires_at = kNow + Micros(1)};
    EXPECT_EQ(limit_of(&state, policy, EventType::kPayment, kNow)->minor_units, 30'000);
    EXPECT_EQ(limit_of(&state, policy, EventType::kPayment, kNow + Micros(1))->minor_units, 50'000);

    Event event;
    event.occurred_at = kNow;
    event.amount = {30'000, usd};
    Rates rates(usd);
    EXPECT_EQ(check_limit(event, Money{30'000, usd}, rates), LimitCheck::kUnder);
    EXPECT_EQ(check_limit(event, Money{29'999, usd}, rates), LimitCheck::kOver);
    EXPECT_EQ(check_limit(event, std::nullopt, rates), LimitCheck::kNone);
    event.amount = {1, eur};
    EXPECT_EQ(check_limit(event, Money{29'999, usd}, rates), LimitCheck::kUnknown);
}

TEST(Score, IsMonotoneAndExactAtTheKnots) {
    BandRules bands;
    bands.p_low = 0.02;
    bands.p_high = 0.31;
    EXPECT_EQ(score_of(0.0, bands), 0.0);
    EXPECT_EQ(score_of(0.02, bands), 0.3);
    EXPECT_EQ(score_of(0.31, bands), 0.7);
    EXPECT_EQ(score_of(1.0, bands), 1.0);
    double last = 0.0;
    for (int i = 0; i <= 100'000; ++i) {
        const double score = score_of(i / 100'000.0, bands);
        ASSERT_GE(score, last);
        last = score;
    }
    EXPECT_EQ(band_of(score_of(0.0199, bands), bands), Band::kLow);
    EXPECT_EQ(band_of(score_of(0.02, bands), bands), Band::kGrey);
    EXPECT_EQ(band_of(score_of(0.31, bands), bands), Band::kHigh);
    bands.p_low = 0.0;
    bands.p_high = 1.0;
    EXPECT_EQ(score_of(1.0, bands), 0.7);
    EXPECT_EQ(score_of(0.0, bands), 0.3);
}

}  // namespace
}  // namespace tollgate
