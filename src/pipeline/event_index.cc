// Fingerprint tables: linear probing, at most 3/4 full, doubled when they fill.
#include "pipeline/event_index.h"

#include <algorithm>

#include "base/hash.h"

namespace tollgate::pipeline {

namespace {
constexpr std::size_t kTables = 1024;

std::uint64_t fingerprint(std::string_view event_id) {
    return std::max<std::uint64_t>(1, hash64(event_id, 0x7011));
}

// The high bits choose the table, the low bits the slot.
std::size_t table_of(std::uint64_t print) {
    return static_cast<std::size_t>(print >> 54);
}

bool insert(std::vector<std::uint64_t>& slots, std::uint64_t print) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = static_cast<std::size_t>(print) & mask;
    while (slots[at] != 0) {
        if (slots[at] == print) {
            return false;
        }
        at = (at + 1) & mask;
    }
    slots[at] = print;
    return true;
}
}  // namespace

EventIndex::EventIndex(std::size_t max_entries) : tables_(kTables), max_entries_(max_entries) {
    for (Table& table : tables_) {
        table.slots.resize(16);
    }
}

bool EventIndex::maybe_seen(std::string_view event_id) const noexcept {
    if (!complete_) {
        return true;
    }
    const std::uint64_t print = fingerprint(event_id);
    const std::vector<std::uint64_t>& slots = tables_[table_of(print)].slots;
    const std::size_t mask = slots.size() - 1;
    for (std::size_t at = static_cast<std::size_t>(print) & mask; slots[at] != 0;
         at = (at + 1) & mask) {
        if (slots[at] == print) {
            return true;
        }
    }
    return false;
}

void EventIndex::grow(Table& table) {
    std::vector<std::uint64_t> bigger(table.slots.size() * 2);
    for (const std::uint64_t print : table.slots) {
        if (print != 0) {
            (void)insert(bigger, print);
        }
    }
    table.slots = std::move(bigger);
}

void EventIndex::add(std::string_view event_id) {
    if (size_ >= max_entries_) {
        complete_ = false;
        return;
    }
    const std::uint64_t print = fingerprint(event_id);
    Table& table = tables_[table_of(print)];
    if ((table.used + 1) * 4 > table.slots.size() * 3) {
        grow(table);
    }
    if (insert(table.slots, print)) {
        ++table.used;
        ++size_;
    }
}

}  // namespace tollgate::pipeline
