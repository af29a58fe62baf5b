// The effective policy as key and value, one line each: shown at start-up and compared by `policy
// diff`.
#include <array>
#include <charconv>

#include "decision/event_json.h"
#include "decision/policy.h"

namespace tollgate {
namespace {

std::string real(double v) {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), v).ptr};
}
std::string seconds(Micros span) {
    return std::to_string(span.count() / 1'000'000) + "s";
}

using Keys = std::map<std::string, std::string>;

void add_numbers(const Policy& p, Keys& keys) {
    keys["timeouts.model_ms"] = std::to_string(p.timeouts.model.count());
    keys["timeouts.decide_ms"] = std::to_string(p.timeouts.decide.count());
    keys["timeouts.deep_ms"] = std::to_string(p.timeouts.deep.count());
    keys["timeouts.store_confirm_ms"] = std::to_string(p.timeouts.store_confirm.count());
    keys["timeouts.cold_key_ms"] = std::to_string(p.timeouts.cold_key.count());
    keys["bands.p_low"] = real(p.bands.p_low);
    keys["bands.p_high"] = real(p.bands.p_high);
    keys["bands.low"] = real(p.bands.low);
    keys["bands.high"] = real(p.bands.high);
    keys["bands.grey_share"] = real(p.bands.grey_share);
    keys["bands.decline_precision"] = real(p.bands.decline_precision);
    keys["model.max_ece"] = real(p.model.max_ece);
    keys["model.min_ap"] = real(p.model.min_ap);
    keys["cost.max_rules"] = std::to_string(p.cost.max_rules);
    keys["cost.max_windows"] = std::to_string(p.cost.max_windows);
    keys["cost.max_rules_us"] = std::to_string(p.cost.max_cost_ns / 1'000);
    keys["review.hold_hours"] = std::to_string(p.review.hold.count());
}

void add_tables(const Policy& p, Keys& keys) {
    for (std::size_t i = 0; i < p.limits.by_type.size(); ++i) {
        if (p.limits.by_type[i]) {
            keys["limits." + std::string(to_text(static_cast<EventType>(i)))] =
                to_text(*p.limits.by_type[i]);
        }
    }
    for (const AttributeDef& attribute : p.schema.attributes) {
        keys["attributes." + attribute.name] =
            std::string(to_text(attribute.type)) + (attribute.personal ? " personal" : "");
    }
    for (const std::string& field : p.schema.personal_fields) {
        keys["privacy.personal." + field] = "yes";
    }
    for (const RateEntry& rate : p.rates) {
        keys["rates." + std::string(alpha3_of(rate.currency)) + "." + rate.date] =
            to_text(rate.rate);
    }
}

}  // namespace

std::map<std::string, std::string> policy_keys(const Policy& p) {
    Keys keys;
    keys["pack.name"] = p.name;
    keys["pack.currency"] = alpha3_of(p.currency);
    keys["pack.time_zone"] = p.time_zone;
    keys["bands.high_action"] = to_text(p.bands.high_action);
    keys["limits.action"] = to_text(p.limits.action);
    keys["fallback.default"] = to_text(p.fallback);
    keys["store.durability"] = p.store.durability == StoreDurability::kOs ? "os" : "fsync";
    keys["store.on_store_lost"] =
        p.store.on_store_lost == StoreLost::kDecide ? "decide" : "decline";
    keys["time.stream_clock"] = p.clock.mode == ClockMode::kWall ? "wall" : "event";
    keys["time.max_ahead"] = seconds(p.clock.max_ahead);
    keys["time.late_after"] = seconds(p.clock.late_after);
    keys["time.lateness"] = seconds(p.clock.lateness);
    keys["review.on_expiry"] = to_text(p.review.on_expiry);
    add_numbers(p, keys);
    add_tables(p, keys);
    return keys;
}

}  // namespace tollgate
