// Lists of a pack: CSV in, a sorted array of keys out.
#include "decision/lists.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "decision/describe.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxEntries = 5'000'000;
constexpr std::size_t kMaxValue = 256;

struct Place {
    std::string_view file;
    int line = 1;
};

Error fault(const Place& place, std::size_t column, std::string why) {
    return {Fault::kBadInput, std::string(place.file) + ":" + std::to_string(place.line) +
                                  ": column " + std::to_string(column + 1) + ": " + std::move(why)};
}

// The text of a quoted cell that begins at `at`, which is left after its closing quote; nullopt
// when there is none.
std::optional<std::string> quoted_cell(std::string_view line, std::size_t& at) {
    std::string cell;
    for (++at; at < line.size(); ++at) {
        if (line[at] == '"') {
            ++at;
            if (at >= line.size() || line[at] != '"') {
                return cell;
            }
        }
        cell += line[at];
    }
    return std::nullopt;
}

// Cells of one line; a quoted cell may hold commas and doubled quotes.
Result<std::vector<std::string>> cells_of(std::string_view line, const Place& place) {
    std::vector<std::string> cells;
    for (std::size_t at = 0;; ++at) {
        if (at < line.size() && line[at] == '"') {
            auto cell = quoted_cell(line, at);
            if (!cell) {
                return fault(place, cells.size(), "a quoted value without its closing quote");
            }
            cells.push_back(std::move(*cell));
        } else {
            const std::size_t end = std::min(line.find(',', at), line.size());
            cells.emplace_back(line.substr(at, end - at));
            at = end;
        }
        if (at >= line.size()) {
            return cells;
        }
        if (line[at] != ',') {
            return fault(place, cells.size() - 1, "text after a quoted value");
        }
    }
}

// RFC 3339, or a day: the entry holds until that day begins in UTC.
Result<std::int64_t> expiry_of(std::string_view text) {
    if (text.empty()) {
        return INT64_MAX;
    }
    const std::string whole =
        text.size() == 10 ? std::string(text) + "T00:00:00Z" : std::string(text);
    TG_TRY(const EventTime time, parse_rfc3339("expires", whole));
    return to_micros(time);
}

struct Columns {
    std::size_t value = 0;
    std::optional<std::size_t> expires;
    std::size_t count = 1;
};

Result<Columns> columns_of(const std::vector<std::string>& head, std::string_view key_field,
                           const Place& place) {
    Columns columns;
    columns.count = head.size();
    std::optional<std::size_t> value;
    for (std::size_t i = 0; i < head.size(); ++i) {
        if (head[i] == "value" || head[i] == key_field) {
            value = i;
        } else if (head[i] == "expires") {
            columns.expires = i;
        }
    }
    if (!value && head.size() == (columns.expires ? 2U : 1U)) {
        value = columns.expires == std::optional<std::size_t>{0} ? 1 : 0;
    }
    if (!value) {
        return fault(place, 0, "no column \"value\" in the header line");
    }
    columns.value = *value;
    return columns;
}

Status add_entry(NamedList& list, const std::vector<std::string>& cells, const Columns& columns,
                 const Place& place) {
    if (cells.size() != columns.count) {
        return fault(place, cells.size(),
                     std::to_string(cells.size()) + " values; the header has " +
                         std::to_string(columns.count));
    }
    const std::string& value = cells[columns.value];
    if (value.empty() || value.size() > kMaxValue) {
        return fault(place, columns.value,
                     "a value of " + std::to_string(value.size()) + " bytes; 1 to 256 are allowed");
    }
    NamedList::Entry entry{make_string_key(value), INT64_MAX};
    if (columns.expires) {
        const auto expires = expiry_of(cells[*columns.expires]);
        if (!expires) {
            return fault(place, *columns.expires, expires.error().message);
        }
        entry.expires_us = *expires;
    }
    if (list.entries.size() >= kMaxEntries) {
        return Error{Fault::kTooLarge, std::string(place.file) + ": more than 5,000,000 entries"};
    }
    list.entries.push_back(entry);
    return ok();
}

}  // namespace

bool NamedList::contains(const StringKey& key, EventTime now) const noexcept {
    const auto found =
        std::lower_bound(entries.begin(), entries.end(), key,
                         [](const Entry& e, const StringKey& k) { return e.key < k; });
    return found != entries.end() && found->key == key && to_micros(now) < found->expires_us;
}

Status ListSet::add_csv(std::string_view name, std::string_view key_field, std::string_view file,
                        std::string_view text) {
    if (find(name)) {
        return Error{Fault::kConflict, "the list " + short_quote(name) + " is declared twice"};
    }
    NamedList list;
    list.name = name;
    list.key_field = key_field;
    Place place{file, 0};
    std::optional<Columns> columns;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++place.line;
        if (!line.empty() && line.back() == '\r') {
            line.remove_suffix(1);
        }
        if (line.empty()) {
            continue;
        }
        TG_TRY(const std::vector<std::string> cells, cells_of(line, place));
        if (!columns) {
            TG_TRY(columns, columns_of(cells, key_field, place));
            continue;
        }
        TG_TRY([[maybe_unused]] const auto done, add_entry(list, cells, *columns, place));
    }
    if (!columns) {
        return Error{Fault::kBadInput, std::string(file) + ":1: no header line"};
    }
    // Of two lines with one value the longer-lived counts.
    std::sort(list.entries.begin(), list.entries.end(), [](const auto& a, const auto& b) {
        return a.key != b.key ? a.key < b.key : a.expires_us > b.expires_us;
    });
    list.entries.erase(std::unique(list.entries.begin(), list.entries.end(),
                                   [](const auto& a, const auto& b) { return a.key == b.key; }),
                       list.entries.end());
    list.entries.shrink_to_fit();
    lists_.push_back(std::move(list));
    return ok();
}

std::optional<std::size_t> ListSet::find(std::string_view name) const {
    for (std::size_t i = 0; i < lists_.size(); ++i) {
        if (lists_[i].name == name) {
            return i;
        }
    }
    return std::nullopt;
}

std::vector<std::string> ListSet::names() const {
    std::vector<std::string> out;
    out.reserve(lists_.size());
    for (const NamedList& list : lists_) {
        out.push_back(list.name);
    }
    return out;
}

}  // namespace tollgate
