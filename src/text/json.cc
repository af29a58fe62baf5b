// simdjson's DOM behind text/json.h, with the checks that it leaves to its user: lone surrogates,
// duplicate member names, the count of members.
#include "text/json.h"

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "text/utf8.h"

namespace tollgate {
namespace {

using simdjson::internal::tape_ref;
using simdjson::internal::tape_type;

constexpr std::size_t kNameShown = 64;               // bytes of a name in a message
constexpr std::uint32_t kCountSaturated = 0xFFFFFF;  // the tape's member count has 24 bits

tape_ref ref(const void* document, std::size_t index) {
    return {static_cast<const simdjson::dom::document*>(document), index};
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The code unit of an escape \uXXXX at the start of `text`, or -1.
int code_unit(std::string_view text) {
    if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') {
        return -1;
    }
    int unit = 0;
    for (const char c : text.substr(2, 4)) {
        const int digit = hex_value(c);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

// simdjson 3.0 joins a high surrogate with whatever escape follows it, so the pairs are checked
// in the source. Outside strings a backslash is a syntax error, which the parser finds itself.
bool has_lone_surrogate(std::string_view text) {
    for (std::size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
        const int unit = code_unit(text.substr(at));
        if (unit < 0xD800 || unit > 0xDFFF) {
            at += 2;  // also steps over an escaped backslash
            continue;
        }
        const int low = code_unit(text.substr(at + 6));
        if (unit > 0xDBFF || low < 0xDC00 || low > 0xDFFF) {
            return true;
        }
        at += 12;
    }
    return false;
}

Error refused(std::string message) {
    return Error{Fault::kBadInput, std::move(message)};
}

Error syntax_error(simdjson::error_code code, const JsonLimits& limits) {
    switch (code) {
        case simdjson::EMPTY:
            return refused("JSON: the input is empty, expected one document");
        case simdjson::DEPTH_ERROR:
            return refused("JSON: nested deeper than " + std::to_string(limits.max_depth) +
                           " levels, the limit");
        case simdjson::UTF8_ERROR:
            return refused("JSON: the input is not valid UTF-8");
        case simdjson::STRING_ERROR:
            return refused("JSON: a string holds an escape that does not exist");
        case simdjson::UNESCAPED_CHARS:
            return refused("JSON: a string holds an unescaped control character");
        case simdjson::UNCLOSED_STRING:
            return refused("JSON: a string is not closed");
        case simdjson::NUMBER_ERROR:
            return refused(
                "JSON: a number is malformed or out of range (integers -2^63 to 2^64-1, other "
                "numbers within double)");
        case simdjson::T_ATOM_ERROR:
        case simdjson::F_ATOM_ERROR:
        case simdjson::N_ATOM_ERROR:
            return refused("JSON: a literal is none of true, false and null");
        case simdjson::MEMALLOC:
            return Error{Fault::kOverloaded, "JSON: no memory to parse the input"};
        case simdjson::TAPE_ERROR:
        case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
            return refused("JSON: the input is not one well-formed document (RFC 8259)");
        default:
            return Error{Fault::kInternal, "JSON: the parser failed",
                         simdjson::error_message(code)};
    }
}

}  // namespace

JsonKind JsonValue::kind() const {
    TG_CHECK(document_ != nullptr, "a JsonValue of no document");
    switch (ref(document_, index_).tape_ref_type()) {
        case tape_type::START_ARRAY:
            return JsonKind::kArray;
        case tape_type::START_OBJECT:
            return JsonKind::kObject;
        case tape_type::STRING:
            return JsonKind::kString;
        case tape_type::INT64:
            return JsonKind::kInteger;
        case tape_type::UINT64:
            return JsonKind::kUnsigned;
        case tape_type::DOUBLE:
            return JsonKind::kDouble;
        case tape_type::TRUE_VALUE:
        case tape_type::FALSE_VALUE:
            return JsonKind::kBool;
        default:
            return JsonKind::kNull;
    }
}

bool JsonValue::boolean() const {
    TG_CHECK(is(JsonKind::kBool), "not a JSON boolean");
    return ref(document_, index_).is_true();
}

std::int64_t JsonValue::integer() const {
    TG_CHECK(is(JsonKind::kInteger), "not a JSON integer");
    return ref(document_, index_).next_tape_value<std::int64_t>();
}

std::uint64_t JsonValue::whole() const {
    TG_CHECK(is(JsonKind::kUnsigned), "not a JSON integer above 2^63-1");
    return ref(document_, index_).next_tape_value<std::uint64_t>();
}

double JsonValue::number() const {
    const tape_ref at = ref(document_, index_);
    switch (kind()) {
        case JsonKind::kInteger:
            return static_cast<double>(at.next_tape_value<std::int64_t>());
        case JsonKind::kUnsigned:
            return static_cast<double>(at.next_tape_value<std::uint64_t>());
        default:
            TG_CHECK(is(JsonKind::kDouble), "not a JSON number");
            return at.next_tape_value<double>();
    }
}

std::string_view JsonValue::string() const {
    TG_CHECK(is(JsonKind::kString), "not a JSON string");
    return ref(document_, index_).get_string_view();
}

std::size_t JsonValue::size() const {
    std::size_t count = 0;
    Cursor at = begin();
    const std::uint32_t stored = ref(document_, index_).scope_count();
    if (stored < kCountSaturated) {
        return stored;
    }
    for (; !at.end(); at.next()) {
        ++count;
    }
    return count;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
    TG_CHECK(is(JsonKind::kObject), "not a JSON object");
    for (Cursor at = begin(); !at.end(); at.next()) {
        if (at.key() == key) {
            return at.value();
        }
    }
    return std::nullopt;
}

JsonValue::Cursor JsonValue::begin() const {
    const JsonKind k = kind();
    TG_CHECK(k == JsonKind::kObject || k == JsonKind::kArray, "not a JSON object or array");
    Cursor at;
    at.document_ = document_;
    at.at_ = index_ + 1;
    at.end_ = ref(document_, index_).matching_brace_index() - 1;
    at.object_ = k == JsonKind::kObject;
    return at;
}

bool JsonValue::Cursor::end() const {
    return at_ >= end_;
}

void JsonValue::Cursor::next() {
    at_ = ref(document_, at_ + (object_ ? 1 : 0)).after_element();
}

std::string_view JsonValue::Cursor::key() const {
    TG_CHECK(object_, "the items of a JSON array have no names");
    return ref(document_, at_).get_string_view();
}

JsonValue JsonValue::Cursor::value() const {
    JsonValue out;
    out.document_ = document_;
    out.index_ = at_ + (object_ ? 1 : 0);
    return out;
}

struct JsonDocument::Impl {
    explicit Impl(JsonLimits bounds) : limits(bounds) {}

    // The names of one object: count, NUL, duplicates.
    Status check_names(JsonValue object);
    // The depth, and check_names of every object: one walk along the tape, no recursion.
    Status check_objects(std::size_t end);

    JsonLimits limits;
    simdjson::dom::parser parser;
    simdjson::dom::document document;
    std::vector<std::string_view> names;  // scratch of check_names, kept for its capacity
    bool ready = false;
};

Status JsonDocument::Impl::check_names(JsonValue object) {
    if (object.size() > limits.max_members) {
        return refused("JSON: an object has " + std::to_string(object.size()) +
                       " members, the limit is " + std::to_string(limits.max_members));
    }
    names.clear();
    (void)object.each_member([&](std::string_view key, JsonValue) {
        names.push_back(key);
        return true;
    });
    // Sorted rather than hashed: no choice of names makes it slow.
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
        return refused("JSON: member \"" + printable(*twice, kNameShown) + "\" occurs twice");
    }
    for (const std::string_view name : names) {
        if (name.find('\0') != std::string_view::npos) {
            return refused("JSON: member name \"" + printable(name, kNameShown) +
                           "\" contains U+0000");
        }
    }
    return ok();
}

Status JsonDocument::Impl::check_objects(std::size_t end) {
    std::size_t depth = 0;
    for (std::size_t at = 1; at < end;) {
        const tape_ref here = ref(&document, at);
        const tape_type type = here.tape_ref_type();
        if (type == tape_type::START_OBJECT) {
            JsonValue object;
            object.document_ = &document;
            object.index_ = at;
            TG_TRY(const auto checked, check_names(object));
            (void)checked;
        }
        if (type == tape_type::START_OBJECT || type == tape_type::START_ARRAY) {
            // simdjson does not count an empty container as a level.
            if (++depth > limits.max_depth) {
                return syntax_error(simdjson::DEPTH_ERROR, limits);
            }
            ++at;
            continue;
        }
        const bool closes = type == tape_type::END_OBJECT || type == tape_type::END_ARRAY;
        depth -= closes ? 1 : 0;
        at = here.after_element();
    }
    return ok();
}

JsonDocument::JsonDocument(JsonLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
JsonDocument::~JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;

Result<JsonValue> JsonDocument::parse(std::string_view text) {
    TG_CHECK(impl_ != nullptr, "a JsonDocument that was moved from");
    const JsonLimits& limits = impl_->limits;
    if (text.size() > limits.max_bytes) {
        return Error{Fault::kTooLarge, "JSON: the input has " + std::to_string(text.size()) +
                                           " bytes, the limit is " +
                                           std::to_string(limits.max_bytes)};
    }
    if (text.empty()) {
        return syntax_error(simdjson::EMPTY, limits);
    }
    if (!impl_->ready) {
        // simdjson counts the document itself as one level.
        const auto code = impl_->parser.allocate(1024, limits.max_depth + 1);
        if (code != simdjson::SUCCESS) {
            return syntax_error(code, limits);
        }
        impl_->ready = true;
    }
    if (has_lone_surrogate(text)) {
        return refused("JSON: a string holds half of a surrogate pair (\\ud800 to \\udfff)");
    }
    const auto code =
        impl_->parser.parse_into_document(impl_->document, text.data(), text.size()).error();
    if (code != simdjson::SUCCESS) {
        return syntax_error(code, limits);
    }
    // The root's own tape word points behind the last one.
    const std::size_t end = ref(&impl_->document, 0).tape_value() - 1;
    TG_TRY(const auto checked, impl_->check_objects(end));
    (void)checked;
    JsonValue root;
    root.document_ = &impl_->document;
    root.index_ = 1;
    return root;
}

}  // namespace tollgate
