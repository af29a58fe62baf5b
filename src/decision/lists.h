// Lists of a policy pack (@vip, @bad_devices): named sets of keys with optional expiry, read from
// CSV.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "decision/value.h"

namespace tollgate {

// A set of strings; an entry past its expiry no longer matches.
struct NamedList {
    struct Entry {
        StringKey key;
        std::int64_t expires_us = INT64_MAX;
    };
    std::string name;
    std::string key_field;       // documentation: what it holds, e.g. "account_id"
    std::vector<Entry> entries;  // sorted by key
    bool contains(const StringKey& key, EventTime now) const noexcept;  // log n, no allocation
};

// All lists of a pack; index = order added.
class ListSet {
  public:
    // CSV with a header line; column `value` (or the only column), optional `expires` (RFC 3339 or
    // YYYY-MM-DD).
    // Bounds: 5,000,000 entries, 256 bytes a value. Errors name file, line and column.
    Status add_csv(std::string_view name, std::string_view key_field, std::string_view file,
                   std::string_view text);
    std::optional<std::size_t> find(std::string_view name) const;
    const NamedList& at(std::size_t index) const { return lists_[index]; }
    std::size_t size() const { return lists_.size(); }
    std::vector<std::string> names() const;
    // Files of a pack's lists/ folder by path: a `list` declaration in a rules file names one of
    // them.
    std::map<std::string, std::string> files;

  private:
    std::vector<NamedList> lists_;
};

}  // namespace tollgate
