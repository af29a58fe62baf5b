// JSON input: simdjson's DOM parser behind a bounded, exception-free door. The only file that may
// include simdjson.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace tollgate {

enum class JsonKind : std::uint8_t {
    kNull,
    kBool,
    kInteger,
    kUnsigned,
    kDouble,
    kString,
    kArray,
    kObject
};

// A value inside the document that made it. Valid until the JsonDocument parses again or dies. Two
// words, copied freely. An object's members come in source order. (A number's source text is not
// kept: amounts are strings.)
class JsonValue {
  public:
    JsonKind kind() const;
    bool is(JsonKind kind) const { return this->kind() == kind; }
    bool boolean() const;             // TG_CHECK on another kind, like the rest
    std::int64_t integer() const;     // kInteger
    std::uint64_t whole() const;      // kUnsigned: above INT64_MAX
    double number() const;            // any of the three number kinds
    std::string_view string() const;  // decoded, valid UTF-8
    std::size_t size() const;         // members or items

    // The member of that name, or nullopt. Linear in the members.
    std::optional<JsonValue> find(std::string_view key) const;

    // f(std::string_view key, JsonValue value) for each member in source order; stops early when f
    // returns false.
    template <class F>
    bool each_member(F&& f) const {
        for (Cursor at = begin(); !at.end(); at.next()) {
            if (!f(at.key(), at.value())) {
                return false;
            }
        }
        return true;
    }
    // f(JsonValue item) for each item of an array.
    template <class F>
    bool each_item(F&& f) const {
        for (Cursor at = begin(); !at.end(); at.next()) {
            if (!f(at.value())) {
                return false;
            }
        }
        return true;
    }

  private:
    friend class JsonDocument;
    class Cursor {
      public:
        bool end() const;
        void next();
        std::string_view key() const;  // objects only
        JsonValue value() const;

      private:
        friend class JsonValue;
        const void* document_ = nullptr;
        std::size_t at_ = 0;
        std::size_t end_ = 0;
        bool object_ = false;
    };
    Cursor begin() const;
    const void* document_ = nullptr;  // simdjson's internal document
    std::size_t index_ = 0;           // tape position
};

struct JsonLimits {
    std::size_t max_bytes = 1 << 20;
    std::size_t max_depth = 64;      // nesting; deeper is kBadInput before anything recurses
    std::size_t max_members = 4096;  // in one object (the duplicate check is bounded by it)
};

// Parser and document in one, reusable: after the first documents of a size nothing is allocated.
// Not thread-safe.
class JsonDocument {
  public:
    explicit JsonDocument(JsonLimits limits = {});
    ~JsonDocument();
    JsonDocument(JsonDocument&&) noexcept;
    JsonDocument& operator=(JsonDocument&&) noexcept;

    // RFC 8259, one document and nothing behind it. Refused with a named error (kBadInput,
    // kTooLarge): syntax, NaN and Infinity, numbers beyond double (1e999), invalid UTF-8, lone
    // surrogates, U+0000 escapes inside names, duplicate member names (named in the message,
    // compared after unescaping), depth, size.
    Result<JsonValue> parse(std::string_view text);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate
