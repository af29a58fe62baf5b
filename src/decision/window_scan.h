// One window's value from one key's rows: selection by time, order and `where`, then the function.
#pragma once

#include <cstdint>
#include <vector>

#include "decision/key_log.h"
#include "decision/program.h"
#include "decision/value.h"
#include "decision/window_def.h"

namespace tollgate {

// Working memory of a scan, one per thread: grows to the largest window seen, then allocates
// nothing.
struct ScanScratch {
    std::vector<std::uint32_t> picked;  // row indexes that pass `where`
    std::vector<std::int64_t> numbers;
    std::vector<StringKey> keys;
    std::vector<std::uint64_t> table;    // open addressing, for distinct()
    std::vector<std::uint64_t> current;  // the event's own row
    std::size_t work_left = SIZE_MAX;    // row visits that the event may still cost
    std::uint32_t cut = 0;               // windows left unknown because they would have cost more

    // For scans of up to `rows` rows: they allocate nothing then.
    void reserve(std::size_t rows);
};

// A row that `where` looks at costs as much as this many rows that are only added up (measured: 80
// ns against 8).
constexpr std::size_t kWhereCost = 8;

struct ScanInput {
    const KeyLog* log = nullptr;  // null: the key has no events
    const RowLayout* layout = nullptr;
    const EvalInput* event = nullptr;  // the reading event; windows hold what is computed so far
    std::int64_t at = 0;               // its time, us
    std::uint64_t arrival = 0;
    std::int64_t complete_from = INT64_MIN;  // events up to this time may be missing
    bool has_current = true;                 // false: windows leave it out even when it is included
};

// The window's value; `scratch.current` holds the event's own row. noexcept but for memory.
// Unknown, and counted in `scratch.cut`, when it needs more than `scratch.work_left` row visits: a
// hot key must not hold up the decisions behind it.
// Cost: O(log n) to find the rows; sum, avg, min and max of a hot key by its blocks; count, last
// and first/last seen none; the rest, and all with `where`, one pass over the rows in the span.
Value scan_window(const WindowDef& window, const ScanInput& input, ScanScratch& scratch);

}  // namespace tollgate
