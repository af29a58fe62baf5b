// Policy: what policy.toml of a pack says. Plain data with defaults in place, one validate(), read
// by policy_toml.cc.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "decision/money.h"
#include "decision/rates.h"
#include "decision/rules.h"
#include "decision/schema.h"
#include "decision/stream_clock.h"

namespace tollgate {

struct TimeoutRules {
    std::chrono::milliseconds model{15};
    std::chrono::milliseconds decide{50};
    std::chrono::milliseconds deep{500};
    std::chrono::milliseconds store_confirm{5};
    std::chrono::milliseconds cold_key{2};
};

// score is a monotone piecewise-linear map of the probability: p_low -> low, p_high -> high, 0 ->
// 0, 1 -> 1.
struct BandRules {
    double p_low = 0.3;
    double p_high = 0.7;
    double low = 0.3;   // score >= low is grey
    double high = 0.7;  // score >= high is high
    double grey_share = 0.02;
    double decline_precision = 0.9;
    Verdict high_action = Verdict::kDecline;  // the model's vote in band high
};

// What `tollgate model activate` asks of a model.
struct ModelRules {
    double max_ece = 0.002;  // expected calibration error, 15 bins of equal mass
    double min_ap = 0.0;     // average precision; 0 asks nothing
};

struct LimitRules {
    std::array<std::optional<Money>, 3> by_type;  // default per EventType, in the pack's currency
    Verdict action = Verdict::kChallenge;         // over the limit
};

enum class StoreDurability : std::uint8_t { kOs, kFsync };
enum class StoreLost : std::uint8_t { kDecide, kDecline };

struct StoreRules {
    StoreDurability durability = StoreDurability::kOs;
    StoreLost on_store_lost = StoreLost::kDecide;
};

struct ReviewRules {
    std::chrono::hours hold{72};            // a payment held for review waits that long
    Verdict on_expiry = Verdict::kDecline;  // what happens then: approve or decline
};

struct RateEntry {
    Currency currency;
    std::string date;  // YYYY-MM-DD, from local midnight in the pack's time zone
    Number rate;       // pack currency units per unit
};

struct Policy {
    std::string name;
    Currency currency;
    std::string time_zone = "UTC";
    TimeoutRules timeouts;
    BandRules bands;
    ModelRules model;
    LimitRules limits;
    Verdict fallback = Verdict::kApprove;  // [fallback] default
    StoreRules store;
    ClockRules clock;
    Schema schema;  // [attributes] and [privacy], attributes by name
    std::vector<RateEntry> rates;
    CompileLimits cost;
    ReviewRules review;
};

// Reads policy.toml. Errors (kBadInput) name file, line and key, the value and the allowed range;
// unknown keys are refused with the nearest known one.
Result<Policy> parse_policy(std::string_view toml);
// Ranges and relations; called by parse_policy.
Status validate(const Policy& policy);

// The effective policy, defaults filled in: "timeouts.model_ms" -> "15".
std::map<std::string, std::string> policy_keys(const Policy& policy);

// What can be marked personal in [privacy] besides attributes.
std::vector<std::string> personal_candidates();

enum class Band : std::uint8_t { kLow, kGrey, kHigh };
std::string_view to_text(Band band);  // "low", "grey", "high"
double score_of(double probability, const BandRules& bands) noexcept;
Band band_of(double score, const BandRules& bands) noexcept;

}  // namespace tollgate
