// JsonWriter: appends canonical JSON to a string the caller owns, for records that are hashed and
// for answers on the hot path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tollgate {

// Canonical means: no white space, members in the order written, the shortest escapes of RFC 8259
// (\" \\ \b \f \n \r \t, \u00xx in lower case for the other control characters, nothing else),
// integers in decimal, doubles in the shortest form that reads back equal (-0 as 0). One sequence
// of calls has one text. Misuse (a value where a key is due, an unclosed end) stops the process.
// Allocates only when `out` has no room; nesting at most 64.
class JsonWriter {
  public:
    static constexpr std::size_t kMaxDepth = 64;

    explicit JsonWriter(std::string& out) : out_(out) {}

    void begin_object();
    void end_object();
    void begin_array();
    void end_array();

    void key(std::string_view name);  // in an object, before each value
    void string(std::string_view v);  // bytes that are no UTF-8 become U+FFFD, one each
    void integer(std::int64_t v);
    void whole(std::uint64_t v);
    void number(double v);  // finite, else null
    void boolean(bool v);
    void null();
    void raw(std::string_view json);  // one JSON value, appended as it is

    // True when everything opened is closed and one value was written.
    bool done() const { return depth_ == 0 && scopes_[0].has_value; }

  private:
    struct Scope {
        bool object = false;
        bool has_value = false;  // a comma is due before the next
        bool key_open = false;   // a key waits for its value
    };
    void before_value();
    void open(bool object);
    void close(bool object);

    std::string& out_;
    std::size_t depth_ = 0;
    std::array<Scope, kMaxDepth + 1> scopes_{};
};

// Appends `text` as a JSON string, quotes included, as JsonWriter::string does.
void append_json_string(std::string& out, std::string_view text);

}  // namespace tollgate
