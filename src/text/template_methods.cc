// Methods of texts, lists and maps, as Python names them. None changes its object: transformers'
// sandbox forbids that too, and a host's values are not the template's to change.
#include <algorithm>

#include "text/template_builtins.h"

namespace tollgate::jinja {

using Kind = TemplateValue::Kind;

namespace {

TemplateValue text_value(std::string_view text) {
    return TemplateValue::string(std::string(text));
}

Result<const std::string*> text_argument(const Args& args, std::size_t index) {
    if (index >= args.size() || !args.positional[index].is(Kind::kString)) {
        return Error{Fault::kBadInput, "this method takes a text"};
    }
    return &args.positional[index].string();
}

const std::string* optional_text(const Args& args, std::size_t index, std::string_view name) {
    const TemplateValue* value = args.find(index, name);
    return value != nullptr && value->is(Kind::kString) ? &value->string() : nullptr;
}

std::int64_t limit_of(const Args& args, std::size_t index, std::string_view name) {
    const TemplateValue* value = args.find(index, name);
    return value != nullptr && value->is(Kind::kInteger) ? value->integer() : -1;
}

template <bool kLeft, bool kRight>
Result<TemplateValue> m_strip(const Args& args, Budget& /*budget*/) {
    return text_value(
        strip(args.positional[0].string(), optional_text(args, 1, "chars"), kLeft, kRight));
}

template <bool kRight>
Result<TemplateValue> m_split(const Args& args, Budget& budget) {
    const auto parts = split(args.positional[0].string(), optional_text(args, 1, "sep"),
                             limit_of(args, 2, "maxsplit"), kRight);
    if (Status paid = budget.spend(parts.size()); !paid) {
        return std::move(paid).error();
    }
    TemplateValue::List items;
    items.reserve(parts.size());
    for (const std::string_view part : parts) {
        items.push_back(text_value(part));
    }
    return TemplateValue::list(std::move(items));
}

Result<TemplateValue> m_splitlines(const Args& args, Budget& budget) {
    std::string text = args.positional[0].string();
    const std::string newline = "\n";
    text = replace(text, "\r\n", "\n", -1);
    if (!text.empty() && text.back() == '\n') {
        text.pop_back();
    } else if (text.empty()) {
        return TemplateValue::list({});
    }
    const std::vector<TemplateValue> all{TemplateValue::string(text),
                                         TemplateValue::string(newline)};
    return m_split<false>({.positional = all, .named = {}}, budget);
}

template <bool kStart>
Result<TemplateValue> m_affix(const Args& args, Budget& /*budget*/) {
    const std::string& text = args.positional[0].string();
    const auto matches = [&](const TemplateValue& affix) {
        return affix.is(Kind::kString) &&
               (kStart ? text.starts_with(affix.string()) : text.ends_with(affix.string()));
    };
    if (args.size() > 1 && args.positional[1].is(Kind::kList)) {
        const auto& any = args.positional[1].list();
        return TemplateValue::boolean(std::any_of(any.begin(), any.end(), matches));
    }
    TG_TRY(const std::string* affix, text_argument(args, 1));
    return TemplateValue::boolean(kStart ? text.starts_with(*affix) : text.ends_with(*affix));
}

Result<TemplateValue> m_upper(const Args& args, Budget& /*budget*/) {
    return text_value(upper(args.positional[0].string()));
}
Result<TemplateValue> m_lower(const Args& args, Budget& /*budget*/) {
    return text_value(lower(args.positional[0].string()));
}
Result<TemplateValue> m_title(const Args& args, Budget& /*budget*/) {
    return text_value(title(args.positional[0].string()));
}
Result<TemplateValue> m_capitalize(const Args& args, Budget& /*budget*/) {
    return text_value(capitalize(args.positional[0].string()));
}

Result<TemplateValue> m_replace(const Args& args, Budget& budget) {
    TG_TRY(const std::string* from, text_argument(args, 1));
    TG_TRY(const std::string* to, text_argument(args, 2));
    const std::string& text = args.positional[0].string();
    if (Status fits = budget.text(text.size() * (to->size() + 1)); !fits) {
        return std::move(fits).error();
    }
    return text_value(replace(text, *from, *to, limit_of(args, 3, "count")));
}

Result<TemplateValue> m_find(const Args& args, Budget& /*budget*/) {
    TG_TRY(const std::string* what, text_argument(args, 1));
    const std::string& text = args.positional[0].string();
    const std::size_t at = text.find(*what);
    return TemplateValue::integer(
        at == std::string::npos
            ? -1
            : static_cast<std::int64_t>(code_points(std::string_view(text).substr(0, at))));
}

Result<TemplateValue> m_count(const Args& args, Budget& /*budget*/) {
    TG_TRY(const std::string* what, text_argument(args, 1));
    const std::string& text = args.positional[0].string();
    std::int64_t count = 0;
    for (std::size_t at = text.find(*what); at != std::string::npos && !what->empty();
         at = text.find(*what, at + what->size())) {
        ++count;
    }
    return TemplateValue::integer(count);
}

Result<TemplateValue> m_join(const Args& args, Budget& budget) {
    if (args.size() < 2 || !args.positional[1].is(Kind::kList)) {
        return Error{Fault::kBadInput, "join takes a list"};
    }
    std::string out;
    const auto& items = args.positional[1].list();
    for (std::size_t i = 0; i < items.size(); ++i) {
        out += (i == 0 ? "" : args.positional[0].string()) + to_str(items[i], 64);
        if (Status fits = budget.text(out.size()); !fits) {
            return std::move(fits).error();
        }
    }
    return TemplateValue::string(std::move(out));
}

template <class Test>
Result<TemplateValue> all_bytes(const Args& args, Test test) {
    const std::string& text = args.positional[0].string();
    return TemplateValue::boolean(!text.empty() && std::all_of(text.begin(), text.end(), test));
}
Result<TemplateValue> m_isdigit(const Args& args, Budget& /*budget*/) {
    return all_bytes(args, [](char c) { return c >= '0' && c <= '9'; });
}

constexpr NamedBuiltin kText[] = {
    {"strip", m_strip<true, true>},
    {"lstrip", m_strip<true, false>},
    {"rstrip", m_strip<false, true>},
    {"split", m_split<false>},
    {"rsplit", m_split<true>},
    {"splitlines", m_splitlines},
    {"startswith", m_affix<true>},
    {"endswith", m_affix<false>},
    {"upper", m_upper},
    {"lower", m_lower},
    {"title", m_title},
    {"capitalize", m_capitalize},
    {"replace", m_replace},
    {"find", m_find},
    {"count", m_count},
    {"join", m_join},
    {"isdigit", m_isdigit},
};

// --- lists ---

Result<TemplateValue> m_index(const Args& args, Budget& /*budget*/) {
    const auto& items = args.positional[0].list();
    for (std::size_t i = 0; args.size() > 1 && i < items.size(); ++i) {
        if (equal(items[i], args.positional[1])) {
            return TemplateValue::integer(static_cast<std::int64_t>(i));
        }
    }
    return Error{Fault::kBadInput, "index: the item is not in the list"};
}

Result<TemplateValue> m_list_count(const Args& args, Budget& /*budget*/) {
    const auto& items = args.positional[0].list();
    return TemplateValue::integer(
        args.size() < 2 ? 0
                        : std::count_if(items.begin(), items.end(), [&](const TemplateValue& item) {
                              return equal(item, args.positional[1]);
                          }));
}

constexpr NamedBuiltin kList[] = {{"index", m_index}, {"count", m_list_count}};

// --- maps ---

Result<TemplateValue> m_items(const Args& args, Budget& budget) {
    const std::int32_t items = filter_index("items");
    return filters()[static_cast<std::size_t>(items)].function(args, budget);
}
Result<TemplateValue> m_keys(const Args& args, Budget& /*budget*/) {
    TemplateValue::List out;
    out.reserve(args.positional[0].map().size());
    for (const auto& [key, value] : args.positional[0].map()) {
        out.push_back(TemplateValue::string(key));
    }
    return TemplateValue::list(std::move(out));
}
Result<TemplateValue> m_values(const Args& args, Budget& /*budget*/) {
    TemplateValue::List out;
    out.reserve(args.positional[0].map().size());
    for (const auto& [key, value] : args.positional[0].map()) {
        out.push_back(value);
    }
    return TemplateValue::list(std::move(out));
}
Result<TemplateValue> m_get(const Args& args, Budget& /*budget*/) {
    TG_TRY(const std::string* key, text_argument(args, 1));
    const TemplateValue* found = map_find(args.positional[0].map(), *key);
    if (found != nullptr) {
        return *found;
    }
    const TemplateValue* otherwise = args.find(2, "default");
    return otherwise == nullptr ? TemplateValue::none() : *otherwise;
}
constexpr NamedBuiltin kMap[] = {
    {"items", m_items}, {"keys", m_keys}, {"values", m_values}, {"get", m_get}};

std::span<const NamedBuiltin> methods_of(const TemplateValue& value) {
    switch (value.kind()) {
        case Kind::kString:
            return kText;
        case Kind::kList:
            return kList;
        case Kind::kMap:
            return kMap;
        default:
            return {};
    }
}

}  // namespace

bool has_method(const TemplateValue& value, std::string_view name) {
    const auto methods = methods_of(value);
    return std::any_of(methods.begin(), methods.end(),
                       [&](const NamedBuiltin& method) { return method.name == name; });
}

std::optional<Result<TemplateValue>> call_method(std::string_view name, const Args& args,
                                                 Budget& budget) {
    for (const NamedBuiltin& method : methods_of(args.positional[0])) {
        if (method.name == name) {
            return method.function(args, budget);
        }
    }
    return std::nullopt;
}

}  // namespace tollgate::jinja
