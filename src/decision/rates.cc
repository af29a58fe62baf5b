// Dated rates by binary search; conversion in exact rationals with one rounding at the end.
#include "decision/rates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>

#include "base/check.h"

namespace tollgate {
namespace {

constexpr std::array<std::int64_t, 5> kPowers{1, 10, 100, 1'000, 10'000};  // ISO 4217: at most 4

std::int64_t unit_of(Currency currency) {
    return kPowers[static_cast<std::size_t>(digits_of(currency))];
}

}  // namespace

Status Rates::add(Currency currency, EventTime from, const Number& rate) {
    const std::string name(alpha3_of(currency));
    if (currency == base_) {
        return Error{Fault::kBadInput, "rate of " + name + " in itself: it is the pack's currency"};
    }
    if (rate.num <= 0 || rate.den <= 0) {
        return Error{Fault::kBadInput,
                     "rate of " + name + " " + to_text(rate) + " must be above 0"};
    }
    const auto key = [](const Entry& e) { return std::tie(e.currency, e.from); };
    Entry entry{currency, from, rate};
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), entry,
                         [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
    if (at != entries_.end() && key(*at) == key(entry)) {
        return Error{Fault::kBadInput, "rate of " + name + " is given twice for the same date"};
    }
    entries_.insert(at, entry);
    return ok();
}

std::optional<Number> Rates::rate_at(Currency currency, EventTime at) const noexcept {
    if (currency == base_) {
        return Number{1, 1};
    }
    const auto next = std::upper_bound(
        entries_.begin(), entries_.end(), std::tie(currency, at),
        [](const auto& wanted, const Entry& e) { return wanted < std::tie(e.currency, e.from); });
    if (next == entries_.begin() || std::prev(next)->currency != currency) {
        return std::nullopt;
    }
    return std::prev(next)->rate;
}

std::optional<std::int64_t> Rates::convert(const Money& amount, Currency to,
                                           EventTime at) const noexcept {
    if (amount.currency == to) {
        return amount.minor_units;
    }
    const auto from_rate = rate_at(amount.currency, at);
    const auto to_rate = rate_at(to, at);
    if (!from_rate || !to_rate) {
        return std::nullopt;
    }
    const auto ratio = divide(*from_rate, *to_rate);
    const auto minor = Number{amount.minor_units, unit_of(amount.currency)};
    const auto worth = ratio ? multiply(minor, *ratio) : std::nullopt;
    const auto scaled = worth ? multiply(*worth, Number{unit_of(to), 1}) : std::nullopt;
    return scaled ? to_scaled(*scaled, 0) : std::nullopt;
}

}  // namespace tollgate
