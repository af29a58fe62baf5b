// JSON objects read member by member: every error begins with the path of the field it is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "decision/money.h"
#include "text/json.h"

namespace tollgate {

constexpr std::size_t kMaxIdBytes = 128;  // ids, in bytes of UTF-8

// kBadInput "<path> <what>".
Error bad_field(std::string_view path, const std::string& what);
// "<path> must be <due>, not <what it is>".
Error wrong_kind(std::string_view path, std::string_view due, const JsonValue& got);

// One object of the input: its members by name, null as absent, with the path for messages.
class JsonMembers {
  public:
    JsonMembers(JsonValue object, std::string_view path) : object_(object), path_(path) {}
    std::string path_of(std::string_view name) const;
    std::optional<JsonValue> find(std::string_view name) const;
    Result<JsonValue> need(std::string_view name) const;  // "<path> is required"
    // Every member's name is one of `known`; the error gives the nearest.
    Status only(std::span<const std::string_view> known, std::string_view of_what) const;

  private:
    JsonValue object_;
    std::string path_;
};
// `path` empty: the whole body.
Result<JsonMembers> json_members(const JsonValue& json, std::string_view path);

struct TextBounds {
    std::size_t least = 1;
    std::size_t most = kMaxIdBytes;
    bool controls = false;  // control characters are allowed
};
constexpr TextBounds kIdBounds{1, kMaxIdBytes, false};

Result<std::string> text_of(const JsonValue& json, std::string_view path, const TextBounds& bounds);
Result<std::string> required_text(const JsonMembers& members, std::string_view name,
                                  const TextBounds& bounds);
Result<std::optional<std::string>> optional_text(const JsonMembers& members, std::string_view name,
                                                 const TextBounds& bounds);
// The index of a required string member among `names`.
Result<std::size_t> required_choice(const JsonMembers& members, std::string_view name,
                                    std::span<const std::string_view> names);

Result<EventTime> time_of(const JsonValue& json, std::string_view path);
Result<EventTime> required_time(const JsonMembers& members, std::string_view name);
Result<std::optional<EventTime>> optional_time(const JsonMembers& members, std::string_view name);

// Money as a decimal string: a JSON number has been through a binary float.
Result<Money> money_of(const JsonValue& json, std::string_view path, Currency currency);
// {"value":"125.40","currency":"USD"}, zero or more.
Result<Money> required_amount(const JsonMembers& members, std::string_view name);

Result<std::uint64_t> unsigned_of(const JsonValue& json, std::string_view path);

}  // namespace tollgate
