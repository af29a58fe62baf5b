// The language's own filters, tests, functions and methods, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/template_value.h"

namespace tollgate::jinja {

// What built-ins need of the rendering: its bounds. Everything that makes text or lists pays here.
class Budget {
  public:
    Budget(std::uint64_t steps, std::size_t bytes) : steps_(steps), bytes_(bytes) {}
    Status spend(std::uint64_t steps);    // kTooLarge when they are used up
    Status text(std::size_t size) const;  // kTooLarge when one text would be longer than allowed
    std::uint64_t left() const { return steps_; }

  private:
    std::uint64_t steps_;
    std::size_t bytes_;
};

// positional[0] is a filter's or test's input, a method's object.
struct Args {
    std::span<const TemplateValue> positional;
    std::span<const std::pair<std::string_view, TemplateValue>> named;
    std::size_t size() const { return positional.size(); }
    // The argument at `index` or of that name; null when it is not given.
    const TemplateValue* find(std::size_t index, std::string_view name) const;
};

using Builtin = Result<TemplateValue> (*)(const Args&, Budget&);
struct NamedBuiltin {
    std::string_view name;
    Builtin function;
};
std::span<const NamedBuiltin> filters();  // but map, select, reject, selectattr, rejectattr
std::span<const NamedBuiltin> tests();
std::span<const NamedBuiltin> functions();
std::int32_t filter_index(std::string_view name);  // -1: unknown
std::int32_t test_index(std::string_view name);
// Filters that call others; the interpreter runs them. Listed for messages.
bool is_calling_filter(std::string_view name);

// x.name(...) of a text, list or map; nullopt when its kind has no such method.
std::optional<Result<TemplateValue>> call_method(std::string_view name, const Args& args,
                                                 Budget& budget);
bool has_method(const TemplateValue& value, std::string_view name);

// --- values as Python has them (template_value.cc) ---
std::string to_str(const TemplateValue& value, std::size_t depth);   // what {{ }} prints
std::string to_repr(const TemplateValue& value, std::size_t depth);  // inside a list
std::string float_repr(double value);
bool equal(const TemplateValue& a, const TemplateValue& b, std::size_t depth = 64);
// <0, 0, >0; an error for kinds that have no order.
Result<int> order(const TemplateValue& a, const TemplateValue& b, std::size_t depth = 64);
Result<bool> contains(const TemplateValue& container, const TemplateValue& item);
std::string_view kind_name(const TemplateValue& value);  // "str", "int" …, for messages
// True when `value` is or holds the list or map at `target` (a cycle in the making).
bool reaches(const TemplateValue& value, const void* target, std::size_t& steps);
const TemplateValue* map_find(const TemplateValue::Map& map, std::string_view key);
void map_set(TemplateValue::Map& map, std::string_view key, TemplateValue value);

// --- text by code points (template_text.cc) ---
std::size_t code_points(std::string_view text);
// The bytes of code points [begin, end).
std::string_view code_point_range(std::string_view text, std::size_t begin, std::size_t end);
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);
std::string_view strip(std::string_view text, const std::string* set, bool left, bool right);
std::vector<std::string_view> split(std::string_view text, const std::string* separator,
                                    std::int64_t limit, bool from_right);
std::string replace(std::string_view text, std::string_view from, std::string_view to,
                    std::int64_t limit);
// JSON as Python's json.dumps(ensure_ascii=False) writes it.
struct JsonStyle {
    std::int64_t indent = -1;  // -1: on one line
    bool sort_keys = false;
    bool ascii = false;
    std::string item_separator = ", ";
    std::string key_separator = ": ";
};
Status write_json(const TemplateValue& value, const JsonStyle& style, std::size_t depth,
                  std::string& out, Budget& budget);

}  // namespace tollgate::jinja
