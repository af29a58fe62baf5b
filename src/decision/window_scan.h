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
};

struct ScanInput {
    const KeyLog* log = nullptr;  // null: the key has no events
    const RowLayout* layout = nullptr;
    const EvalInput* event = nullptr;  // the reading event; windows hold what is computed so far
    std::int64_t at = 0;               // its time, us
    std::uint64_t arrival = 0;
};

// The window's value; `scratch.current` holds the event's own row. noexcept but for memory.
// Cost: O(log n) to find the rows, then one pass over those in the span (count() and first/last
// without `where`: none).
Value scan_window(const WindowDef& window, const ScanInput& input, ScanScratch& scratch);

}  // namespace tollgate
