// Runs rule tests: builds rows from `field = value` lines, takes the windows from the history,
// compares what fired.
#include "decision/rules_test_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "decision/combine.h"
#include "decision/compile_zone.h"
#include "decision/describe.h"
#include "decision/rules_test_parse.h"
#include "decision/typecheck.h"
#include "decision/windows.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20U;
constexpr std::size_t kMaxHistoryEvents = 1000;

class TestRunner {
  public:
    TestRunner(const CompiledRules& rules, const FieldTable& fields, const ListSet& lists,
               const RuleTestWindows& windows, Reporter& report)
        : rules_(rules), fields_(fields), lists_(lists), windows_(windows), report_(report) {}

    Result<RuleTestReport> run(TestFile& file, const std::vector<Diagnostic>& findings) {
        for (TestSetting& setting : file.defaults) {
            check(setting);
        }
        for (TestCase& c : file.cases) {
            check_case(c);
        }
        if (report_.errors() > 0) {
            std::string all;
            for (const Diagnostic& d : findings) {
                all += format(d);
            }
            return Error{Fault::kBadInput, std::move(all)};
        }
        fired_.assign(rules_.rules.size(), false);
        for (const TestCase& c : file.cases) {
            TG_TRY([[maybe_unused]] const auto done, run_case(file, c));
        }
        for (std::size_t i = 0; i < fired_.size(); ++i) {
            if (!fired_[i]) {
                out_.never_fired.push_back(rules_.rules[i].id);
            }
        }
        return std::move(out_);
    }

  private:
    void error(const SourceSpan& at, std::string code, std::string message, std::string help = "") {
        report_.error(at, {std::move(code), std::move(message), std::move(help)});
    }

    // Finds the setting's field; resolves days.
    void check(TestSetting& setting) {
        bool named = false;
        bool fits = false;
        for (const FieldInfo& field : fields_.fields()) {
            if (field.name == setting.name.text) {
                named = true;
                fits = fits || !setting.value || suits(field, *setting.value);
            }
        }
        if (!named) {
            const auto known = fields_.names();
            const std::string_view near = nearest_name(setting.name.text, known);
            error(setting.name.span, "unknown-name",
                  "there is no field " + short_quote(setting.name.text),
                  near.empty() ? "" : "did you mean " + std::string(near) + "?");
        } else if (!fits) {
            error(setting.value->span, "type",
                  setting.name.text + " cannot be " + setting.value->text + " (" +
                      type_name(setting.value->type) + ")",
                  "see the field's kind in docs/rules.md; amounts need their currency");
        }
        if (setting.value) {
            resolve_day(*setting.value);
        }
    }
    bool suits(const FieldInfo& field, const Expr& value) const {
        return field.kind == value.type.kind &&
               (field.kind != ValueKind::kMoney ||
                fields_.currencies()[field.currency] == value.type.currency);
    }
    void resolve_day(Expr& value) {
        if (value.ref != 1) {
            return;
        }
        const std::string zone = rules_.rulesets.empty() ? "UTC" : rules_.rulesets[0].zone;
        const auto start = day_start(zone, static_cast<std::int64_t>(value.literal.number.num));
        if (start) {
            value.literal.number = {to_micros(*start), 1};
            value.ref = 0;
        }
    }

    void check_case(TestCase& c) {
        std::size_t events = 0;
        for (TestSetting& setting : c.settings) {
            check(setting);
        }
        for (TestHistory& history : c.history) {
            events += history.times;
            for (TestSetting& setting : history.settings) {
                check(setting);
            }
            if (history.every_us * (history.times - 1) > history.before_us) {
                error(c.name.span, "history", "a repeated history event reaches past the event");
            }
        }
        if (events > kMaxHistoryEvents) {
            error(c.name.span, "history",
                  std::to_string(events) + " history events in a case; at most 1000 are allowed");
        }
        for (TestSetting& setting : c.windows) {
            check_window(setting);
        }
        for (const TestExpectation& expectation : c.expectations) {
            check_expectation(expectation);
        }
        if (c.expectations.empty()) {
            error(c.name.span, "empty", "the case expects nothing",
                  "fires R017, or decision review");
        }
    }
    void check_window(TestSetting& setting) {
        const auto window = find_window(setting.name.text);
        if (!window) {
            std::vector<std::string_view> known;
            for (const WindowDef& w : rules_.plan.windows) {
                known.push_back(w.name);
            }
            const std::string_view near = nearest_name(setting.name.text, known);
            error(setting.name.span, "unknown-name",
                  "there is no window " + short_quote(setting.name.text),
                  near.empty() ? "" : "did you mean " + std::string(near) + "?");
            return;
        }
        const WindowDef& w = rules_.plan.windows[*window];
        const Type type{w.type, w.type == ValueKind::kMoney ? w.currency : Currency{}};
        if (setting.value && setting.value->type != type) {
            error(setting.value->span, "type",
                  "the window " + w.name + " is " + type_name(type) + ", not " +
                      type_name(setting.value->type));
        }
        if (setting.value) {
            resolve_day(*setting.value);
        }
    }
    void check_expectation(const TestExpectation& expectation) {
        if (expectation.kind == TestExpectation::Kind::kDecision) {
            if (!verdict_of(expectation.what.text)) {
                error(expectation.what.span, "decision",
                      short_quote(expectation.what.text) +
                          " is no decision; approve, challenge, review and decline are");
            }
        } else if (!find_rule(expectation.what.text)) {
            std::vector<std::string_view> known;
            for (const RuleDef& rule : rules_.rules) {
                known.push_back(rule.id);
            }
            const std::string_view near = nearest_name(expectation.what.text, known);
            error(expectation.what.span, "unknown-name",
                  "there is no rule " + short_quote(expectation.what.text),
                  near.empty() ? "" : "did you mean " + std::string(near) + "?");
        }
    }
    std::optional<std::size_t> find_window(std::string_view name) const {
        for (std::size_t i = 0; i < rules_.plan.windows.size(); ++i) {
            if (rules_.plan.windows[i].name == name) {
                return i;
            }
        }
        return std::nullopt;
    }
    std::optional<std::size_t> find_rule(std::string_view id) const {
        for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
            if (rules_.rules[i].id == id) {
                return i;
            }
        }
        return std::nullopt;
    }

    void apply(const TestSetting& setting, std::vector<Value>& row) const {
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            const FieldInfo& field = fields_.fields()[i];
            if (field.name == setting.name.text &&
                (!setting.value || suits(field, *setting.value))) {
                row[i] = setting.value ? setting.value->literal : Value::unknown();
            }
        }
    }
    // The values that follow from others, where a case does not state them.
    void derive(std::int64_t at, std::vector<Value>& row) const {
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            const FieldInfo& field = fields_.fields()[i];
            if (field.source == FieldSource::kOccurredAt) {
                row[i] = Value::of_time(from_micros(at));
            } else if (field.source == FieldSource::kEventType) {
                row[i] = Value::of_string("payment");
            } else if (field.source == FieldSource::kLocalTime ||
                       field.source == FieldSource::kLocalWeekday) {
                const auto clock = local_clock(fields_.zones()[field.index], from_micros(at));
                if (clock && field.source == FieldSource::kLocalTime) {
                    row[i].kind = ValueKind::kTimeOfDay;
                    row[i].number = {clock->day_us, 1};
                } else if (clock) {
                    row[i] = Value::of_int(clock->weekday);
                }
            }
        }
    }
    void derive_currency(std::vector<Value>& row) const {
        std::optional<std::size_t> code;
        std::string_view found;
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            const FieldInfo& field = fields_.fields()[i];
            if (field.source == FieldSource::kAmountCurrency) {
                code = i;
            } else if (field.source == FieldSource::kAmountIn && found.empty() &&
                       !row[i].is_unknown()) {
                found = alpha3_of(fields_.currencies()[field.currency]);
            }
        }
        if (code && row[*code].is_unknown() && !found.empty()) {
            row[*code] = Value::of_string(found);
        }
    }
    std::vector<Value> row_of(const TestFile& file, std::int64_t at,
                              const std::vector<TestSetting>& settings) const {
        std::vector<Value> row(fields_.size());
        derive(at, row);
        for (const TestSetting& setting : file.defaults) {
            apply(setting, row);
        }
        for (const TestSetting& setting : settings) {
            apply(setting, row);
        }
        derive_currency(row);
        return row;
    }

    std::vector<RuleTestEvent> history_of(const TestFile& file, const TestCase& c) const {
        std::vector<RuleTestEvent> out;
        for (const TestHistory& h : c.history) {
            for (std::uint32_t i = 0; i < h.times; ++i) {
                const std::int64_t at = c.at_us - h.before_us + h.every_us * i;
                RuleTestEvent event;
                event.at = from_micros(at);
                event.fields = row_of(file, at, h.settings);
                event.label = h.label;
                event.label_known_at =
                    from_micros(h.known_before_us < 0 ? at : c.at_us - h.known_before_us);
                out.push_back(std::move(event));
            }
        }
        std::stable_sort(out.begin(), out.end(),
                         [](const auto& a, const auto& b) { return a.at < b.at; });
        return out;
    }

    Status run_case(const TestFile& file, const TestCase& c) {
        RuleTestEvent event;
        event.at = from_micros(c.at_us);
        event.fields = row_of(file, c.at_us, c.settings);
        std::vector<Value> windows(rules_.plan.windows.size());
        if (windows_) {
            const auto history = history_of(file, c);
            TG_TRY([[maybe_unused]] const auto done,
                   windows_(rules_, lists_, history, event, windows));
        } else if (!c.history.empty()) {
            return Error{Fault::kBadInput, "a case with history needs the window store"};
        }
        for (const TestSetting& setting : c.windows) {
            windows[*find_window(setting.name.text)] =
                setting.value ? setting.value->literal : Value::unknown();
        }
        EvalInput input;
        input.fields = event.fields;
        input.windows = windows;
        input.lists = &lists_;
        input.now = event.at;
        evaluate_rules(rules_, input, c.model_fault, results_);
        ++out_.cases;
        for (const TestExpectation& expectation : c.expectations) {
            ++out_.expectations;
            compare(c, expectation, event.at);
        }
        return ok();
    }

    std::string_view state_of(std::size_t rule, bool model_fault) const {
        const auto has = [rule](const auto& list, std::size_t count) {
            return std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count),
                             rule) != list.begin() + static_cast<std::ptrdiff_t>(count);
        };
        if (has(results_.hits, results_.hit_count)) {
            return "fires";
        }
        if (has(results_.unknown, results_.unknown_count)) {
            return "unknown";
        }
        if (has(results_.errors, results_.error_count)) {
            return "error";
        }
        const bool waits = rules_.rules[rule].mode == RuleMode::kFallback && !model_fault;
        return waits ? "not (its mode is fallback; the case has no \"fault model\")" : "not";
    }

    void compare(const TestCase& c, const TestExpectation& expectation, EventTime at) {
        constexpr std::array<std::string_view, 4> kStates{"fires", "not", "unknown", "error"};
        const int line = report_.line_of(expectation.what.span);
        if (expectation.kind == TestExpectation::Kind::kDecision) {
            const Policy policy;
            CombineInput input;
            input.rules = &rules_;
            input.results = &results_;
            input.policy = &policy;
            input.at = at;
            input.model_fault = c.model_fault;
            const Combined combined = combine(input);
            if (to_text(combined.decision) != expectation.what.text) {
                out_.failures.push_back({c.name.text, line,
                                         "expected decision " + expectation.what.text + ", got " +
                                             std::string(to_text(combined.decision)) + " by " +
                                             to_text(combined, rules_)});
            }
            return;
        }
        const std::size_t rule = *find_rule(expectation.what.text);
        const std::string_view wanted = kStates[static_cast<std::size_t>(expectation.kind)];
        const std::string_view got = state_of(rule, c.model_fault);
        if (expectation.kind == TestExpectation::Kind::kFires) {
            fired_[rule] = true;
        }
        if (!got.starts_with(wanted)) {
            out_.failures.push_back({c.name.text, line,
                                     "expected " + std::string(wanted) + " " +
                                         expectation.what.text + ", got " + std::string(got)});
        }
    }

    const CompiledRules& rules_;
    const FieldTable& fields_;
    const ListSet& lists_;
    const RuleTestWindows& windows_;
    Reporter& report_;
    RuleResults results_;
    RuleTestReport out_;
    std::vector<bool> fired_;
};

}  // namespace

Status windows_from_store(const CompiledRules& rules, const ListSet& lists,
                          std::span<const RuleTestEvent> history, const RuleTestEvent& event,
                          std::vector<Value>& windows) {
    WindowLimits limits;
    limits.memory_bytes = std::size_t{64} << 20U;
    limits.shards = 1;
    WindowStore store(rules.plan, limits);
    WindowValues values;
    EventKeys keys;
    std::uint64_t arrival = 0;
    const auto assess = [&](const RuleTestEvent& e) {
        EvalInput input;
        input.fields = e.fields;
        input.lists = &lists;
        input.now = e.at;
        WindowStore::keys_of(rules.plan, e.fields, keys);
        ++arrival;
        store.assess(rules.plan, keys, {e.at, arrival, arrival, Label::kNone, {}}, input,
                     RecordMode::kRecord, values);
    };
    for (const RuleTestEvent& past : history) {
        assess(past);
        if (past.label != Label::kNone) {
            TG_TRY([[maybe_unused]] const auto done,
                   store.apply_label(keys, past.at, arrival, past.label, past.label_known_at));
        }
    }
    assess(event);
    windows.assign(values.values.begin(), values.values.end());
    for (Value& value : windows) {
        value.text = {};  // the text belongs to the store; short ones are in the key
    }
    return ok();
}

Result<RuleTestReport> run_rule_tests(std::string_view text, std::string_view file,
                                      const CompiledRules& rules, const FieldTable& fields,
                                      const ListSet& lists, const RuleTestWindows& windows) {
    if (text.size() > kMaxFile) {
        return Error{Fault::kTooLarge, std::string(file) + ": " + std::to_string(text.size()) +
                                           " bytes; at most 1048576 are allowed"};
    }
    const std::vector<RuleSource> sources{{std::string(file), std::string(text)}};
    std::vector<Diagnostic> findings;
    Reporter report(sources, findings);
    TestFile parsed = parse_rule_tests(sources[0].text, report);
    return TestRunner(rules, fields, lists, windows, report).run(parsed, findings);
}

std::string format(const RuleTestReport& report, std::string_view file) {
    std::string out;
    for (const RuleTestFailure& failure : report.failures) {
        out += std::string(file) + ":" + std::to_string(failure.line) + ": " +
               short_quote(failure.name) + ": " + failure.message + "\n";
    }
    out += std::to_string(report.cases) + " cases, " + std::to_string(report.expectations) +
           " expectations, " + std::to_string(report.failures.size()) + " failed\n";
    if (!report.never_fired.empty()) {
        out += "not seen firing:";
        for (const std::string& id : report.never_fired) {
            out += " " + id;
        }
        out += "\n";
    }
    return out;
}

}  // namespace tollgate
