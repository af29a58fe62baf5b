// What a policy's windows are: definitions and the plan that the window store keeps rows for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decision/event.h"
#include "decision/schema.h"
#include "decision/value.h"

namespace tollgate {

struct Program;  // decision/program.h

enum class WindowId : std::uint16_t {};  // index into WindowPlan::windows
enum class KeySpecId : std::uint8_t {};  // index into WindowPlan::keys

enum class WindowFn : std::uint8_t {
    kCount,  // count()             number of events                                    kNumber
    kSum,    // sum(f)              f money or number; 0 when empty                     as f
    kAvg,    // avg(f)              exact ratio; unknown when empty                     as f
    kMin,
    kMax,        // min(f), max(f)      unknown when empty                                  as f
    kMedian,     // median(f)           of an even count: the mean of the middle two        as f
    kDistinct,   // distinct(f)         different known values of f                         kNumber
    kLast,       // last(f)             f of the newest event; unknown when empty           as f
    kRun,        // run(f)              newest events in a row that share the newest's f    kNumber
    kShare,      // share(fraud|legit)  events whose known label is that / all events       kNumber
    kFirstSeen,  // first_seen()        time of the oldest event in the window              kTime
    kLastSeen,   // last_seen()         time of the newest event in the window              kTime
};

// A value of an event kept with it, computed at its own time: `keep ratio = amount / acct_avg_30d`.
// Decimal, 6 digits.
struct KeepDef {
    std::string name;
    std::unique_ptr<Program> program;
    std::string text;  // its formula, names as written
    int line = 0;
};

// What sum(), distinct() ... take, and what a `where` reads of a stored event.
struct RowSlot {
    enum class Kind : std::uint8_t { kField, kKept } kind = Kind::kField;
    FieldId field{};         // kField
    std::uint16_t keep = 0;  // kKept: index into WindowPlan::keeps
    ValueKind type = ValueKind::kUnknown;
    std::uint16_t word = 0;  // first 64-bit word in the row; kString takes two words, the rest one
    std::string name;        // "amount@USD", "channel", "keep:ratio": identity across packs
};

// Row words 0..3: time (us), arrival number, hash64 of the event id, label word. Slots follow from
// word 4.
struct RowLayout {
    std::vector<RowSlot> slots;
    std::uint16_t words = 4;  // a row's size in 64-bit words
};

struct WindowDef {
    std::string name;
    WindowFn fn = WindowFn::kCount;
    std::optional<std::uint16_t> slot;  // argument: index into RowLayout::slots
    Label share_of = Label::kFraud;     // kShare
    KeySpecId key{};
    Micros span{0};            // (t - delay - span, t - delay]; 0: no span, `last` decides
    std::uint32_t last_n = 0;  // the newest n events (after `where`), 0: by span
    Micros delay{0};
    bool include_current = false;    // with a delay > 0 the current event is never inside
    bool feeds_keep = false;         // a kept number is computed from it
    std::unique_ptr<Program> where;  // on the stored event; null: all
    std::optional<Value>
        otherwise;  // `else` value when the result would be unknown for being empty
    ValueKind type = ValueKind::kNumber;
    Currency currency;  // of kMoney results
    std::string file;
    int line = 0;
    std::string text;  // the definition as written, for explanations
};

struct KeySpec {
    std::vector<FieldId> fields;  // 1..3, string-valued; an event that misses one has no such key
    std::string name;  // "account_id", "account_id,counterparty.id": identity across packs
};

// Windows in an order in which each uses only earlier ones (a cycle is a load error).
struct WindowPlan {
    RowLayout layout;
    std::vector<KeySpec> keys;  // at most 8
    std::vector<WindowDef> windows;
    std::vector<KeepDef> keeps;  // evaluated after the windows, before the event is recorded
    Micros retention{0};         // longest span + delay (90 days for last-n windows), at least 1 h
    std::string
        signature;  // keys, slots and retention: two packs with equal signatures share stored rows
};

}  // namespace tollgate
