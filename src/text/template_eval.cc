// Expressions of one rendering.
#include <algorithm>
#include <cmath>

#include "text/template_format.h"
#include "text/template_interpreter.h"

namespace tollgate::jinja {

using Kind = TemplateValue::Kind;

TemplateValue Interpreter::eval(const Expr& expr) {
    if (expr.op == Op::kConstant) {
        return expr.value;
    }
    if (failed_ || !spend()) {
        return {};
    }
    switch (expr.op) {
        case Op::kName:
            return eval_name(expr);
        case Op::kList:
            return eval_list(expr);
        case Op::kMap:
            return eval_map(expr);
        case Op::kAttribute:
            return eval_attribute(expr);
        case Op::kItem:
            return eval_item(expr);
        case Op::kSlice:
            return eval_slice(expr);
        case Op::kCall:
            return eval_call(expr);
        case Op::kFilter:
            return eval_filter(expr);
        case Op::kTest:
            return eval_test(expr);
        case Op::kLoop:
            return eval_loop(expr);
        case Op::kNot:
            return TemplateValue::boolean(!eval(expr.kids[0]).truthy());
        case Op::kAnd:
        case Op::kOr: {
            TemplateValue left = eval(expr.kids[0]);
            return left.truthy() == (expr.op == Op::kOr) ? left : eval(expr.kids[1]);
        }
        case Op::kIfElse:
            return eval(expr.kids[eval(expr.kids[0]).truthy() ? 1 : 2]);
        case Op::kConcat:
            return eval_concat(expr);
        case Op::kCompare:
            return eval_compare(expr);
        case Op::kMinus:
        case Op::kPlus:
            return eval_sign(expr);
        default:
            return arithmetic(expr);
    }
}

TemplateValue Interpreter::eval_name(const Expr& expr) {
    return *value_of(expr.ref);
}

TemplateValue Interpreter::eval_list(const Expr& expr) {
    TemplateValue::List items;
    items.reserve(expr.kids.size());
    for (const Expr& kid : expr.kids) {
        items.push_back(eval(kid));
    }
    return TemplateValue::list(std::move(items));
}

TemplateValue Interpreter::eval_map(const Expr& expr) {
    TemplateValue::Map map;
    map.reserve(expr.kids.size() / 2);
    for (std::size_t i = 0; i + 1 < expr.kids.size(); i += 2) {
        const TemplateValue key = eval(expr.kids[i]);
        if (!failed_ && !key.is(Kind::kString)) {
            return fail("a dict's key is a text here, not " + std::string(kind_name(key)));
        }
        if (failed_ || !spend(map.size() / 8 + 1)) {
            return {};
        }
        map_set(map, key.string(), eval(expr.kids[i + 1]));
    }
    return TemplateValue::map(std::move(map));
}

TemplateValue Interpreter::member(const TemplateValue& of, std::string_view name) {
    if (of.is(Kind::kMap)) {
        const TemplateValue* found = map_find(of.map(), name);
        return found == nullptr ? TemplateValue() : *found;
    }
    if (of.is(Kind::kObject)) {
        return of.object().attribute(name);
    }
    if (of.is(Kind::kUndefined)) {
        return fail("an undefined value has no \"" + std::string(name) + "\"");
    }
    return {};
}

TemplateValue Interpreter::eval_attribute(const Expr& expr) {
    const TemplateValue of = eval(expr.kids[0]);
    line_ = expr.line;
    return failed_ ? TemplateValue() : member(of, expr.text);
}

TemplateValue Interpreter::eval_item(const Expr& expr) {
    const TemplateValue of = eval(expr.kids[0]);
    const TemplateValue key = eval(expr.kids[1]);
    if (failed_) {
        return {};
    }
    if (key.is(Kind::kString)) {
        return member(of, key.string());
    }
    if (of.is(Kind::kUndefined)) {
        return fail("an undefined value has no items");
    }
    if (!key.is(Kind::kInteger) || !(of.is(Kind::kList) || of.is(Kind::kString))) {
        return {};
    }
    const std::size_t size = of.is(Kind::kList) ? of.list().size() : code_points(of.string());
    std::int64_t at = key.integer();
    at = at < 0 ? at + static_cast<std::int64_t>(size) : at;
    if (at < 0 || at >= static_cast<std::int64_t>(size)) {
        return {};
    }
    const auto index = static_cast<std::size_t>(at);
    if (of.is(Kind::kList)) {
        return of.list()[index];
    }
    return TemplateValue::string(std::string(code_point_range(of.string(), index, index + 1)));
}

TemplateValue Interpreter::eval_slice(const Expr& expr) {
    const TemplateValue of = eval(expr.kids[0]);
    TemplateValue parts[3] = {eval(expr.kids[1]), eval(expr.kids[2]), eval(expr.kids[3])};
    if (failed_) {
        return {};
    }
    if (!of.is(Kind::kList) && !of.is(Kind::kString)) {
        return fail("a slice is of a text or list, not " + std::string(kind_name(of)));
    }
    for (const TemplateValue& part : parts) {
        if (!part.is(Kind::kNone) && !part.is(Kind::kInteger)) {
            return fail("a slice's bounds are integers");
        }
    }
    const auto size =
        static_cast<std::int64_t>(of.is(Kind::kList) ? of.list().size() : code_points(of.string()));
    const std::int64_t step = parts[2].is(Kind::kNone) ? 1 : parts[2].integer();
    if (step == 0 || step < -size - 1 || !spend(static_cast<std::uint64_t>(size))) {
        return step == 0 ? fail("a slice's step is not 0") : TemplateValue::list({});
    }
    const auto bound = [&](const TemplateValue& part, std::int64_t otherwise) {
        if (part.is(Kind::kNone)) {
            return otherwise;
        }
        const std::int64_t at = part.integer() < 0 ? part.integer() + size : part.integer();
        return std::clamp<std::int64_t>(at, step < 0 ? -1 : 0, step < 0 ? size - 1 : size);
    };
    const std::int64_t begin = bound(parts[0], step < 0 ? size - 1 : 0);
    const std::int64_t end = bound(parts[1], step < 0 ? -1 : size);
    if (of.is(Kind::kString) && step == 1) {
        return TemplateValue::string(std::string(code_point_range(
            of.string(), static_cast<std::size_t>(begin), static_cast<std::size_t>(end))));
    }
    const TemplateValue::List all = of.is(Kind::kList) ? of.list() : *items_of(of);
    TemplateValue::List items;
    for (std::int64_t i = begin; step < 0 ? i > end : i < end; i += std::min(step, size + 1)) {
        items.push_back(all[static_cast<std::size_t>(i)]);
    }
    if (of.is(Kind::kList)) {
        return TemplateValue::list(std::move(items));
    }
    std::string text;
    for (const TemplateValue& item : items) {
        text += item.string();
    }
    return TemplateValue::string(std::move(text));
}

Interpreter::EvaluatedArgs Interpreter::evaluate_args(const Expr& expr, std::size_t first) {
    EvaluatedArgs args;
    args.positional.reserve(expr.kids.size());
    for (std::size_t i = first; i < expr.kids.size(); ++i) {
        args.positional.push_back(eval(expr.kids[i]));
    }
    args.named.reserve(expr.named.size() + 1);
    for (const auto& [name, value] : expr.named) {
        args.named.emplace_back(name, eval(value));
    }
    return args;
}

Result<TemplateValue> Interpreter::host_call(const TemplateFunction& function, const Args& args) {
    return function({.positional = args.positional, .named = args.named});
}

// A call of a plain name that no value stands behind: the host's functions, then the language's.
TemplateValue Interpreter::call_named(const Expr& expr, const Args& args, bool& done) {
    const std::string& name = expr.kids[0].text;
    done = true;
    for (const auto& [known, function] : host_.functions) {
        if (known == name) {
            return take(host_call(function, args));
        }
    }
    if (name == "namespace") {
        for (const NamedBuiltin& known : functions()) {
            if (known.name == "dict") {
                TemplateValue space = take(known.function(args, budget_));
                if (!failed_) {
                    namespaces_.push_back(&space.map());
                    kept_.push_back(space);
                }
                return space;
            }
        }
    }
    for (const NamedBuiltin& known : functions()) {
        if (known.name == name) {
            return take(known.function(args, budget_));
        }
    }
    done = false;
    return {};
}

TemplateValue Interpreter::eval_call(const Expr& expr) {
    const Expr& callee = expr.kids[0];
    if (callee.op == Op::kAttribute) {
        const TemplateValue of = eval(callee.kids[0]);
        if (failed_) {
            return {};
        }
        const bool own = of.is(Kind::kMap) && map_find(of.map(), callee.text) != nullptr &&
                         map_find(of.map(), callee.text)->is(Kind::kFunction);
        if (!own && has_method(of, callee.text)) {
            EvaluatedArgs args = evaluate_args(expr, 1);
            args.positional.insert(args.positional.begin(), of);
            line_ = expr.line;
            return failed_ ? TemplateValue()
                           : take(*call_method(callee.text, args.view(), budget_));
        }
    }
    const TemplateValue function = eval(callee);
    const EvaluatedArgs args = evaluate_args(expr, 1);
    line_ = expr.line;
    if (failed_) {
        return {};
    }
    if (function.is(Kind::kFunction)) {
        return take(host_call(function.function(), args.view()));
    }
    if (callee.op == Op::kName) {
        bool done = false;
        TemplateValue value = call_named(expr, args.view(), done);
        if (done) {
            return value;
        }
        return fail("\"" + callee.text + "\" is " + std::string(kind_name(function)) +
                    ", not a function");
    }
    return fail(callee.op == Op::kAttribute
                    ? "there is no method \"" + callee.text + "\" here"
                    : std::string(kind_name(function)) + " cannot be called");
}

TemplateValue Interpreter::eval_filter(const Expr& expr) {
    const EvaluatedArgs args = evaluate_args(expr, 0);
    line_ = expr.line;
    if (failed_) {
        return {};
    }
    if (expr.builtin < 0) {
        return take(host_call(host_.filters[expr.host].second, args.view()));
    }
    if (expr.builtin == INT32_MAX) {
        return calling_filter(expr, args.view());
    }
    return take(filters()[static_cast<std::size_t>(expr.builtin)].function(args.view(), budget_));
}

// map('upper'), map(attribute='x'), map('default', 1)
TemplateValue Interpreter::mapped(const TemplateValue& item, const Args& args,
                                  const TemplateValue* attribute) {
    if (attribute != nullptr) {
        TemplateValue value = item;
        for (const std::string_view part : split(attribute->string(), nullptr, -1, false)) {
            const std::string dot = ".";
            for (const std::string_view name : split(part, &dot, -1, false)) {
                value = value.is(Kind::kUndefined) ? value : member(value, name);
            }
        }
        const TemplateValue* otherwise = args.find(SIZE_MAX, "default");
        return value.is(Kind::kUndefined) && otherwise != nullptr ? *otherwise : value;
    }
    if (args.size() < 2 || !args.positional[1].is(Kind::kString)) {
        return fail("map takes a filter's name or attribute=");
    }
    const std::string& name = args.positional[1].string();
    const std::int32_t filter = filter_index(name);
    if (filter < 0) {
        return fail("map: unknown filter \"" + name + "\"");
    }
    std::vector<TemplateValue> values{item};
    values.insert(values.end(), args.positional.begin() + 2, args.positional.end());
    return take(
        filters()[static_cast<std::size_t>(filter)].function({values, args.named}, budget_));
}

// select('test', …), selectattr('name', 'test', …)
bool Interpreter::selected(std::string_view how, const TemplateValue& item, const Args& args) {
    const bool attribute = how.ends_with("attr");
    TemplateValue value = item;
    std::size_t next = 1;
    if (attribute) {
        if (args.size() < 2 || !args.positional[1].is(Kind::kString)) {
            fail(std::string(how) + " takes an attribute's name");
            return false;
        }
        const std::string dot = ".";
        for (const std::string_view name : split(args.positional[1].string(), &dot, -1, false)) {
            value = value.is(Kind::kUndefined) ? value : member(value, name);
        }
        next = 2;
    }
    if (args.size() <= next) {
        return value.truthy();
    }
    const std::string name = to_str(args.positional[next], 1);
    const std::int32_t test = test_index(name);
    if (test < 0) {
        fail(std::string(how) + ": unknown test \"" + name + "\"");
        return false;
    }
    std::vector<TemplateValue> values{value};
    values.insert(values.end(), args.positional.begin() + static_cast<std::ptrdiff_t>(next) + 1,
                  args.positional.end());
    return take(tests()[static_cast<std::size_t>(test)].function({values, args.named}, budget_))
        .truthy();
}

TemplateValue Interpreter::calling_filter(const Expr& expr, const Args& args) {
    Result<TemplateValue::List> items = items_of(args.positional[0]);
    if (!items) {
        return fail(std::move(items).error());
    }
    const TemplateValue* attribute = args.find(SIZE_MAX, "attribute");
    if (attribute != nullptr && !attribute->is(Kind::kString)) {
        return fail("attribute= takes a name");
    }
    const bool reject = expr.text.starts_with("reject");
    TemplateValue::List out;
    for (const TemplateValue& item : *items) {
        if (!spend()) {
            return {};
        }
        if (expr.text == "map") {
            out.push_back(mapped(item, args, attribute));
        } else if (selected(expr.text, item, args) != reject) {
            out.push_back(item);
        }
        if (failed_) {
            return {};
        }
    }
    return TemplateValue::list(std::move(out));
}

TemplateValue Interpreter::eval_test(const Expr& expr) {
    const EvaluatedArgs args = evaluate_args(expr, 0);
    line_ = expr.line;
    if (failed_) {
        return {};
    }
    return take(tests()[static_cast<std::size_t>(expr.builtin)].function(args.view(), budget_));
}

TemplateValue Interpreter::eval_loop(const Expr& expr) {
    if (loops_.empty()) {
        return fail("loop is only known inside of a loop");
    }
    const std::string& what = expr.text;
    const std::size_t index = loops_.back().index;
    const std::size_t size = loops_.back().items->size();
    const auto number = [](std::size_t n) {
        return TemplateValue::integer(static_cast<std::int64_t>(n));
    };
    if (what == "index") {
        return number(index + 1);
    }
    if (what == "index0") {
        return number(index);
    }
    if (what == "first") {
        return TemplateValue::boolean(index == 0);
    }
    if (what == "last") {
        return TemplateValue::boolean(index + 1 == size);
    }
    if (what == "length") {
        return number(size);
    }
    if (what == "revindex") {
        return number(size - index);
    }
    if (what == "revindex0") {
        return number(size - index - 1);
    }
    if (what == "depth" || what == "depth0") {
        return number(loops_.size() - (what == "depth" ? 0 : 1));
    }
    if (what == "previtem") {
        return index == 0 ? TemplateValue() : (*loops_.back().items)[index - 1];
    }
    if (what == "nextitem") {
        return index + 1 == size ? TemplateValue() : (*loops_.back().items)[index + 1];
    }
    const TemplateValue values = eval_list(expr);
    if (what == "cycle") {
        return values.list().empty() ? fail("loop.cycle takes what to go through")
                                     : values.list()[index % values.list().size()];
    }
    Loop& loop = loops_.back();
    const bool changed = !loop.has_changed || !equal(loop.changed, values);
    loop.changed = values;
    loop.has_changed = true;
    return TemplateValue::boolean(changed);
}

TemplateValue Interpreter::eval_concat(const Expr& expr) {
    std::string text;
    for (const Expr& kid : expr.kids) {
        text += to_str(eval(kid), limits_.depth);
        if (!fits(text.size()) || !spend(text.size() / 64)) {
            return {};
        }
    }
    return TemplateValue::string(std::move(text));
}

TemplateValue Interpreter::eval_compare(const Expr& expr) {
    TemplateValue left = eval(expr.kids[0]);
    for (std::size_t i = 0; i < expr.compares.size(); ++i) {
        TemplateValue right = eval(expr.kids[i + 1]);
        if (failed_) {
            return {};
        }
        line_ = expr.line;
        bool holds = false;
        const Compare what = expr.compares[i];
        if (what == Compare::kEq || what == Compare::kNe) {
            holds = equal(left, right) == (what == Compare::kEq);
        } else if (what == Compare::kIn || what == Compare::kNotIn) {
            const Result<bool> inside = contains(right, left);
            if (!inside) {
                return fail(inside.error());
            }
            holds = *inside == (what == Compare::kIn);
        } else {
            const Result<int> by = order(left, right);
            if (!by) {
                return fail(by.error());
            }
            holds = what == Compare::kLt   ? *by < 0
                    : what == Compare::kLe ? *by <= 0
                    : what == Compare::kGt ? *by > 0
                                           : *by >= 0;
        }
        if (!holds) {
            return TemplateValue::boolean(false);
        }
        left = std::move(right);
    }
    return TemplateValue::boolean(true);
}

TemplateValue Interpreter::eval_sign(const Expr& expr) {
    const TemplateValue value = eval(expr.kids[0]);
    double number = 0.0;
    if (failed_) {
        return {};
    }
    if (!value.to_number(number)) {
        return fail("a sign is of a number, not " + std::string(kind_name(value)));
    }
    if (value.is(Kind::kFloat)) {
        return TemplateValue::real(expr.op == Op::kMinus ? -number : number);
    }
    std::int64_t whole = value.is(Kind::kBool) ? (value.boolean() ? 1 : 0) : value.integer();
    if (expr.op == Op::kMinus && __builtin_sub_overflow(std::int64_t{0}, whole, &whole)) {
        return fail("a number does not fit 64 bits");
    }
    return TemplateValue::integer(whole);
}

Result<TemplateValue::List> Interpreter::items_of(const TemplateValue& value) {
    const std::int32_t list = filter_index("list");
    const Args args{std::span(&value, 1), {}};
    TG_TRY(const TemplateValue items,
           filters()[static_cast<std::size_t>(list)].function(args, budget_));
    return items.list();
}

}  // namespace tollgate::jinja
