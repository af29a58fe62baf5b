// The language's tests (`is …`) and functions.
#include "text/template_builtins.h"

namespace tollgate::jinja {

using Kind = TemplateValue::Kind;

namespace {

TemplateValue yes_if(bool b) {
    return TemplateValue::boolean(b);
}

template <Kind kKind>
Result<TemplateValue> t_kind(const Args& args, Budget& /*budget*/) {
    return yes_if(args.positional[0].is(kKind));
}

Result<TemplateValue> t_defined(const Args& args, Budget& /*budget*/) {
    return yes_if(!args.positional[0].is(Kind::kUndefined));
}
Result<TemplateValue> t_number(const Args& args, Budget& /*budget*/) {
    double number = 0.0;
    return yes_if(args.positional[0].to_number(number));
}
Result<TemplateValue> t_iterable(const Args& args, Budget& /*budget*/) {
    const TemplateValue& in = args.positional[0];
    return yes_if(in.is(Kind::kString) || in.is(Kind::kList) || in.is(Kind::kMap) ||
                  in.is(Kind::kUndefined));
}
Result<TemplateValue> t_true(const Args& args, Budget& /*budget*/) {
    return yes_if(args.positional[0].is(Kind::kBool) && args.positional[0].boolean());
}
Result<TemplateValue> t_false(const Args& args, Budget& /*budget*/) {
    return yes_if(args.positional[0].is(Kind::kBool) && !args.positional[0].boolean());
}

Result<const TemplateValue*> other(const Args& args) {
    if (args.size() < 2) {
        return Error{Fault::kBadInput, "this test compares with something: is ge(3)"};
    }
    return &args.positional[1];
}

Result<TemplateValue> t_eq(const Args& args, Budget& /*budget*/) {
    TG_TRY(const TemplateValue* with, other(args));
    return yes_if(equal(args.positional[0], *with));
}
Result<TemplateValue> t_ne(const Args& args, Budget& /*budget*/) {
    TG_TRY(const TemplateValue* with, other(args));
    return yes_if(!equal(args.positional[0], *with));
}
// kSign: which of <, <=, >, >= is meant, as the values of order() that count as yes.
template <bool kBelow, bool kSame, bool kAbove>
Result<TemplateValue> t_order(const Args& args, Budget& /*budget*/) {
    TG_TRY(const TemplateValue* with, other(args));
    TG_TRY(const int by, order(args.positional[0], *with));
    return yes_if(by < 0 ? kBelow : by == 0 ? kSame : kAbove);
}
Result<TemplateValue> t_in(const Args& args, Budget& /*budget*/) {
    TG_TRY(const TemplateValue* container, other(args));
    TG_TRY(const bool found, contains(*container, args.positional[0]));
    return yes_if(found);
}
Result<TemplateValue> t_sameas(const Args& args, Budget& /*budget*/) {
    TG_TRY(const TemplateValue* with, other(args));
    const TemplateValue& in = args.positional[0];
    if (in.kind() != with->kind()) {
        return yes_if(false);
    }
    if (in.is(Kind::kList)) {
        return yes_if(&in.list() == &with->list());
    }
    if (in.is(Kind::kMap)) {
        return yes_if(&in.map() == &with->map());
    }
    return yes_if(equal(in, *with));
}

Result<std::int64_t> whole(const TemplateValue& value) {
    if (value.is(Kind::kInteger)) {
        return value.integer();
    }
    return Error{Fault::kBadInput,
                 "this test is of an integer, not " + std::string(kind_name(value))};
}
Result<TemplateValue> t_odd(const Args& args, Budget& /*budget*/) {
    TG_TRY(const std::int64_t value, whole(args.positional[0]));
    return yes_if(value % 2 != 0);
}
Result<TemplateValue> t_even(const Args& args, Budget& /*budget*/) {
    TG_TRY(const std::int64_t value, whole(args.positional[0]));
    return yes_if(value % 2 == 0);
}
Result<TemplateValue> t_divisible(const Args& args, Budget& /*budget*/) {
    TG_TRY(const TemplateValue* by, other(args));
    TG_TRY(const std::int64_t value, whole(args.positional[0]));
    TG_TRY(const std::int64_t divisor, whole(*by));
    if (divisor == 0) {
        return Error{Fault::kBadInput, "division by zero"};
    }
    return yes_if(divisor == -1 || value % divisor == 0);
}
Result<TemplateValue> t_lower(const Args& args, Budget& /*budget*/) {
    const std::string text = to_str(args.positional[0], 64);
    return yes_if(text == lower(text) && text != upper(text));
}
Result<TemplateValue> t_upper(const Args& args, Budget& /*budget*/) {
    const std::string text = to_str(args.positional[0], 64);
    return yes_if(text == upper(text) && text != lower(text));
}

constexpr NamedBuiltin kTests[] = {
    {"boolean", t_kind<Kind::kBool>},
    {"callable", t_kind<Kind::kFunction>},
    {"defined", t_defined},
    {"divisibleby", t_divisible},
    {"eq", t_eq},
    {"equalto", t_eq},
    {"even", t_even},
    {"false", t_false},
    {"float", t_kind<Kind::kFloat>},
    {"ge", t_order<false, true, true>},
    {"greaterthan", t_order<false, false, true>},
    {"gt", t_order<false, false, true>},
    {"in", t_in},
    {"integer", t_kind<Kind::kInteger>},
    {"iterable", t_iterable},
    {"le", t_order<true, true, false>},
    {"lessthan", t_order<true, false, false>},
    {"lower", t_lower},
    {"lt", t_order<true, false, false>},
    {"mapping", t_kind<Kind::kMap>},
    {"ne", t_ne},
    {"none", t_kind<Kind::kNone>},
    {"number", t_number},
    {"odd", t_odd},
    {"sameas", t_sameas},
    {"sequence", t_iterable},
    {"string", t_kind<Kind::kString>},
    {"true", t_true},
    {"undefined", t_kind<Kind::kUndefined>},
    {"upper", t_upper},
};

constexpr std::uint64_t kMostRange = 100'000;

Result<TemplateValue> range(const Args& args, Budget& budget) {
    std::int64_t parts[3] = {0, 0, 1};
    if (args.size() == 0 || args.size() > 3) {
        return Error{Fault::kBadInput, "range takes one to three integers"};
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (!args.positional[i].is(Kind::kInteger)) {
            return Error{Fault::kBadInput,
                         "range takes integers, not " + std::string(kind_name(args.positional[i]))};
        }
        parts[args.size() == 1 ? 1 : i] = args.positional[i].integer();
    }
    const auto [begin, end, step] = parts;
    if (step == 0) {
        return Error{Fault::kBadInput, "range's step is not 0"};
    }
    // Unsigned, so that the distance of any two integers fits.
    const bool any = step > 0 ? begin < end : begin > end;
    const std::uint64_t distance =
        step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin)
                 : static_cast<std::uint64_t>(begin) - static_cast<std::uint64_t>(end);
    const std::uint64_t size =
        step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
    const std::uint64_t count = any ? (distance - 1) / size + 1 : 0;
    if (count > kMostRange) {
        return Error{Fault::kTooLarge,
                     "a range has at most " + std::to_string(kMostRange) + " items"};
    }
    TemplateValue::List items;
    if (count > 0) {
        if (Status paid = budget.spend(count); !paid) {
            return std::move(paid).error();
        }
        items.reserve(count);
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
            items.push_back(TemplateValue::integer(begin + i * step));
        }
    }
    return TemplateValue::list(std::move(items));
}

Result<TemplateValue> dict(const Args& args, Budget& /*budget*/) {
    TemplateValue::Map map;
    if (args.size() > 0 && args.positional[0].is(Kind::kMap)) {
        map = args.positional[0].map();
    }
    for (const auto& [name, value] : args.named) {
        map_set(map, name, value);
    }
    return TemplateValue::map(std::move(map));
}

Result<TemplateValue> raise_exception(const Args& args, Budget& /*budget*/) {
    return Error{Fault::kBadInput,
                 args.size() == 0 ? "the template refused" : to_str(args.positional[0], 64),
                 "raised by the template"};
}

constexpr NamedBuiltin kFunctions[] = {
    {"dict", dict},
    {"raise_exception", raise_exception},
    {"range", range},
};

}  // namespace

std::span<const NamedBuiltin> tests() {
    return kTests;
}
std::span<const NamedBuiltin> functions() {
    return kFunctions;
}
std::int32_t test_index(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kTests); ++i) {
        if (kTests[i].name == name) {
            return static_cast<std::int32_t>(i);
        }
    }
    return name == "==" ? test_index("eq") : -1;
}

}  // namespace tollgate::jinja
