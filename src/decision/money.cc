// Currencies through ICU, with the ISO 4217 exponents where ICU's differ, and the decimal text form
// of money.
#include "decision/money.h"

#include <unicode/ucurr.h>
#include <unicode/uenum.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "decision/describe.h"

namespace tollgate {
namespace {

constexpr std::size_t kCodes = 1000;  // ISO 4217 numeric codes have three digits
constexpr std::int64_t kMaxMinor = 9'000'000'000'000'000;

struct CurrencyInfo {
    std::array<char, 3> alpha{};
    std::int8_t digits = -1;  // -1: no such currency
};

struct CurrencyTable {
    std::array<CurrencyInfo, kCodes> by_number;
};

// CLDR, and so ICU, gives these the digits that are used in daily life (0); ISO 4217 gives the ones
// that payment networks carry. Checked against ISO 4217:2015 with its amendments up to 176.
struct Exponent {
    std::string_view alpha;
    std::int8_t digits;
};
constexpr std::array kIsoExponents{Exponent{"AFN", 2}, Exponent{"ALL", 2}, Exponent{"IQD", 3},
                                   Exponent{"IRR", 2}, Exponent{"KPW", 2}, Exponent{"LAK", 2},
                                   Exponent{"LBP", 2}, Exponent{"MGA", 2}, Exponent{"MMK", 2},
                                   Exponent{"RSD", 2}, Exponent{"SOS", 2}, Exponent{"SYP", 2},
                                   Exponent{"YER", 2}};
// Withdrawn from ISO 4217 but still listed by ICU 72.
constexpr std::array<std::string_view, 4> kWithdrawn{"CUC", "HRK", "SLL", "VEF"};

std::int8_t digits_of_code(std::string_view alpha, const UChar* code) {
    for (const Exponent& e : kIsoExponents) {
        if (e.alpha == alpha) {
            return e.digits;
        }
    }
    UErrorCode status = U_ZERO_ERROR;
    const std::int32_t digits = ucurr_getDefaultFractionDigits(code, &status);
    TG_CHECK(U_SUCCESS(status) && digits >= 0 && digits <= 4, "ICU gives a currency no digits");
    return static_cast<std::int8_t>(digits);
}

CurrencyTable make_table() {
    CurrencyTable table;
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<UEnumeration, decltype(&uenum_close)> all(
        ucurr_openISOCurrencies(UCURR_COMMON | UCURR_NON_DEPRECATED, &status), &uenum_close);
    TG_CHECK(U_SUCCESS(status) && all != nullptr, "ICU's data holds no currencies");
    std::int32_t size = 0;
    for (const char* text = uenum_next(all.get(), &size, &status);
         text != nullptr && U_SUCCESS(status); text = uenum_next(all.get(), &size, &status)) {
        const std::string_view alpha(text, static_cast<std::size_t>(size));
        if (alpha.size() != 3 ||
            std::find(kWithdrawn.begin(), kWithdrawn.end(), alpha) != kWithdrawn.end()) {
            continue;
        }
        std::array<UChar, 4> code{};
        u_charsToUChars(text, code.data(), 3);
        const std::int32_t number = ucurr_getNumericCode(code.data());
        if (number <= 0 || static_cast<std::size_t>(number) >= kCodes) {
            continue;
        }
        CurrencyInfo& info = table.by_number[static_cast<std::size_t>(number)];
        std::copy(alpha.begin(), alpha.end(), info.alpha.begin());
        info.digits = digits_of_code(alpha, code.data());
    }
    return table;
}

// Made on first use, then never changed: ICU's look-ups take locks and allocate, the decide path
// must do neither. A function-local static rather than an object handed down, because it is a
// constant of the standard, equal in every process, and Money's text form is needed where no
// context is at hand.
const CurrencyTable& currencies() {
    static const CurrencyTable table = make_table();
    return table;
}

const CurrencyInfo* info_of(Currency currency) {
    if (currency.numeric >= kCodes) {
        return nullptr;
    }
    const CurrencyInfo& info = currencies().by_number[currency.numeric];
    return info.digits < 0 ? nullptr : &info;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

Error bad_amount(std::string_view field, std::string_view value, Currency currency) {
    const int digits = digits_of(currency);
    return {Fault::kBadInput, std::string(field) + " " + short_quote(value) +
                                  " is not an amount of " + std::string(alpha3_of(currency)) +
                                  ": digits with at most " + std::to_string(digits) +
                                  " decimals, such as " +
                                  (digits == 0   ? "\"125\""
                                   : digits == 3 ? "\"125.400\""
                                                 : "\"125.40\"")};
}

}  // namespace

Result<Currency> currency_of(std::string_view alpha3) {
    if (alpha3.size() == 3) {
        const CurrencyTable& table = currencies();
        for (std::size_t number = 0; number < kCodes; ++number) {
            const CurrencyInfo& info = table.by_number[number];
            if (info.digits >= 0 && std::string_view(info.alpha.data(), 3) == alpha3) {
                return Currency{static_cast<std::uint16_t>(number)};
            }
        }
    }
    return Error{Fault::kBadInput, "currency " + short_quote(alpha3) +
                                       " is not an active ISO 4217 code (three capital letters, "
                                       "such as \"USD\")"};
}

std::string_view alpha3_of(Currency currency) {
    const CurrencyInfo* info = info_of(currency);
    return info == nullptr ? "???" : std::string_view(info->alpha.data(), 3);
}

int digits_of(Currency currency) {
    const CurrencyInfo* info = info_of(currency);
    return info == nullptr ? 0 : info->digits;
}

Result<Money> parse_money(std::string_view field, std::string_view value, Currency currency) {
    TG_CHECK(info_of(currency) != nullptr, "a currency that currency_of did not make");
    const auto digits = static_cast<std::size_t>(digits_of(currency));
    const bool negative = value.starts_with('-');
    const std::string_view body = value.substr(negative ? 1 : 0);
    const std::size_t point = body.find('.');
    const std::string_view whole = body.substr(0, point);
    const std::string_view fraction =
        point == std::string_view::npos ? std::string_view{} : body.substr(point + 1);
    const bool shaped = !whole.empty() && std::all_of(whole.begin(), whole.end(), is_digit) &&
                        std::all_of(fraction.begin(), fraction.end(), is_digit) &&
                        (whole.size() == 1 || whole.front() != '0') &&
                        (point == std::string_view::npos || !fraction.empty()) &&
                        fraction.size() <= digits;
    if (!shaped) {
        return bad_amount(field, value, currency);
    }
    // 16 digits hold kMaxMinor; 18 cannot overflow below.
    if (whole.size() + digits > 18) {
        return Error{Fault::kBadInput, std::string(field) + " " + short_quote(value) +
                                           " is beyond 9000000000000000 minor units"};
    }
    std::int64_t minor = 0;
    for (const char c : whole) {
        minor = minor * 10 + (c - '0');
    }
    for (std::size_t i = 0; i < digits; ++i) {
        minor = minor * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
    }
    if (minor > kMaxMinor) {
        return Error{Fault::kBadInput, std::string(field) + " " + short_quote(value) +
                                           " is beyond 9000000000000000 minor units"};
    }
    return Money{negative ? -minor : minor, currency};
}

void append_text(std::string& out, const Money& money) {
    const auto digits = static_cast<std::size_t>(digits_of(money.currency));
    // Two's complement: 0 - INT64_MIN is right as an unsigned number.
    const auto bits = static_cast<std::uint64_t>(money.minor_units);
    const std::uint64_t magnitude = money.minor_units < 0 ? 0 - bits : bits;
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), magnitude).ptr;
    const auto size = static_cast<std::size_t>(end - text.data());
    if (money.minor_units < 0) {
        out += '-';
    }
    const std::size_t padded = std::max(size, digits + 1);
    for (std::size_t i = 0; i < padded; ++i) {
        if (digits > 0 && i == padded - digits) {
            out += '.';
        }
        out += i < padded - size ? '0' : text[i - (padded - size)];
    }
}

std::string to_text(const Money& money) {
    std::string out;
    append_text(out, money);
    return out;
}

}  // namespace tollgate
