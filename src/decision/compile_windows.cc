// The compiler's windows: functions, keys, conditions, order, stored slots and the plan's
// signature.
#include <algorithm>
#include <array>
#include <utility>

#include "decision/analyse.h"
#include "decision/compile_expr.h"
#include "decision/compile_pack.h"
#include "decision/describe.h"

namespace tollgate {
namespace {

constexpr std::array<std::string_view, 12> kFunctions{"count", "sum",    "avg",        "min",
                                                      "max",   "median", "distinct",   "last",
                                                      "run",   "share",  "first_seen", "last_seen"};
constexpr std::size_t kMaxKeys = 8;
constexpr std::size_t kMaxKeyFields = 3;
constexpr std::size_t kMaxKept = 32;
constexpr Micros kDay{std::int64_t{86'400} * 1'000'000};
constexpr Micros kLastRetention = 90 * kDay;
constexpr Micros kLeastRetention{std::int64_t{3'600} * 1'000'000};
constexpr Micros kMostRetention = 400 * kDay;

bool takes_nothing(WindowFn fn) {
    return fn == WindowFn::kCount || fn == WindowFn::kFirstSeen || fn == WindowFn::kLastSeen;
}
bool adds_up(WindowFn fn) {
    return fn == WindowFn::kSum || fn == WindowFn::kAvg || fn == WindowFn::kMedian;
}
bool may_be_unknown(WindowFn fn) {
    return fn != WindowFn::kCount && fn != WindowFn::kSum && fn != WindowFn::kDistinct &&
           fn != WindowFn::kRun;
}

char slot_letter(ValueKind kind) {
    constexpr std::string_view kLetters = "?!bnmstdc";
    return kLetters[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string_view to_text(WindowFn fn) {
    return kFunctions[static_cast<std::size_t>(fn)];
}
WindowFn window_fn_of(std::string_view name, bool& known) {
    const auto* found = std::find(kFunctions.begin(), kFunctions.end(), name);
    known = found != kFunctions.end();
    return static_cast<WindowFn>(known ? found - kFunctions.begin() : 0);
}

void PackCompiler::check_windows() {
    if (windows_.size() > limits_.max_windows) {
        report_.error(windows_[limits_.max_windows].ast->name.span,
                      {"too-large",
                       std::to_string(windows_.size()) + " windows; at most " +
                           std::to_string(limits_.max_windows) + " are allowed",
                       ""});
    }
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        check_window(i);
    }
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        check_where(i);
        check_kept_current(windows_[i]);
    }
    order_windows();
}

void PackCompiler::check_window(std::size_t index) {
    Draft& draft = windows_[index];
    Symbols::Window& symbol = symbols_.windows[index];
    draft.def.name = draft.ast->name.text;
    bool known = false;
    draft.def.fn = window_fn_of(draft.ast->function.text, known);
    symbol.fn = draft.def.fn;
    if (!known) {
        const std::string_view near = nearest_name(draft.ast->function.text, kFunctions);
        report_.error(draft.ast->function.span,
                      {"unknown-function",
                       "there is no window function " + short_quote(draft.ast->function.text),
                       near.empty() ? "" : "did you mean " + std::string(near) + "()?"});
        draft.broken = true;
        return;
    }
    const bool argument = check_argument(draft, symbol);
    const bool keys = check_keys(draft, symbol);
    draft.broken = !argument || !keys;
    check_bounds(draft);
    if (!draft.broken) {
        check_else(draft, symbol);
    }
    symbol.last_n = draft.def.last_n;
    draft.def.file = report_.file_of(draft.ast->span_text);
    draft.def.line = report_.line_of(draft.ast->span_text);
    draft.def.text = report_.text_of(draft.ast->span_text);
}

// Sets the slot and the result's type.
bool PackCompiler::check_argument(Draft& draft, Symbols::Window& symbol) {
    const WindowFn fn = draft.def.fn;
    const auto& argument = draft.ast->argument;
    const std::string name(to_text(fn));
    if (takes_nothing(fn) != !argument) {
        report_.error(draft.ast->function.span,
                      {"arguments",
                       argument ? name + "() takes nothing"
                                : name + (fn == WindowFn::kShare ? "() takes fraud or legit"
                                                                 : "() takes a field"),
                       argument ? name + "()" : ""});
        return false;
    }
    if (!argument) {
        symbol.type.kind = fn == WindowFn::kCount ? ValueKind::kNumber : ValueKind::kTime;
        draft.def.type = symbol.type.kind;
        return true;
    }
    if (fn == WindowFn::kShare) {
        draft.def.share_of = argument->text == "legit" ? Label::kLegit : Label::kFraud;
        symbol.type.kind = draft.def.type = ValueKind::kNumber;
        if (argument->text != "fraud" && argument->text != "legit") {
            report_.error(argument->span,
                          {"arguments",
                           "share takes fraud or legit, not " + short_quote(argument->text), ""});
            return false;
        }
        return true;
    }
    Expr field;
    field.kind = ExprKind::kName;
    field.text = argument->text;
    field.span = argument->span;
    const std::size_t own = static_cast<std::size_t>(&draft - windows_.data());
    // The window's own key is not known yet and a window is no argument, so a name of one is a
    // fault below.
    if (symbols_.find_window(field.text)) {
        report_.error(
            field.span,
            {"arguments", name + " takes a field or a kept number; " + field.text + " is a window",
             "keep a number computed from it"});
        return false;
    }
    const Context where = context(Context::Place::kWhere, draft.ruleset, own);
    const Type type = TypeChecker(symbols_, where, report_).check(field);
    if (type.kind == ValueKind::kUnknown || field.kind != ExprKind::kSlot) {
        if (type.kind != ValueKind::kUnknown) {
            report_.error(field.span, {"arguments", name + " takes a field of stored events", ""});
        }
        return false;
    }
    draft.def.slot = static_cast<std::uint16_t>(field.ref);
    return check_result(draft, symbol, type, argument->text);
}

bool PackCompiler::check_result(Draft& draft, Symbols::Window& symbol, const Type& argument,
                                std::string_view argument_name) {
    const WindowFn fn = draft.def.fn;
    const bool money_or_number =
        argument.kind == ValueKind::kMoney || argument.kind == ValueKind::kNumber;
    const bool has_order = argument.kind != ValueKind::kString && argument.kind != ValueKind::kBool;
    const bool extreme = fn == WindowFn::kMin || fn == WindowFn::kMax;
    if ((adds_up(fn) && !money_or_number) || (extreme && !has_order)) {
        report_.error(draft.ast->argument->span,
                      {"type",
                       std::string(to_text(fn)) + " needs " +
                           (extreme ? "values with an order" : "numbers or money") + "; " +
                           std::string(argument_name) + " is " + type_name(argument),
                       ""});
        return false;
    }
    const bool counts_events = fn == WindowFn::kDistinct || fn == WindowFn::kRun;
    symbol.type = counts_events ? Type{ValueKind::kNumber, {}} : argument;
    draft.def.type = symbol.type.kind;
    draft.def.currency = symbol.type.currency;
    return true;
}

bool PackCompiler::check_keys(Draft& draft, Symbols::Window& symbol) {
    const WindowAst& ast = *draft.ast;
    if (ast.keys.empty() || ast.keys.size() > kMaxKeyFields) {
        report_.error(ast.name.span,
                      {"window-key",
                       "the window " + ast.name.text + " has " + std::to_string(ast.keys.size()) +
                           " key fields; 1 to 3 are needed",
                       "by account_id"});
        return false;
    }
    KeySpec spec;
    for (const Word& key : ast.keys) {
        const Ruleset& ruleset = rulesets_[draft.ruleset];
        const auto field = fields_.find(key.text, ruleset.currency, ruleset.zone);
        if (!field || fields_.at(*field).kind != ValueKind::kString) {
            std::vector<std::string> known = fields_.names();
            const std::string_view near = nearest_name(key.text, known);
            report_.error(key.span,
                          {"unknown-name",
                           "a window's key is a text field; " + short_quote(key.text) +
                               (field ? " is not text" : " is no field"),
                           field || near.empty() ? "" : "did you mean " + std::string(near) + "?"});
            return false;
        }
        if (std::find(spec.fields.begin(), spec.fields.end(), *field) != spec.fields.end()) {
            report_.error(key.span, {"duplicate", key.text + " is twice in the key", ""});
            return false;
        }
        spec.fields.push_back(*field);
        spec.name += (spec.name.empty() ? "" : ",") + key.text;
    }
    symbol.key = spec.name;
    const auto found = std::find_if(keys_.begin(), keys_.end(),
                                    [&](const KeySpec& k) { return k.name == spec.name; });
    draft.key = static_cast<std::uint32_t>(found - keys_.begin());
    if (found == keys_.end()) {
        keys_.push_back(std::move(spec));
        if (keys_.size() == kMaxKeys + 1) {
            report_.error(ast.keys[0].span,
                          {"too-large", "more than 8 different keys in the pack", ""});
        }
    }
    return true;
}

void PackCompiler::check_bounds(Draft& draft) {
    const WindowAst& ast = *draft.ast;
    draft.def.span = ast.span;
    draft.def.last_n = ast.last_n;
    draft.def.delay = ast.delay;
    draft.def.include_current = ast.include_current.value_or(false);
    if ((ast.span.count() > 0) == (ast.last_n > 0)) {
        report_.error(ast.name.span,
                      {"window-span",
                       "the window " + ast.name.text +
                           (ast.last_n > 0 ? " has both \"over\" and \"last\"" : " has no length"),
                       "over 1d, or last 10"});
    }
    if (ast.span + ast.delay > kMostRetention) {
        report_.error(ast.name.span, {"window-span",
                                      "the window " + ast.name.text +
                                          " reaches back more than 400d, its delay included",
                                      ""});
    }
    if (!ast.include_current && ast.delay.count() == 0) {
        report_.error(ast.name.span, {"current",
                                      "the window " + ast.name.text +
                                          " does not say whether the current event is inside",
                                      "add excluding current, or including current"});
    }
    if (draft.def.include_current && ast.delay.count() > 0) {
        report_.error(ast.name.span, {"current",
                                      "the window " + ast.name.text +
                                          " is delayed: the current event is never inside",
                                      "remove including current"});
    }
}

void PackCompiler::check_else(Draft& draft, const Symbols::Window& symbol) {
    if (!draft.ast->otherwise) {
        return;
    }
    Expr& value = *draft.ast->otherwise;
    const Context where = context(Context::Place::kWhere, draft.ruleset);
    const Type type = TypeChecker(symbols_, where, report_).check_literal(value);
    if (type.kind == ValueKind::kUnknown) {
        return;
    }
    if (!may_be_unknown(draft.def.fn)) {
        report_.error(
            value.span,
            {"else",
             std::string(to_text(draft.def.fn)) + " of no events is 0: it needs no \"else\"", ""});
    } else if (type != symbol.type) {
        report_.error(value.span, {"type",
                                   "the window " + symbol.name + " is " + type_name(symbol.type) +
                                       ", its \"else\" " + value.text + " is " + type_name(type),
                                   ""});
    } else {
        // Texts live as keys: the literal's own text goes away with the tree.
        draft.def.otherwise =
            type.kind == ValueKind::kString ? Value::of_key(value.literal.key) : value.literal;
    }
}

void PackCompiler::check_where(std::size_t index) {
    Draft& draft = windows_[index];
    if (!draft.ast->where || draft.broken) {
        return;
    }
    draft.where = clone(*draft.ast->where);
    const Context where = context(Context::Place::kWhere, draft.ruleset, index);
    if (TypeChecker(symbols_, where, report_).check_condition(*draft.where)) {
        analyse_condition(*draft.where, symbols_, report_);
    } else {
        draft.where.reset();
    }
}

// A kept number is computed after the windows: the current event has none yet, and leaving it out
// without a word would make the window smaller than it says.
void PackCompiler::check_kept_current(const Draft& draft) {
    if (!draft.def.include_current) {
        return;
    }
    std::vector<std::uint32_t> slots;
    if (draft.def.slot) {
        slots.push_back(*draft.def.slot);
    }
    if (draft.where) {
        slots_of(*draft.where, slots);
    }
    for (const std::uint32_t slot : slots) {
        if (symbols_.slots[slot].kind == RowSlot::Kind::kKept) {
            report_.error(draft.ast->name.span,
                          {"current",
                           "the window " + draft.def.name + " reads the kept number " +
                               symbols_.keeps[symbols_.slots[slot].keep].name +
                               ", which the current event does not have yet",
                           "say excluding current"});
            return;
        }
    }
}

void PackCompiler::order_windows() {
    std::vector<std::uint8_t> state(windows_.size(), 0);
    std::vector<std::uint32_t> path;
    for (std::uint32_t i = 0; i < windows_.size(); ++i) {
        if (!visit_window(i, state, path)) {
            break;
        }
    }
    window_map_.resize(windows_.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
        window_map_[order_[i]] = i;
    }
}

// Depth first; state 1 is on the path, 2 is placed. False after a cycle was reported.
bool PackCompiler::visit_window(std::uint32_t index, std::vector<std::uint8_t>& state,
                                std::vector<std::uint32_t>& path) {
    if (state[index] == 2) {
        return true;
    }
    path.push_back(index);
    if (state[index] == 1) {
        const auto from = std::find(path.begin(), path.end(), index);
        std::string names;
        for (auto at = from; at != path.end(); ++at) {
            names += (names.empty() ? "" : " -> ") + windows_[*at].def.name;
        }
        report_.error(windows_[index].ast->name.span,
                      {"cycle", "windows need each other: " + names, ""});
        return false;
    }
    state[index] = 1;
    std::vector<std::uint32_t> needs;
    if (windows_[index].where) {
        windows_of(*windows_[index].where, needs);
    }
    for (const std::uint32_t need : needs) {
        if (!visit_window(need, state, path)) {
            return false;
        }
    }
    state[index] = 2;
    path.pop_back();
    order_.push_back(index);
    return true;
}

void PackCompiler::check_keeps() {
    if (keeps_.size() > kMaxKept) {
        report_.error(
            keeps_[kMaxKept].ast->name.span,
            {"too-large", std::to_string(keeps_.size()) + " kept numbers; at most 32 are allowed",
             ""});
    }
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
        const KeepDraft& draft = keeps_[i];
        ExprPtr tree = clone(*draft.ast->value);
        const Context where = context(Context::Place::kKeep, draft.ruleset);
        const Type type = TypeChecker(symbols_, where, report_).check(*tree);
        if (type.kind == ValueKind::kUnknown) {
            continue;
        }
        if (type.kind != ValueKind::kNumber) {
            report_.error(tree->span, {"type",
                                       "a kept value must be a number; " + draft.ast->name.text +
                                           " is " + type_name(type),
                                       type.kind == ValueKind::kMoney
                                           ? "divide it by an amount, such as " +
                                                 std::string(alpha3_of(type.currency)) + " 1"
                                           : ""});
            continue;
        }
        symbols_.keeps[i].tree = std::move(tree);
    }
}

void PackCompiler::warn_unused() {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        if (!symbols_.windows[i].used) {
            report_.warning(windows_[i].ast->name.span,
                            {"unused", "no rule reads the window " + windows_[i].def.name,
                             "it is still computed, and seen by the encoder's text"});
        }
    }
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
        if (!symbols_.keeps[i].used) {
            report_.warning(
                keeps_[i].ast->name.span,
                {"unused", "nothing reads the kept number " + symbols_.keeps[i].name, ""});
        }
    }
    for (const ListUse& use : declared_lists_) {
        if (!symbols_.list_used[use.list]) {
            report_.warning(use.span,
                            {"unused", "no rule reads the list @" + lists_.at(use.list).name, ""});
        }
    }
}

// Slots in order of their names: the same needs give the same rows whatever order the files name
// them in.
void PackCompiler::place_slots(std::vector<std::uint32_t>& slot_map) {
    auto& slots = symbols_.slots;
    std::vector<std::uint32_t> by_name(slots.size());
    for (std::uint32_t i = 0; i < by_name.size(); ++i) {
        by_name[i] = i;
    }
    std::sort(by_name.begin(), by_name.end(),
              [&](std::uint32_t a, std::uint32_t b) { return slots[a].name < slots[b].name; });
    slot_map.resize(slots.size());
    RowLayout& layout = done_->plan.layout;
    for (const std::uint32_t old : by_name) {
        slot_map[old] = static_cast<std::uint32_t>(layout.slots.size());
        RowSlot slot = slots[old];
        slot.word = layout.words;
        layout.words =
            static_cast<std::uint16_t>(layout.words + (slot.type == ValueKind::kString ? 2 : 1));
        layout.slots.push_back(std::move(slot));
    }
}

void PackCompiler::place_keys(std::vector<std::uint32_t>& key_map) {
    std::vector<KeySpec> sorted = keys_;
    std::sort(sorted.begin(), sorted.end(),
              [](const KeySpec& a, const KeySpec& b) { return a.name < b.name; });
    for (const KeySpec& key : keys_) {
        const auto at = std::find_if(sorted.begin(), sorted.end(),
                                     [&](const KeySpec& k) { return k.name == key.name; });
        key_map.push_back(static_cast<std::uint32_t>(at - sorted.begin()));
    }
    done_->plan.keys = std::move(sorted);
}

void PackCompiler::assemble_plan() {
    std::vector<std::uint32_t> slot_map;
    std::vector<std::uint32_t> key_map;
    place_slots(slot_map);
    place_keys(key_map);
    WindowPlan& plan = done_->plan;
    plan.retention = kLeastRetention;
    mark_feeders();
    const auto compiled = [&](Expr& tree, const Word& name) {
        remap(tree, window_map_, slot_map);
        auto program = compile_expr(tree);
        if (!program) {
            report_.error(name.span,
                          {"too-deep", name.text + " needs more than 64 values at once", ""});
        }
        return program;
    };
    for (const std::uint32_t index : order_) {
        Draft& draft = windows_[index];
        WindowDef def = std::move(draft.def);
        windows_[index].def.name = def.name;
        def.key = KeySpecId{static_cast<std::uint8_t>(key_map[draft.key])};
        if (def.slot) {
            def.slot = static_cast<std::uint16_t>(slot_map[*def.slot]);
        }
        done_->window_conditions.push_back(draft.where ? to_text(*draft.where) : "");
        if (draft.where) {
            def.where = compiled(*draft.where, draft.ast->name);
        }
        const Micros reach = (def.last_n > 0 ? kLastRetention : def.span) + def.delay;
        plan.retention = std::max(plan.retention, reach);
        plan.windows.push_back(std::move(def));
    }
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
        // A copy: rules have this tree inlined already, with references still to be rewritten.
        const ExprPtr tree = clone(*symbols_.keeps[i].tree);
        KeepDef keep;
        keep.name = symbols_.keeps[i].name;
        keep.text = to_text(*symbols_.keeps[i].tree);
        keep.line = report_.line_of(keeps_[i].ast->name.span);
        keep.program = compiled(*tree, keeps_[i].ast->name);
        plan.keeps.push_back(std::move(keep));
    }
    sign_plan();
}

// Windows that kept numbers are computed from, and the windows that those read in turn.
void PackCompiler::mark_feeders() {
    std::vector<std::uint32_t> needs;
    for (std::size_t i = 0; i < keeps_.size(); ++i) {
        windows_of(*symbols_.keeps[i].tree, needs);
    }
    for (std::size_t i = 0; i < needs.size(); ++i) {  // grows while it is walked
        Draft& draft = windows_[needs[i]];
        if (!draft.def.feeds_keep && draft.where) {
            windows_of(*draft.where, needs);
        }
        draft.def.feeds_keep = true;
    }
}

// A window as its numbers depend on it: another definition under the same name is another window.
std::string PackCompiler::identity_of(std::size_t window) const {
    const WindowDef& def = done_->plan.windows[window];
    std::string out(to_text(def.fn));
    out += "(" + (def.slot ? done_->plan.layout.slots[*def.slot].name : "") + ")";
    out += def.fn == WindowFn::kShare && def.share_of == Label::kLegit ? "legit" : "";
    out += "by" + done_->plan.keys[static_cast<std::size_t>(def.key)].name;
    for (const std::int64_t number : {def.span.count(), std::int64_t{def.last_n}, def.delay.count(),
                                      std::int64_t{def.include_current}}) {
        out += "," + std::to_string(number);
    }
    if (def.otherwise) {
        out += std::string(",else") + slot_letter(def.otherwise->kind);
        if (def.otherwise->kind == ValueKind::kString) {
            out += std::to_string(def.otherwise->key.words[0]);
        } else if (def.otherwise->kind == ValueKind::kBool) {
            out += def.otherwise->boolean ? "1" : "0";
        } else {
            out += to_text(def.otherwise->number);
        }
    }
    return out + "where" + done_->window_conditions[window];
}

void PackCompiler::sign_plan() {
    WindowPlan& plan = done_->plan;
    std::string out = "v1;keys=";
    for (const KeySpec& key : plan.keys) {
        out += key.name + "|";
    }
    out += ";slots=";
    for (const RowSlot& slot : plan.layout.slots) {
        out += slot.name + ":" + slot_letter(slot.type);
        if (slot.kind == RowSlot::Kind::kKept) {
            // Another formula under the same name is another number.
            out += "=" + to_text(*symbols_.keeps[slot.keep].tree);
        }
        out += "|";
    }
    for (std::size_t i = 0; i < plan.windows.size(); ++i) {
        if (plan.windows[i].feeds_keep) {
            out += ";feeds=" + plan.windows[i].name + "=" + identity_of(i);
        }
    }
    out += ";retention_us=" + std::to_string(plan.retention.count());
    plan.signature = std::move(out);
}

}  // namespace tollgate
