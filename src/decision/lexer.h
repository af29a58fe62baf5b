// The words of a rules file: names, numbers, money, times, dates, durations, strings and signs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decision/compile_report.h"
#include "decision/number.h"

namespace tollgate {

enum class TokenKind : std::uint8_t {
    kName,      // amount, counterparty.id, R017, USD
    kNumber,    // 5, 2.5: `number`, digits as written in `text`
    kString,    // `text` without quotes, escapes resolved
    kDuration,  // 10m: `number` in microseconds
    kClock,     // 22:00, 22:00:30: `number` in microseconds since midnight
    kDate,      // 2027-03-01: `number` = days since 1970-01-01
    kInstant,   // 2026-11-30T08:15:30Z: `number` in UTC microseconds
    kSign,      // ( ) , .. @ + - * / = <> < <= > >= :
    kBad,       // already reported
    kEnd,
};

struct Token {
    TokenKind kind = TokenKind::kEnd;
    bool first_on_line = false;
    std::string text;
    Number number;
    SourceSpan span;
};

// The tokens of source `file`, the last one kEnd. Faults are reported, their tokens are kBad.
// Comments run from # to the end of the line. Bounds: 18 digits a number, 1,024 bytes a string, 128
// bytes a name.
std::vector<Token> tokenize(std::string_view text, std::uint32_t file, Reporter& report);

}  // namespace tollgate
