// Ranges and relations of a policy, and the map from probability to score.
#include "decision/policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "decision/describe.h"
#include "decision/event_json.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 7> kPersonal{"account_id",        "counterparty.country",
                                                    "counterparty.id",   "device.id",
                                                    "device.ip_country", "memo",
                                                    "parent_id"};
constexpr std::size_t kMaxAttributes = 64;
constexpr std::size_t kMaxRates = 10'000;

std::string short_number(double v) {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), v).ptr};
}

// Remembers the first thing found wrong.
class Check {
  public:
    template <class T>
    void range(std::string_view key, T value, T least, T most) {
        // Written so that NaN is outside of everything.
        if (!(value >= least && value <= most)) {
            fail(key, text(value) + " is outside " + text(least) + " to " + text(most));
        }
    }
    void fail(std::string_view key, const std::string& what) {
        if (status_) {
            status_ = Error{Fault::kBadInput, std::string(key) + " " + what};
        }
    }
    Status take() { return std::move(status_); }

  private:
    static std::string text(double v) { return short_number(v); }
    static std::string text(std::int64_t v) { return std::to_string(v); }
    Status status_ = ok();
};

bool is_attribute_name(std::string_view name) {
    const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto allowed = [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && name.size() <= 64 && lower(name.front()) &&
           std::all_of(name.begin(), name.end(), allowed);
}

void check_times(const Policy& policy, Check& check) {
    using I = std::int64_t;
    const TimeoutRules& t = policy.timeouts;
    check.range<I>("timeouts.model_ms", t.model.count(), 1, 1'000);
    check.range<I>("timeouts.decide_ms", t.decide.count(), 1, 1'000);
    check.range<I>("timeouts.deep_ms", t.deep.count(), 1, 60'000);
    check.range<I>("timeouts.store_confirm_ms", t.store_confirm.count(), 1, 1'000);
    check.range<I>("timeouts.cold_key_ms", t.cold_key.count(), 1, 1'000);
    if (t.model > t.decide) {
        check.fail("timeouts.model_ms", std::to_string(t.model.count()) +
                                            " is above timeouts.decide_ms " +
                                            std::to_string(t.decide.count()));
    }
    constexpr I kDaySeconds = 86'400;
    const auto seconds = [](Micros span) { return I{span.count() / 1'000'000}; };
    check.range<I>("time.max_ahead (seconds)", seconds(policy.clock.max_ahead), 0, kDaySeconds);
    check.range<I>("time.late_after (seconds)", seconds(policy.clock.late_after), 0,
                   30 * kDaySeconds);
    check.range<I>("time.lateness (seconds)", seconds(policy.clock.lateness), 1, 30 * kDaySeconds);
    if (policy.clock.late_after > policy.clock.lateness) {
        check.fail("time.late_after", "is longer than time.lateness");
    }
    check.range("model.max_ece", policy.model.max_ece, 0.0, 1.0);
    check.range("model.min_ap", policy.model.min_ap, 0.0, 1.0);
    check.range<I>("review.hold_hours", policy.review.hold.count(), 1, I{24} * 60);
}

void check_bands(const BandRules& bands, Check& check) {
    check.range("bands.p_low", bands.p_low, 0.0, 1.0);
    check.range("bands.p_high", bands.p_high, 0.0, 1.0);
    check.range("bands.low", bands.low, 0.0, 1.0);
    check.range("bands.high", bands.high, 0.0, 1.0);
    check.range("bands.grey_share", bands.grey_share, 0.0, 0.5);
    check.range("bands.decline_precision", bands.decline_precision, 0.0, 1.0);
    if (!(bands.p_low < bands.p_high)) {
        check.fail("bands.p_low", short_number(bands.p_low) + " must be below bands.p_high " +
                                      short_number(bands.p_high));
    }
    if (!(bands.low < bands.high)) {
        check.fail("bands.low", short_number(bands.low) + " must be below bands.high " +
                                    short_number(bands.high));
    }
}

void check_schema(const Schema& schema, Check& check) {
    if (schema.attributes.size() > kMaxAttributes) {
        check.fail("attributes", "has " + std::to_string(schema.attributes.size()) +
                                     " entries, allowed are 0 to 64");
    }
    for (const AttributeDef& attribute : schema.attributes) {
        if (!is_attribute_name(attribute.name)) {
            check.fail("attributes", short_quote(attribute.name) +
                                         " is not a name: a lower-case letter, then at most 63 "
                                         "letters, digits or '_'");
        }
    }
    for (const std::string& field : schema.personal_fields) {
        if (std::find(kPersonal.begin(), kPersonal.end(), field) == kPersonal.end()) {
            check.fail("privacy.personal",
                       short_quote(field) + " cannot be marked personal" +
                           did_you_mean(field, std::span<const std::string_view>(kPersonal)));
        }
    }
}

}  // namespace

Status validate(const Policy& policy) {
    using I = std::int64_t;
    Check check;
    check.range<I>("pack.name (bytes)", static_cast<I>(policy.name.size()), 1, 64);
    check_times(policy, check);
    check_bands(policy.bands, check);
    check_schema(policy.schema, check);
    check.range<I>("rates (entries)", static_cast<I>(policy.rates.size()), 0, kMaxRates);
    for (std::size_t i = 0; i < policy.limits.by_type.size(); ++i) {
        const auto& limit = policy.limits.by_type[i];
        if (limit && limit->minor_units < 0) {
            check.fail("limits." + std::string(to_text(static_cast<EventType>(i))),
                       to_text(*limit) + " must not be negative");
        }
    }
    if (policy.limits.action == Verdict::kApprove) {
        check.fail("limits.action",
                   "\"approve\" would make limits meaningless; allowed are "
                   "challenge, review, decline");
    }
    if (policy.review.on_expiry != Verdict::kApprove &&
        policy.review.on_expiry != Verdict::kDecline) {
        check.fail("review.on_expiry", short_quote(to_text(policy.review.on_expiry)) +
                                           " is not one of approve, decline");
    }
    check.range<I>("cost.max_rules", static_cast<I>(policy.cost.max_rules), 1, 500);
    check.range<I>("cost.max_windows", static_cast<I>(policy.cost.max_windows), 1, 200);
    check.range<I>("cost.max_rules_us", static_cast<I>(policy.cost.max_cost_ns / 1'000), 10,
                   20'000);
    return check.take();
}

std::vector<std::string> personal_candidates() {
    return {kPersonal.begin(), kPersonal.end()};
}

std::string_view to_text(Band band) {
    return band == Band::kLow ? "low" : band == Band::kGrey ? "grey" : "high";
}

double score_of(double probability, const BandRules& bands) noexcept {
    const double p = std::isnan(probability) ? 1.0 : std::clamp(probability, 0.0, 1.0);
    // The knots themselves are exact, whatever the division rounds to.
    if (p == bands.p_low) {
        return bands.low;
    }
    if (p == bands.p_high) {
        return bands.high;
    }
    if (p < bands.p_low) {
        return std::min(p * bands.low / bands.p_low, bands.low);
    }
    if (p < bands.p_high) {
        const double share = (p - bands.p_low) / (bands.p_high - bands.p_low);
        return std::clamp(bands.low + share * (bands.high - bands.low), bands.low, bands.high);
    }
    const double share = (p - bands.p_high) / (1.0 - bands.p_high);
    return std::clamp(bands.high + share * (1.0 - bands.high), bands.high, 1.0);
}

Band band_of(double score, const BandRules& bands) noexcept {
    if (score >= bands.high) {
        return Band::kHigh;
    }
    return score >= bands.low ? Band::kGrey : Band::kLow;
}

}  // namespace tollgate
