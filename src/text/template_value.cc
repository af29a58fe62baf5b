// TemplateValue's kinds, and how Python prints, compares and orders them.
#include "text/template_value.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "text/template_builtins.h"

namespace tollgate {

TemplateValue TemplateValue::none() {
    TemplateValue v;
    v.state_ = nullptr;
    return v;
}
TemplateValue TemplateValue::boolean(bool b) {
    TemplateValue v;
    v.state_ = b;
    return v;
}
TemplateValue TemplateValue::integer(std::int64_t i) {
    TemplateValue v;
    v.state_ = i;
    return v;
}
TemplateValue TemplateValue::real(double d) {
    TemplateValue v;
    v.state_ = d;
    return v;
}
TemplateValue TemplateValue::string(std::string s) {
    TemplateValue v;
    v.state_ = std::move(s);
    return v;
}
TemplateValue TemplateValue::list(List l) {
    TemplateValue v;
    v.state_ = std::make_shared<List>(std::move(l));
    return v;
}
TemplateValue TemplateValue::map(Map m) {
    TemplateValue v;
    v.state_ = std::make_shared<Map>(std::move(m));
    return v;
}
TemplateValue TemplateValue::object(const TemplateObject* o) {
    TemplateValue v;
    v.state_ = o;
    return v;
}
TemplateValue TemplateValue::function(TemplateFunction f) {
    TemplateValue v;
    v.state_ = std::make_shared<const TemplateFunction>(std::move(f));
    return v;
}

TemplateValue::Kind TemplateValue::kind() const {
    return static_cast<Kind>(state_.index());
}
bool TemplateValue::boolean() const {
    TG_CHECK(is(Kind::kBool), "a bool");
    return std::get<bool>(state_);
}
std::int64_t TemplateValue::integer() const {
    TG_CHECK(is(Kind::kInteger), "an integer");
    return std::get<std::int64_t>(state_);
}
double TemplateValue::real() const {
    TG_CHECK(is(Kind::kFloat), "a float");
    return std::get<double>(state_);
}
const std::string& TemplateValue::string() const {
    TG_CHECK(is(Kind::kString), "a string");
    return std::get<std::string>(state_);
}
const TemplateValue::List& TemplateValue::list() const {
    TG_CHECK(is(Kind::kList), "a list");
    return *std::get<std::shared_ptr<List>>(state_);
}
TemplateValue::List& TemplateValue::mutable_list() {
    TG_CHECK(is(Kind::kList), "a list");
    return *std::get<std::shared_ptr<List>>(state_);
}
const TemplateValue::Map& TemplateValue::map() const {
    TG_CHECK(is(Kind::kMap), "a map");
    return *std::get<std::shared_ptr<Map>>(state_);
}
TemplateValue::Map& TemplateValue::mutable_map() {
    TG_CHECK(is(Kind::kMap), "a map");
    return *std::get<std::shared_ptr<Map>>(state_);
}
const TemplateObject& TemplateValue::object() const {
    TG_CHECK(is(Kind::kObject), "an object");
    return *std::get<const TemplateObject*>(state_);
}
const TemplateFunction& TemplateValue::function() const {
    TG_CHECK(is(Kind::kFunction), "a function");
    return *std::get<std::shared_ptr<const TemplateFunction>>(state_);
}

bool TemplateValue::to_number(double& out) const {
    switch (kind()) {
        case Kind::kBool:
            out = boolean() ? 1.0 : 0.0;
            return true;
        case Kind::kInteger:
            out = static_cast<double>(integer());
            return true;
        case Kind::kFloat:
            out = real();
            return true;
        default:
            return false;
    }
}

bool TemplateValue::truthy() const {
    switch (kind()) {
        case Kind::kUndefined:
        case Kind::kNone:
            return false;
        case Kind::kBool:
            return boolean();
        case Kind::kInteger:
            return integer() != 0;
        case Kind::kFloat:
            return real() != 0.0;
        case Kind::kString:
            return !string().empty();
        case Kind::kList:
            return !list().empty();
        case Kind::kMap:
            return !map().empty();
        case Kind::kObject:
        case Kind::kFunction:
            break;
    }
    return true;
}

namespace jinja {

using Kind = TemplateValue::Kind;

std::string_view kind_name(const TemplateValue& value) {
    constexpr std::array<std::string_view, 10> kNames = {
        "undefined", "None", "bool", "int", "float", "str", "list", "dict", "object", "function"};
    return kNames[static_cast<std::size_t>(value.kind())];
}

// Shortest digits that read back equal; exponents from 1e16 and below 1e-4, as Python writes them.
std::string float_repr(double value) {
    if (std::isnan(value)) {
        return "nan";
    }
    if (std::isinf(value)) {
        return value < 0 ? "-inf" : "inf";
    }
    std::array<char, 64> room{};
    const double size = std::fabs(value);
    const bool plain = size == 0.0 || (size >= 1e-4 && size < 1e16);
    const auto [end, fault] =
        std::to_chars(room.data(), room.data() + room.size(), value,
                      plain ? std::chars_format::fixed : std::chars_format::scientific);
    std::string text(room.data(), end);
    if (plain && text.find('.') == std::string::npos) {
        text += ".0";
    }
    return text;
}

namespace {

std::string quoted(const std::string& text) {
    const bool has_single = text.find('\'') != std::string::npos;
    const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
    std::string out(1, quote);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c == '\r') {
            out += "\\r";
        } else if (byte < 0x20 || byte == 0x7F) {
            constexpr std::string_view kHex = "0123456789abcdef";
            out += "\\x";
            out += kHex[byte / 16];
            out += kHex[byte % 16];
        } else {
            out += c;
        }
    }
    return out + quote;
}

// A list that holds one list twice, which holds one list twice …, prints to any length from few
// bytes: past this many, what is printed is longer than any text may be, and the rest is left out.
constexpr std::size_t kLongest = std::size_t{16} << 20;

void append_repr(const TemplateValue& value, std::size_t depth, std::string& out);

void append_list(const TemplateValue::List& list, std::size_t depth, std::string& out) {
    out += '[';
    for (std::size_t i = 0; i < list.size() && out.size() < kLongest; ++i) {
        out += i == 0 ? "" : ", ";
        append_repr(list[i], depth - 1, out);
    }
    out += ']';
}

void append_map(const TemplateValue::Map& map, std::size_t depth, std::string& out) {
    out += '{';
    for (std::size_t i = 0; i < map.size() && out.size() < kLongest; ++i) {
        out += (i == 0 ? "" : ", ") + quoted(map[i].first) + ": ";
        append_repr(map[i].second, depth - 1, out);
    }
    out += '}';
}

std::string simple_repr(const TemplateValue& value) {
    switch (value.kind()) {
        case Kind::kUndefined:
            return "Undefined";
        case Kind::kNone:
            return "None";
        case Kind::kBool:
            return value.boolean() ? "True" : "False";
        case Kind::kInteger:
            return std::to_string(value.integer());
        case Kind::kFloat:
            return float_repr(value.real());
        case Kind::kString:
            return quoted(value.string());
        case Kind::kObject:
            return "<object>";
        default:
            return "<function>";
    }
}

void append_repr(const TemplateValue& value, std::size_t depth, std::string& out) {
    if (value.is(Kind::kList)) {
        depth == 0 ? void(out += "[...]") : append_list(value.list(), depth, out);
    } else if (value.is(Kind::kMap)) {
        depth == 0 ? void(out += "{...}") : append_map(value.map(), depth, out);
    } else {
        out += simple_repr(value);
    }
}

}  // namespace

std::string to_repr(const TemplateValue& value, std::size_t depth) {
    std::string out;
    append_repr(value, depth, out);
    return out;
}

std::string to_str(const TemplateValue& value, std::size_t depth) {
    if (value.is(Kind::kUndefined)) {
        return "";
    }
    return value.is(Kind::kString) ? value.string() : to_repr(value, depth);
}

namespace {

bool both_integers(const TemplateValue& a, const TemplateValue& b) {
    return a.is(Kind::kInteger) && b.is(Kind::kInteger);
}

bool equal_maps(const TemplateValue::Map& a, const TemplateValue::Map& b, std::size_t depth) {
    if (a.size() != b.size()) {
        return false;
    }
    for (const auto& [key, value] : a) {
        const TemplateValue* other = map_find(b, key);
        if (other == nullptr || !equal(value, *other, depth - 1)) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool equal(const TemplateValue& a, const TemplateValue& b, std::size_t depth) {
    double x = 0.0;
    double y = 0.0;
    if (both_integers(a, b)) {
        return a.integer() == b.integer();
    }
    if (a.to_number(x) && b.to_number(y)) {
        return x == y;
    }
    if (a.kind() != b.kind() || depth == 0) {
        return false;
    }
    switch (a.kind()) {
        case Kind::kString:
            return a.string() == b.string();
        case Kind::kMap:
            return equal_maps(a.map(), b.map(), depth);
        case Kind::kList:
            break;
        case Kind::kObject:
            return &a.object() == &b.object();
        case Kind::kFunction:
            return &a.function() == &b.function();
        default:
            return true;  // none and none, undefined and undefined
    }
    const auto& left = a.list();
    const auto& right = b.list();
    for (std::size_t i = 0; left.size() == right.size() && i < left.size(); ++i) {
        if (!equal(left[i], right[i], depth - 1)) {
            return false;
        }
    }
    return left.size() == right.size();
}

Result<int> order(const TemplateValue& a, const TemplateValue& b, std::size_t depth) {
    double x = 0.0;
    double y = 0.0;
    if (both_integers(a, b)) {
        return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
    }
    if (a.to_number(x) && b.to_number(y)) {
        return x < y ? -1 : x > y ? 1 : 0;
    }
    if (a.is(Kind::kString) && b.is(Kind::kString)) {
        const int by = a.string().compare(b.string());  // UTF-8 keeps the order of code points
        return by < 0 ? -1 : by > 0 ? 1 : 0;
    }
    if (a.is(Kind::kList) && b.is(Kind::kList) && depth > 0) {
        const std::size_t common = std::min(a.list().size(), b.list().size());
        for (std::size_t i = 0; i < common; ++i) {
            TG_TRY(const int by, order(a.list()[i], b.list()[i], depth - 1));
            if (by != 0) {
                return by;
            }
        }
        const std::size_t left = a.list().size();
        const std::size_t right = b.list().size();
        return left < right ? -1 : left > right ? 1 : 0;
    }
    return Error{Fault::kBadInput, std::string(kind_name(a)) + " and " + std::string(kind_name(b)) +
                                       " have no order"};
}

Result<bool> contains(const TemplateValue& container, const TemplateValue& item) {
    switch (container.kind()) {
        case Kind::kString:
            if (!item.is(Kind::kString)) {
                return Error{Fault::kBadInput,
                             "\"in\" a text takes a text, not " + std::string(kind_name(item))};
            }
            return container.string().find(item.string()) != std::string::npos;
        case Kind::kList:
            for (const TemplateValue& at : container.list()) {
                if (equal(at, item)) {
                    return true;
                }
            }
            return false;
        case Kind::kMap:
            return item.is(Kind::kString) && map_find(container.map(), item.string()) != nullptr;
        case Kind::kUndefined:
            return false;
        default:
            return Error{Fault::kBadInput,
                         "\"in\" has no meaning for " + std::string(kind_name(container))};
    }
}

const TemplateValue* map_find(const TemplateValue::Map& map, std::string_view key) {
    for (const auto& [name, value] : map) {
        if (name == key) {
            return &value;
        }
    }
    return nullptr;
}

void map_set(TemplateValue::Map& map, std::string_view key, TemplateValue value) {
    for (auto& [name, old] : map) {
        if (name == key) {
            old = std::move(value);
            return;
        }
    }
    map.emplace_back(std::string(key), std::move(value));
}

bool reaches(const TemplateValue& value, const void* target, std::size_t& steps) {
    if (steps == 0) {
        return true;  // too large to tell: refused, which is the safe answer
    }
    --steps;
    if (value.is(Kind::kList)) {
        if (&value.list() == target) {
            return true;
        }
        for (const TemplateValue& item : value.list()) {
            if (reaches(item, target, steps)) {
                return true;
            }
        }
    } else if (value.is(Kind::kMap)) {
        if (&value.map() == target) {
            return true;
        }
        for (const auto& [key, item] : value.map()) {
            if (reaches(item, target, steps)) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace jinja
}  // namespace tollgate
