// Filters over lists and dicts.
#include "text/template_list_filters.h"

#include <algorithm>

namespace tollgate::jinja {

using Kind = TemplateValue::Kind;

namespace {

constexpr std::size_t kDepth = 64;

Error wrong(std::string_view what, const TemplateValue& value) {
    return {Fault::kBadInput, std::string(what) + ", not " + std::string(kind_name(value))};
}

TemplateValue text_value(std::string text) {
    return TemplateValue::string(std::move(text));
}

}  // namespace

Result<TemplateValue::List> items_of(const TemplateValue& value, Budget& budget) {
    switch (value.kind()) {
        case Kind::kUndefined:
            return TemplateValue::List{};
        case Kind::kList:
            if (Status paid = budget.spend(value.list().size()); !paid) {
                return std::move(paid).error();
            }
            return value.list();
        case Kind::kMap: {
            TemplateValue::List keys;
            keys.reserve(value.map().size());
            for (const auto& [key, item] : value.map()) {
                keys.push_back(text_value(key));
            }
            return keys;
        }
        case Kind::kString: {
            const std::string& text = value.string();
            const std::size_t count = code_points(text);
            if (Status paid = budget.spend(count); !paid) {
                return std::move(paid).error();
            }
            TemplateValue::List characters;
            characters.reserve(count);
            std::string_view rest = text;
            while (!rest.empty()) {
                const std::string_view one = code_point_range(rest, 0, 1);
                characters.push_back(text_value(std::string(one)));
                rest.remove_prefix(one.size());
            }
            return characters;
        }
        default:
            return wrong("expected something to go through", value);
    }
}

std::int64_t integer_or(const TemplateValue* value, std::int64_t otherwise) {
    if (value == nullptr) {
        return otherwise;
    }
    double number = 0.0;
    return value->is(Kind::kInteger)  ? value->integer()
           : value->to_number(number) ? static_cast<std::int64_t>(number)
                                      : otherwise;
}

bool flag_or(const TemplateValue* value, bool otherwise) {
    return value == nullptr ? otherwise : value->truthy();
}

namespace {

// What a sort or an extreme looks at: the item's attribute, letters made small unless told not to.
TemplateValue sort_key(const TemplateValue& item, const TemplateValue* attribute, bool exact) {
    TemplateValue key = item;
    if (attribute != nullptr && item.is(Kind::kMap)) {
        const TemplateValue* found = map_find(item.map(), to_str(*attribute, kDepth));
        key = found == nullptr ? TemplateValue() : *found;
    }
    return exact || !key.is(Kind::kString) ? key : text_value(lower(key.string()));
}

// Merge sort by hand: the order of two items can be an error, which a library's sort cannot carry.
Status merge_sort(std::vector<std::pair<TemplateValue, TemplateValue>>& items, bool reverse,
                  Budget& budget) {
    for (std::size_t width = 1; width < items.size(); width *= 2) {
        std::vector<std::pair<TemplateValue, TemplateValue>> merged;
        merged.reserve(items.size());
        for (std::size_t begin = 0; begin < items.size(); begin += 2 * width) {
            std::size_t left = begin;
            const std::size_t middle = std::min(begin + width, items.size());
            std::size_t right = middle;
            const std::size_t end = std::min(begin + 2 * width, items.size());
            while (left < middle || right < end) {
                bool take_left = right >= end;
                if (left < middle && right < end) {
                    if (Status paid = budget.spend(1); !paid) {
                        return paid;
                    }
                    TG_TRY(const int by, order(items[left].first, items[right].first));
                    take_left = reverse ? by >= 0 : by <= 0;
                }
                merged.push_back(std::move(items[take_left ? left++ : right++]));
            }
        }
        items = std::move(merged);
    }
    return ok();
}

Result<TemplateValue> sorted(const TemplateValue::List& items, const TemplateValue* attribute,
                             bool exact, bool reverse, Budget& budget) {
    std::vector<std::pair<TemplateValue, TemplateValue>> keyed;
    keyed.reserve(items.size());
    for (const TemplateValue& item : items) {
        keyed.emplace_back(sort_key(item, attribute, exact), item);
    }
    if (Status done = merge_sort(keyed, reverse, budget); !done) {
        return std::move(done).error();
    }
    TemplateValue::List out;
    out.reserve(keyed.size());
    for (auto& [key, item] : keyed) {
        out.push_back(std::move(item));
    }
    return TemplateValue::list(std::move(out));
}

Result<TemplateValue> extreme(const Args& args, Budget& budget, int sign) {
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    const bool exact = flag_or(args.find(1, "case_sensitive"), false);
    const TemplateValue* attribute = args.find(2, "attribute");
    const TemplateValue* best = nullptr;
    for (const TemplateValue& item : items) {
        if (best != nullptr) {
            TG_TRY(const int by,
                   order(sort_key(item, attribute, exact), sort_key(*best, attribute, exact)));
            if (by * sign <= 0) {
                continue;
            }
        }
        best = &item;
    }
    return best == nullptr ? TemplateValue() : *best;
}

}  // namespace

Result<TemplateValue> f_join(const Args& args, Budget& budget) {
    const TemplateValue* separator = args.find(1, "d");
    const TemplateValue* attribute = args.find(2, "attribute");
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    const std::string between = separator == nullptr ? "" : to_str(*separator, kDepth);
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const TemplateValue* item = &items[i];
        if (attribute != nullptr && item->is(Kind::kMap)) {
            item = map_find(item->map(), to_str(*attribute, kDepth));
        }
        out += (i == 0 ? "" : between) + (item == nullptr ? "" : to_str(*item, kDepth));
        if (Status fits = budget.text(out.size()); !fits) {
            return std::move(fits).error();
        }
    }
    return text_value(std::move(out));
}

Result<TemplateValue> f_first(const Args& args, Budget& budget) {
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    return items.empty() ? TemplateValue() : items.front();
}

Result<TemplateValue> f_last(const Args& args, Budget& budget) {
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    return items.empty() ? TemplateValue() : items.back();
}

Result<TemplateValue> f_list(const Args& args, Budget& budget) {
    TG_TRY(TemplateValue::List items, items_of(args.positional[0], budget));
    return TemplateValue::list(std::move(items));
}

Result<TemplateValue> f_reverse(const Args& args, Budget& budget) {
    TG_TRY(TemplateValue::List items, items_of(args.positional[0], budget));
    std::reverse(items.begin(), items.end());
    if (!args.positional[0].is(Kind::kString)) {
        return TemplateValue::list(std::move(items));
    }
    std::string text;
    for (const TemplateValue& item : items) {
        text += item.string();
    }
    return text_value(std::move(text));
}

Result<TemplateValue> f_sort(const Args& args, Budget& budget) {
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    return sorted(items, args.find(3, "attribute"), flag_or(args.find(2, "case_sensitive"), false),
                  flag_or(args.find(1, "reverse"), false), budget);
}

Result<TemplateValue> f_unique(const Args& args, Budget& budget) {
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    const bool exact = flag_or(args.find(1, "case_sensitive"), false);
    const TemplateValue* attribute = args.find(2, "attribute");
    std::vector<TemplateValue> seen;
    TemplateValue::List out;
    for (const TemplateValue& item : items) {
        const TemplateValue key = sort_key(item, attribute, exact);
        if (Status paid = budget.spend(seen.size() + 1); !paid) {
            return std::move(paid).error();
        }
        const bool known = std::any_of(seen.begin(), seen.end(),
                                       [&](const TemplateValue& old) { return equal(old, key); });
        if (!known) {
            seen.push_back(key);
            out.push_back(item);
        }
    }
    return TemplateValue::list(std::move(out));
}

Result<TemplateValue> f_min(const Args& args, Budget& budget) {
    return extreme(args, budget, -1);
}

Result<TemplateValue> f_max(const Args& args, Budget& budget) {
    return extreme(args, budget, 1);
}

Result<TemplateValue> f_sum(const Args& args, Budget& budget) {
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    const TemplateValue* attribute = args.find(1, "attribute");
    const TemplateValue* start = args.find(2, "start");
    bool whole = start == nullptr || start->is(Kind::kInteger);
    std::int64_t exact = whole ? integer_or(start, 0) : 0;
    double total = 0.0;
    if (start != nullptr) {
        (void)start->to_number(total);
    }
    for (const TemplateValue& item : items) {
        const TemplateValue value = sort_key(item, attribute, true);
        double number = 0.0;
        if (!value.to_number(number)) {
            return wrong("sum is of numbers", value);
        }
        total += number;
        whole = whole && !value.is(Kind::kFloat) &&
                !__builtin_add_overflow(exact, integer_or(&value, 0), &exact);
    }
    return whole ? TemplateValue::integer(exact) : TemplateValue::real(total);
}

Result<TemplateValue> f_items(const Args& args, Budget& budget) {
    const TemplateValue& in = args.positional[0];
    if (in.is(Kind::kUndefined)) {
        return TemplateValue::list({});
    }
    if (!in.is(Kind::kMap)) {
        return wrong("items is of a dict", in);
    }
    if (Status paid = budget.spend(in.map().size()); !paid) {
        return std::move(paid).error();
    }
    TemplateValue::List out;
    out.reserve(in.map().size());
    for (const auto& [key, value] : in.map()) {
        out.push_back(TemplateValue::list({text_value(key), value}));
    }
    return TemplateValue::list(std::move(out));
}

Result<TemplateValue> f_dictsort(const Args& args, Budget& budget) {
    TG_TRY(const TemplateValue pairs, f_items(args, budget));
    const bool exact = flag_or(args.find(1, "case_sensitive"), false);
    const TemplateValue* by = args.find(2, "by");
    const std::size_t column = by != nullptr && to_str(*by, 1) == "value" ? 1 : 0;
    std::vector<std::pair<TemplateValue, TemplateValue>> keyed;
    keyed.reserve(pairs.list().size());
    for (const TemplateValue& pair : pairs.list()) {
        keyed.emplace_back(sort_key(pair.list()[column], nullptr, exact), pair);
    }
    if (Status done = merge_sort(keyed, flag_or(args.find(3, "reverse"), false), budget); !done) {
        return std::move(done).error();
    }
    TemplateValue::List out;
    out.reserve(keyed.size());
    for (auto& [key, pair] : keyed) {
        out.push_back(std::move(pair));
    }
    return TemplateValue::list(std::move(out));
}

Result<TemplateValue> f_batch(const Args& args, Budget& budget) {
    TG_TRY(const TemplateValue::List items, items_of(args.positional[0], budget));
    const std::int64_t count = integer_or(args.find(1, "linecount"), 0);
    const TemplateValue* fill = args.find(2, "fill_with");
    if (count < 1 || count > 100000) {
        return Error{Fault::kBadInput, "linecount = " + std::to_string(count) + ": 1 to 100000"};
    }
    const auto each = static_cast<std::size_t>(count);
    TemplateValue::List out;
    for (std::size_t i = 0; i < items.size(); i += each) {
        TemplateValue::List row;
        for (std::size_t j = i; j < std::min(i + each, items.size()); ++j) {
            row.push_back(items[j]);
        }
        if (fill != nullptr && !fill->is(Kind::kNone)) {
            if (Status paid = budget.spend(each); !paid) {
                return std::move(paid).error();
            }
            row.resize(each, *fill);
        }
        out.push_back(TemplateValue::list(std::move(row)));
    }
    return TemplateValue::list(std::move(out));
}

}  // namespace tollgate::jinja
