// The language's filters and tests.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/suggest.h"
#include "text/template_builtins.h"
#include "text/template_format.h"
#include "text/template_list_filters.h"

namespace tollgate::jinja {

using Kind = TemplateValue::Kind;

Status Budget::spend(std::uint64_t steps) {
    if (steps > steps_) {
        return Error{Fault::kTooLarge, "the template takes too many steps"};
    }
    steps_ -= steps;
    return ok();
}

Status Budget::text(std::size_t size) const {
    if (size > bytes_) {
        return Error{Fault::kTooLarge,
                     "a text of the template is longer than " + std::to_string(bytes_) + " bytes"};
    }
    return ok();
}

const TemplateValue* Args::find(std::size_t index, std::string_view name) const {
    if (index < positional.size()) {
        return &positional[index];
    }
    for (const auto& [key, value] : named) {
        if (key == name) {
            return &value;
        }
    }
    return nullptr;
}

namespace {

constexpr std::size_t kDepth = 64;

Error wrong(std::string_view what, const TemplateValue& value) {
    return {Fault::kBadInput, std::string(what) + ", not " + std::string(kind_name(value))};
}

TemplateValue text_value(std::string text) {
    return TemplateValue::string(std::move(text));
}

std::string input_text(const Args& args) {
    return to_str(args.positional[0], kDepth);
}

Result<TemplateValue> f_length(const Args& args, Budget& /*budget*/) {
    const TemplateValue& in = args.positional[0];
    switch (in.kind()) {
        case Kind::kString:
            return TemplateValue::integer(static_cast<std::int64_t>(code_points(in.string())));
        case Kind::kList:
            return TemplateValue::integer(static_cast<std::int64_t>(in.list().size()));
        case Kind::kMap:
            return TemplateValue::integer(static_cast<std::int64_t>(in.map().size()));
        case Kind::kUndefined:
            return TemplateValue::integer(0);
        default:
            return wrong("length is of a text, list or dict", in);
    }
}

Result<TemplateValue> f_trim(const Args& args, Budget& /*budget*/) {
    const TemplateValue* set = args.find(1, "chars");
    const std::string text = input_text(args);
    const bool own = set != nullptr && set->is(Kind::kString);
    return text_value(std::string(strip(text, own ? &set->string() : nullptr, true, true)));
}

Result<TemplateValue> f_upper(const Args& args, Budget& /*budget*/) {
    return text_value(upper(input_text(args)));
}
Result<TemplateValue> f_lower(const Args& args, Budget& /*budget*/) {
    return text_value(lower(input_text(args)));
}
Result<TemplateValue> f_title(const Args& args, Budget& /*budget*/) {
    return text_value(title(input_text(args)));
}
Result<TemplateValue> f_capitalize(const Args& args, Budget& /*budget*/) {
    return text_value(capitalize(input_text(args)));
}
Result<TemplateValue> f_safe(const Args& args, Budget& /*budget*/) {
    return text_value(input_text(args));
}

Result<TemplateValue> f_escape(const Args& args, Budget& budget) {
    std::string out;
    for (const char c : input_text(args)) {
        const std::size_t at = std::string_view("&<>\"'").find(c);
        constexpr std::array<std::string_view, 5> kEscapes = {"&amp;", "&lt;", "&gt;", "&#34;",
                                                              "&#39;"};
        if (at == std::string_view::npos) {
            out += c;
        } else {
            out += kEscapes[at];
        }
    }
    if (Status fits = budget.text(out.size()); !fits) {
        return std::move(fits).error();
    }
    return text_value(std::move(out));
}

Result<TemplateValue> f_default(const Args& args, Budget& /*budget*/) {
    const TemplateValue& in = args.positional[0];
    const TemplateValue* otherwise = args.find(1, "default_value");
    const bool falsy = flag_or(args.find(2, "boolean"), false) && !in.truthy();
    if (in.is(Kind::kUndefined) || falsy) {
        return otherwise == nullptr ? text_value("") : *otherwise;
    }
    return in;
}

Result<TemplateValue> f_replace(const Args& args, Budget& budget) {
    const TemplateValue* from = args.find(1, "old");
    const TemplateValue* to = args.find(2, "new");
    if (from == nullptr || to == nullptr) {
        return Error{Fault::kBadInput, "replace takes the old and the new text"};
    }
    const std::string text = input_text(args);
    const std::string new_text = to_str(*to, kDepth);
    if (Status fits = budget.text(text.size() * (new_text.size() + 1)); !fits) {
        return std::move(fits).error();
    }
    return text_value(
        replace(text, to_str(*from, kDepth), new_text, integer_or(args.find(3, "count"), -1)));
}

Result<TemplateValue> f_tojson(const Args& args, Budget& budget) {
    JsonStyle style;
    style.ascii = flag_or(args.find(1, "ensure_ascii"), false);
    style.indent = integer_or(args.find(2, "indent"), -1);
    if (style.indent > 16) {
        return Error{Fault::kBadInput, "indent = " + std::to_string(style.indent) + ": 0 to 16"};
    }
    if (const TemplateValue* pair = args.find(3, "separators");
        pair != nullptr && pair->is(Kind::kList) && pair->list().size() == 2) {
        style.item_separator = to_str(pair->list()[0], 1);
        style.key_separator = to_str(pair->list()[1], 1);
    }
    style.sort_keys = flag_or(args.find(4, "sort_keys"), false);
    std::string out;
    if (Status done = write_json(args.positional[0], style, kDepth, out, budget); !done) {
        return std::move(done).error();
    }
    return text_value(std::move(out));
}

Result<TemplateValue> f_string(const Args& args, Budget& /*budget*/) {
    return text_value(input_text(args));
}

bool parse_float(std::string_view text, double& out) {
    text = strip(text, nullptr, true, true);
    if (!text.empty() && text[0] == '+') {
        text.remove_prefix(1);
    }
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
    return fault == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<TemplateValue> f_int(const Args& args, Budget& /*budget*/) {
    const TemplateValue& in = args.positional[0];
    const TemplateValue* otherwise = args.find(1, "default");
    double number = 0.0;
    if (in.is(Kind::kInteger)) {
        return in;
    }
    const bool is_number =
        in.is(Kind::kString) ? parse_float(in.string(), number) : in.to_number(number);
    if (is_number && std::fabs(number) < 9.2e18) {
        return TemplateValue::integer(static_cast<std::int64_t>(number));
    }
    return otherwise == nullptr ? TemplateValue::integer(0) : *otherwise;
}

Result<TemplateValue> f_float(const Args& args, Budget& /*budget*/) {
    const TemplateValue& in = args.positional[0];
    const TemplateValue* otherwise = args.find(1, "default");
    double number = 0.0;
    const bool is_number =
        in.is(Kind::kString) ? parse_float(in.string(), number) : in.to_number(number);
    if (is_number) {
        return TemplateValue::real(number);
    }
    return otherwise == nullptr ? TemplateValue::real(0.0) : *otherwise;
}

Result<TemplateValue> f_abs(const Args& args, Budget& /*budget*/) {
    const TemplateValue& in = args.positional[0];
    double number = 0.0;
    if (in.is(Kind::kInteger) && in.integer() != INT64_MIN) {
        return TemplateValue::integer(in.integer() < 0 ? -in.integer() : in.integer());
    }
    if (!in.to_number(number)) {
        return wrong("abs is of a number", in);
    }
    return TemplateValue::real(std::fabs(number));
}

// Half to even, as Python rounds what binary can hold.
Result<TemplateValue> f_round(const Args& args, Budget& /*budget*/) {
    const TemplateValue& in = args.positional[0];
    const std::int64_t digits = integer_or(args.find(1, "precision"), 0);
    const TemplateValue* method = args.find(2, "method");
    double number = 0.0;
    if (!in.to_number(number)) {
        return wrong("round is of a number", in);
    }
    if (in.is(Kind::kInteger) && digits >= 0 && method == nullptr) {
        return in;
    }
    if (digits < -15 || digits > 15) {
        return Error{Fault::kBadInput, "precision = " + std::to_string(digits) + ": -15 to 15"};
    }
    const std::string how = method == nullptr ? "common" : to_str(*method, 1);
    const double scale = std::pow(10.0, static_cast<double>(digits));
    if (how == "ceil") {
        return TemplateValue::real(std::ceil(number * scale) / scale);
    }
    if (how == "floor") {
        return TemplateValue::real(std::floor(number * scale) / scale);
    }
    if (digits < 0) {
        return TemplateValue::real(std::nearbyint(number * scale) / scale);
    }
    TG_TRY(const std::string text,
           format_number('f', static_cast<int>(digits), TemplateValue::real(number)));
    double rounded = 0.0;
    (void)parse_float(text, rounded);
    return TemplateValue::real(rounded);
}

Result<TemplateValue> f_indent(const Args& args, Budget& budget) {
    const TemplateValue* width = args.find(1, "width");
    const std::int64_t spaces = integer_or(width, 4);
    if (spaces < 0 || spaces > 256) {
        return Error{Fault::kBadInput, "width = " + std::to_string(spaces) + ": 0 to 256"};
    }
    const std::string by = width != nullptr && width->is(Kind::kString)
                               ? width->string()
                               : std::string(static_cast<std::size_t>(spaces), ' ');
    const bool first = flag_or(args.find(2, "first"), false);
    const bool blank = flag_or(args.find(3, "blank"), false);
    const std::string newline = "\n";
    const std::string text = input_text(args);
    const auto lines = split(text, &newline, -1, false);
    if (Status fits = budget.text(text.size() + lines.size() * by.size()); !fits) {
        return std::move(fits).error();
    }
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        out += i == 0 ? "" : "\n";
        if ((i > 0 || first) && (blank || !lines[i].empty())) {
            out += by;
        }
        out += lines[i];
    }
    return text_value(std::move(out));
}

Result<TemplateValue> f_format(const Args& args, Budget& budget) {
    return format_text(input_text(args), args.positional.subspan(1), budget);
}

Result<TemplateValue> f_wordcount(const Args& args, Budget& /*budget*/) {
    const std::string text = input_text(args);
    return TemplateValue::integer(
        static_cast<std::int64_t>(split(text, nullptr, -1, false).size()));
}

constexpr NamedBuiltin kFilters[] = {
    {"abs", f_abs},
    {"batch", f_batch},
    {"capitalize", f_capitalize},
    {"count", f_length},
    {"d", f_default},
    {"default", f_default},
    {"dictsort", f_dictsort},
    {"e", f_escape},
    {"escape", f_escape},
    {"first", f_first},
    {"float", f_float},
    {"format", f_format},
    {"indent", f_indent},
    {"int", f_int},
    {"items", f_items},
    {"join", f_join},
    {"last", f_last},
    {"length", f_length},
    {"list", f_list},
    {"lower", f_lower},
    {"max", f_max},
    {"min", f_min},
    {"replace", f_replace},
    {"reverse", f_reverse},
    {"round", f_round},
    {"safe", f_safe},
    {"sort", f_sort},
    {"string", f_string},
    {"sum", f_sum},
    {"title", f_title},
    {"tojson", f_tojson},
    {"trim", f_trim},
    {"unique", f_unique},
    {"upper", f_upper},
    {"wordcount", f_wordcount},
};

}  // namespace

std::span<const NamedBuiltin> filters() {
    return kFilters;
}

std::int32_t filter_index(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kFilters); ++i) {
        if (kFilters[i].name == name) {
            return static_cast<std::int32_t>(i);
        }
    }
    return -1;
}

bool is_calling_filter(std::string_view name) {
    return name == "map" || name == "select" || name == "reject" || name == "selectattr" ||
           name == "rejectattr";
}

}  // namespace tollgate::jinja
