// Fuzzes text/json.h: any bytes give a value or a named error; what was accepted is within the
// limits, valid UTF-8, free of duplicate names, and written canonically parses to the same again.
#include <string>

#include "base/check.h"
#include "text/json.h"
#include "text/json_writer.h"
#include "text/utf8.h"

namespace {

using tollgate::JsonKind;
using tollgate::JsonValue;

// Recursion is bounded by the document's depth limit.
void write(const JsonValue& value, tollgate::JsonWriter& out) {
    switch (value.kind()) {
        case JsonKind::kNull:
            return out.null();
        case JsonKind::kBool:
            return out.boolean(value.boolean());
        case JsonKind::kInteger:
            return out.integer(value.integer());
        case JsonKind::kUnsigned:
            return out.whole(value.whole());
        case JsonKind::kDouble:
            return out.number(value.number());
        case JsonKind::kString:
            TG_CHECK(tollgate::is_valid_utf8(value.string()), "a string that is not UTF-8");
            return out.string(value.string());
        case JsonKind::kArray:
            out.begin_array();
            (void)value.each_item([&](JsonValue item) {
                write(item, out);
                return true;
            });
            return out.end_array();
        case JsonKind::kObject:
            out.begin_object();
            (void)value.each_member([&](std::string_view key, JsonValue member) {
                TG_CHECK(value.find(key)->kind() == member.kind(), "find finds another member");
                out.key(key);
                write(member, out);
                return true;
            });
            return out.end_object();
    }
}

std::string canonical(const JsonValue& value) {
    std::string text;
    tollgate::JsonWriter out(text);
    write(value, out);
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // Small limits, so that inputs reach them.
    tollgate::JsonDocument document({.max_bytes = 1 << 14, .max_depth = 16, .max_members = 32});
    const auto value = document.parse({reinterpret_cast<const char*>(data), size});
    if (!value) {
        TG_CHECK(tollgate::is_valid_utf8(value.error().message), "a message that is not UTF-8");
        TG_CHECK(value.error().fault != tollgate::Fault::kInternal, "an error without a name");
        return 0;
    }
    const std::string once = canonical(*value);
    tollgate::JsonDocument again({.max_bytes = 1 << 20, .max_depth = 16, .max_members = 32});
    const auto reread = again.parse(once);
    TG_CHECK(reread, "its canonical form is refused");
    TG_CHECK(canonical(*reread) == once, "its canonical form is not fixed");
    return 0;
}
