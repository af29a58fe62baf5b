// Rates: a pack's dated exchange rates and exact conversion between currencies.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "decision/money.h"
#include "decision/number.h"

namespace tollgate {

// Immutable once loaded; any thread. Every rate is the price of one unit (one dollar, not one cent)
// in the base currency; two other currencies are converted through their exact ratio, rounded once.
class Rates {
  public:
    explicit Rates(Currency base = {}) : base_(base) {}

    // From `from` on (until the currency's next date) one unit of `currency` is worth `rate` > 0
    // units of the base. Dates may come in any order. kBadInput: the base itself, the same date
    // twice, a rate not above 0.
    Status add(Currency currency, EventTime from, const Number& rate);

    // Minor units of `to`, rounded half to even, at the rates in force at `at`. nullopt: no rate
    // then, or it does not fit.
    std::optional<std::int64_t> convert(const Money& amount, Currency to,
                                        EventTime at) const noexcept;
    Currency base() const { return base_; }
    std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        Currency currency;
        EventTime from;
        Number rate;
    };
    std::optional<Number> rate_at(Currency currency, EventTime at) const noexcept;
    Currency base_;
    std::vector<Entry> entries_;  // by currency, then date
};

}  // namespace tollgate
