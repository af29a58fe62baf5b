// Selection and the twelve functions. Numbers in rows are scaled integers, so sums and comparisons
// are integer work and only the result becomes a Number.
#include "decision/window_scan.h"

#include <algorithm>

#include "decision/windows.h"

namespace tollgate {

namespace {

constexpr std::int64_t kUnknownWord = INT64_MIN;

// The rows a window sees, oldest first; the current event's row, when included, is the newest.
struct Selection {
    const KeyLog* log = nullptr;
    const std::uint64_t* current = nullptr;  // null: not included
    const std::uint32_t* picked = nullptr;   // null: the range [begin, end)
    std::size_t begin = 0;
    std::size_t end = 0;
    bool cut = false;  // it would have cost too much

    std::size_t size() const { return end - begin + (current != nullptr ? 1 : 0); }
    const std::uint64_t* at(std::size_t i) const {
        if (begin + i == end) {
            return current;
        }
        return log->row(picked != nullptr ? picked[begin + i] : begin + i);
    }
    template <class F>
    void each(F&& f) const {
        if (picked != nullptr) {
            for (std::size_t i = begin; i < end; ++i) {
                f(log->row(picked[i]));
            }
        } else {
            for (std::size_t i = begin; i < end; ++i) {
                f(log->row(i));
            }
        }
        if (current != nullptr) {
            f(current);
        }
    }
};

// Cuts a selection to its newest n rows.
void keep_newest(Selection& selection, std::size_t n) {
    const std::size_t total = selection.size();
    if (total > n) {
        selection.begin += total - n;
    }
}

bool passes(const WindowDef& window, const ScanInput& input, EvalInput& where,
            const std::uint64_t* row) {
    where.row = row;
    where.row_label = input.log == nullptr ? Label::kNone : input.log->label_at(row, input.at);
    return evaluate(*window.where, where).is_true();
}

Selection over_bound(Selection selection, ScanScratch& scratch) {
    selection.cut = true;
    ++scratch.cut;
    return selection;
}

// False when the pass over the rows would cost more than is left.
bool afford(const Selection& rows, ScanScratch& scratch) {
    if (rows.size() > scratch.work_left) {
        ++scratch.cut;
        return false;
    }
    scratch.work_left -= rows.size();
    return true;
}

Selection select(const WindowDef& window, const ScanInput& input, ScanScratch& scratch) {
    Selection out;
    out.log = input.log;
    const std::int64_t until = input.at - window.delay.count();
    if (input.log != nullptr) {
        out.end = window.delay.count() == 0 ? input.log->first_not_before(input.at, input.arrival)
                                            : input.log->first_after(until);
        out.begin = window.span.count() == 0
                        ? 0
                        : std::min(out.end, input.log->first_after(until - window.span.count()));
    }
    const bool include = window.include_current && window.delay.count() == 0 && input.has_current;
    if (window.where == nullptr) {
        out.current = include ? scratch.current.data() : nullptr;
        if (window.last_n > 0) {
            keep_newest(out, window.last_n);
        }
        return out;
    }
    EvalInput where = *input.event;
    where.layout = input.layout;
    out.current = include && passes(window, input, where, scratch.current.data())
                      ? scratch.current.data()
                      : nullptr;
    scratch.picked.clear();
    const std::size_t bound = scratch.work_left / kWhereCost;
    if (window.last_n > 0) {  // newest first, until there are enough
        const std::size_t wanted = window.last_n - (out.current != nullptr ? 1U : 0U);
        std::size_t i = out.end;
        for (; i > out.begin && scratch.picked.size() < wanted; --i) {
            if (out.end - i >= bound) {
                return over_bound(out, scratch);
            }
            if (passes(window, input, where, input.log->row(i - 1))) {
                scratch.picked.push_back(static_cast<std::uint32_t>(i - 1));
            }
        }
        std::reverse(scratch.picked.begin(), scratch.picked.end());
        scratch.work_left -= (out.end - i) * kWhereCost;
    } else {
        if (out.end - out.begin > bound) {
            return over_bound(out, scratch);
        }
        scratch.work_left -= (out.end - out.begin) * kWhereCost;
        for (std::size_t i = out.begin; i < out.end; ++i) {
            if (passes(window, input, where, input.log->row(i))) {
                scratch.picked.push_back(static_cast<std::uint32_t>(i));
            }
        }
    }
    out.picked = scratch.picked.data();
    out.begin = 0;
    out.end = scratch.picked.size();
    return out;
}

// A scaled integer of a slot as a Value: `count` divides it (averages), `half` halves it (medians).
Value number_value(const WindowDef& window, const RowSlot& slot, Int128 scaled,
                   std::int64_t divisor) {
    const std::int64_t scale = slot.type == ValueKind::kNumber ? 1'000'000 : 1;
    Value out;
    out.kind = window.type;
    out.number = reduced({scaled, scale * divisor});
    return out;
}

Value empty_value(const WindowDef& window) {
    return window.otherwise ? *window.otherwise : Value::unknown();
}

// By the key's blocks when `where` picked no rows of its own.
RowAggregate aggregate(const RowSlot& slot, const Selection& rows, bool extremes) {
    RowAggregate out;
    if (rows.picked == nullptr && rows.log != nullptr) {
        out = rows.log->aggregate(rows.begin, rows.end, slot.word, extremes);
        if (rows.current != nullptr) {
            out.add(static_cast<std::int64_t>(rows.current[slot.word]));
        }
        return out;
    }
    rows.each(
        [&](const std::uint64_t* row) { out.add(static_cast<std::int64_t>(row[slot.word])); });
    return out;
}

Value sum_or_average(const WindowDef& window, const RowSlot& slot, const Selection& rows) {
    const RowAggregate all = aggregate(slot, rows, false);
    if (window.fn == WindowFn::kSum) {
        return number_value(window, slot, all.sum, 1);
    }
    return all.known == 0 ? empty_value(window) : number_value(window, slot, all.sum, all.known);
}

Value smallest_or_largest(const WindowDef& window, const RowSlot& slot, const Selection& rows) {
    const RowAggregate all = aggregate(slot, rows, true);
    if (all.known == 0) {
        return empty_value(window);
    }
    return number_value(window, slot, window.fn == WindowFn::kMin ? all.min : all.max, 1);
}

Value median(const WindowDef& window, const RowSlot& slot, const Selection& rows,
             ScanScratch& scratch) {
    std::vector<std::int64_t>& numbers = scratch.numbers;
    numbers.clear();
    rows.each([&](const std::uint64_t* row) {
        const auto word = static_cast<std::int64_t>(row[slot.word]);
        if (word != kUnknownWord) {
            numbers.push_back(word);
        }
    });
    if (numbers.empty()) {
        return empty_value(window);
    }
    const std::size_t half = numbers.size() / 2;
    std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(half),
                     numbers.end());
    if (numbers.size() % 2 == 1) {
        return number_value(window, slot, numbers[half], 1);
    }
    const std::int64_t below =
        *std::max_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(half));
    return number_value(window, slot, static_cast<Int128>(below) + numbers[half], 2);
}

StringKey slot_key(const RowSlot& slot, const std::uint64_t* row) {
    return slot.type == ValueKind::kString ? StringKey{{row[slot.word], row[slot.word + 1]}}
                                           : StringKey{{row[slot.word], 0}};
}

bool slot_known(const RowSlot& slot, const std::uint64_t* row) {
    return !read_slot(slot, row).is_unknown();
}

std::size_t table_size(std::size_t rows) {
    std::size_t capacity = 16;
    while (capacity < rows * 2) {
        capacity *= 2;
    }
    return capacity;
}

Value distinct(const RowSlot& slot, const Selection& rows, ScanScratch& scratch) {
    const std::size_t capacity = table_size(rows.size());
    scratch.table.assign(capacity, 0);  // index + 1 into keys
    scratch.keys.clear();
    const std::size_t mask = capacity - 1;
    rows.each([&](const std::uint64_t* row) {
        if (!slot_known(slot, row)) {
            return;
        }
        const StringKey key = slot_key(slot, row);
        std::uint64_t hash =
            (key.words[0] ^ (key.words[1] * 0x9E3779B97F4A7C15ULL)) * 0xD6E8FEB86659FD93ULL;
        hash ^= hash >> 32U;
        std::size_t at = static_cast<std::size_t>(hash) & mask;
        while (scratch.table[at] != 0) {
            if (scratch.keys[scratch.table[at] - 1] == key) {
                return;
            }
            at = (at + 1) & mask;
        }
        scratch.keys.push_back(key);
        scratch.table[at] = scratch.keys.size();
    });
    return Value::of_int(static_cast<std::int64_t>(scratch.keys.size()));
}

Value last(const WindowDef& window, const RowSlot& slot, const Selection& rows) {
    const std::size_t count = rows.size();
    const Value value = count == 0 ? Value::unknown() : read_slot(slot, rows.at(count - 1));
    return value.is_unknown() ? empty_value(window) : value;
}

Value run_length(const RowSlot& slot, const Selection& rows) {
    const std::size_t count = rows.size();
    std::size_t length = 0;
    while (length < count) {
        const std::uint64_t* row = rows.at(count - 1 - length);
        if (!slot_known(slot, row) || slot_key(slot, row) != slot_key(slot, rows.at(count - 1))) {
            break;
        }
        ++length;
    }
    return Value::of_int(static_cast<std::int64_t>(length));
}

Value share(const WindowDef& window, const ScanInput& input, const Selection& rows) {
    const auto all = static_cast<std::int64_t>(rows.size());
    if (all == 0) {
        return empty_value(window);
    }
    std::int64_t labelled = 0;
    rows.each([&](const std::uint64_t* row) {
        const Label label =
            input.log == nullptr ? Label::kNone : input.log->label_at(row, input.at);
        labelled += label == window.share_of ? 1 : 0;
    });
    return Value::of_number(reduced({labelled, all}));
}

bool reaches_past_the_log(const WindowDef& window, const ScanInput& input) {
    return window.span.count() > 0 &&
           input.at - window.delay.count() - window.span.count() < input.complete_from;
}

}  // namespace

void ScanScratch::reserve(std::size_t rows) {
    picked.reserve(rows / kWhereCost);
    numbers.reserve(rows);
    keys.reserve(rows);
    table.reserve(table_size(rows));
}

Value scan_window(const WindowDef& window, const ScanInput& input, ScanScratch& scratch) {
    if (reaches_past_the_log(window, input)) {
        return Value::unknown();
    }
    const Selection rows = select(window, input, scratch);
    const bool too_few = window.last_n > 0 && rows.size() < window.last_n &&
                         input.complete_from != INT64_MIN;  // the others may have been dropped
    if (rows.cut || too_few) {
        return Value::unknown();
    }
    const RowSlot* slot = window.slot ? &input.layout->slots[*window.slot] : nullptr;
    const bool passes_over = window.fn == WindowFn::kMedian || window.fn == WindowFn::kDistinct ||
                             window.fn == WindowFn::kRun || window.fn == WindowFn::kShare;
    if (passes_over && !afford(rows, scratch)) {
        return Value::unknown();
    }
    switch (window.fn) {
        case WindowFn::kCount:
            return Value::of_int(static_cast<std::int64_t>(rows.size()));
        case WindowFn::kSum:
        case WindowFn::kAvg:
            return sum_or_average(window, *slot, rows);
        case WindowFn::kMin:
        case WindowFn::kMax:
            return smallest_or_largest(window, *slot, rows);
        case WindowFn::kMedian:
            return median(window, *slot, rows, scratch);
        case WindowFn::kDistinct:
            return distinct(*slot, rows, scratch);
        case WindowFn::kLast:
            return last(window, *slot, rows);
        case WindowFn::kRun:
            return run_length(*slot, rows);
        case WindowFn::kShare:
            return share(window, input, rows);
        case WindowFn::kFirstSeen:
        case WindowFn::kLastSeen: {
            if (rows.size() == 0) {
                return empty_value(window);
            }
            const std::size_t index = window.fn == WindowFn::kFirstSeen ? 0 : rows.size() - 1;
            return Value::of_time(from_micros(static_cast<std::int64_t>(rows.at(index)[kRowTime])));
        }
    }
    return Value::unknown();
}

}  // namespace tollgate
