// Money: int64 minor units with an ISO 4217 currency, and its decimal text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tollgate {

// ISO 4217 numeric code: 840 is USD.
struct Currency {
    std::uint16_t numeric = 0;
    friend bool operator==(const Currency&, const Currency&) = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check reads the 0 of a defaulted <=> as a pointer
    friend auto operator<=>(const Currency&, const Currency&) = default;
};

// From the three-letter code (upper case) of an active ISO 4217 currency, through ICU. kBadInput
// for an unknown code.
Result<Currency> currency_of(std::string_view alpha3);
std::string_view alpha3_of(Currency currency);  // "USD"; "???" for one not made by currency_of
int digits_of(Currency currency);               // USD 2, JPY 0, KWD 3

// Money is an integer count of the currency's smallest unit; it never passes through a float.
struct Money {
    std::int64_t minor_units = 0;
    Currency currency;
    friend bool operator==(const Money&, const Money&) = default;
};

// "125.40" -> 12540 USD. Optional '-', digits, and exactly at most the currency's fraction digits
// ("12" and "12.5" are
// 12.00 and 12.50 USD; "85.64999999999999" is refused; so are exponents, blanks, '+', leading zeros
// like "007", NaN).
// |value| <= 9,000,000,000,000,000 minor units. Errors name `field`, the text and what is allowed.
Result<Money> parse_money(std::string_view field, std::string_view value, Currency currency);

std::string to_text(const Money& money);  // "125.40", always the currency's digits
void append_text(std::string& out, const Money& money);

}  // namespace tollgate
