// compile_rules: files, headers, lists, names and rules; windows are in compile_windows.cc.
#include <algorithm>
#include <array>
#include <utility>

#include "decision/analyse.h"
#include "decision/compile_expr.h"
#include "decision/compile_pack.h"
#include "decision/compile_zone.h"
#include "decision/describe.h"
#include "decision/parser.h"

namespace tollgate {
namespace {

constexpr std::size_t kMaxFiles = 200;
constexpr std::size_t kMaxRuleText = 200;
// A scan over a busy key's events; count and sum without a condition read an index instead.
constexpr std::uint64_t kNominalRows = 500;
constexpr std::uint64_t kRowCost = 5;
constexpr std::uint64_t kIndexedCost = 300;

bool shaped_id(std::string_view text) {
    return !text.empty() && text.size() <= 16 && text[0] >= 'A' && text[0] <= 'Z' &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
           });
}
bool shaped_name(std::string_view text) {
    return !text.empty() && text.size() <= 64 && text[0] >= 'a' && text[0] <= 'z' &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
           });
}

std::uint64_t window_cost(const WindowDef& window) {
    const bool indexed =
        !window.where && (window.fn == WindowFn::kCount || window.fn == WindowFn::kSum ||
                          window.fn == WindowFn::kAvg || window.fn == WindowFn::kFirstSeen ||
                          window.fn == WindowFn::kLastSeen);
    if (indexed) {
        return kIndexedCost;
    }
    const std::uint64_t rows =
        window.last_n > 0 ? std::min<std::uint64_t>(window.last_n, kNominalRows) : kNominalRows;
    return rows * (kRowCost + (window.where ? window.where->cost_ns : 0U));
}

}  // namespace

PackCompiler::PackCompiler(std::span<const RuleSource> sources, FieldTable& fields, ListSet& lists,
                           const CompileLimits& limits, std::vector<Diagnostic>& out)
    : sources_(sources),
      fields_(fields),
      lists_(lists),
      limits_(limits),
      out_(out),
      report_(sources, out),
      symbols_{fields, lists, {}, {}, {}, {}, {}} {}

std::unique_ptr<CompiledRules> PackCompiler::run() {
    const std::size_t before = out_.size();
    if (sources_.size() > kMaxFiles) {
        report_.error(
            {}, {"too-large",
                 std::to_string(sources_.size()) + " rules files; at most 200 are allowed", ""});
        return nullptr;
    }
    parse();
    read_headers();
    read_lists();
    declare();
    check_windows();
    check_keeps();
    check_rules();
    if (report_.errors() == 0) {
        assemble();
    }
    warn_unused();
    std::stable_sort(out_.begin() + static_cast<std::ptrdiff_t>(before), out_.end(),
                     [](const Diagnostic& a, const Diagnostic& b) {
                         return std::tie(a.file, a.line, a.column) <
                                std::tie(b.file, b.line, b.column);
                     });
    return report_.errors() == 0 ? std::move(done_) : nullptr;
}

Context PackCompiler::context(Context::Place place, std::size_t ruleset, std::size_t window) const {
    return {place, rulesets_[ruleset].currency, rulesets_[ruleset].zone, window, limits_.max_depth};
}

void PackCompiler::parse() {
    for (std::uint32_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i].text.size() > limits_.max_file_bytes) {
            report_.error({i, 0, 1}, {"too-large",
                                      "the file has " + std::to_string(sources_[i].text.size()) +
                                          " bytes; at most " +
                                          std::to_string(limits_.max_file_bytes) + " are allowed",
                                      "split it"});
            files_.emplace_back();
            continue;
        }
        files_.push_back(parse_file(sources_[i].text, i, limits_.max_depth, report_));
        if (!files_.back().header && report_.errors() == 0) {
            report_.error({i, 0, 1}, {"syntax", "the file has no rule set line",
                                      "ruleset \"name\" version 1 currency USD tz \"UTC\" "
                                      "on_error review"});
        }
    }
}

void PackCompiler::read_headers() {
    for (const FileAst& file : files_) {
        Ruleset ruleset;
        const bool good = file.header && read_header(file, ruleset);
        usable_.push_back(good);
        ruleset_of_.push_back(rulesets_.size());
        if (!good) {
            continue;
        }
        for (const Ruleset& other : rulesets_) {
            if (other.name == ruleset.name) {
                report_.error(file.header->name.span, {"duplicate",
                                                       "the rule set " + short_quote(ruleset.name) +
                                                           " is already in " + other.file,
                                                       ""});
            }
        }
        fields_.add_ruleset(ruleset.currency, ruleset.zone);
        rulesets_.push_back(std::move(ruleset));
    }
}

bool PackCompiler::read_header(const FileAst& file, Ruleset& out) {
    const HeaderAst& h = *file.header;
    const auto missing = [&](bool is_missing, std::string_view what) {
        if (is_missing) {
            report_.error(h.span, {"header", "the rule set line has no " + std::string(what), ""});
        }
        return is_missing;
    };
    bool bad = missing(h.version == 0, "version");
    bad = missing(!h.currency, "currency") || bad;
    bad = missing(!h.zone, "tz") || bad;
    bad = missing(!h.on_error, "on_error") || bad;
    if (bad) {
        return false;
    }
    const auto currency = currency_of(h.currency->text);
    if (!currency) {
        report_.error(h.currency->span, {"currency", currency.error().message, ""});
        return false;
    }
    const Status zone = check_zone(h.zone->text);
    if (!zone) {
        report_.error(h.zone->span, {"zone", zone.error().message, ""});
        return false;
    }
    const auto verdict = verdict_of(h.on_error->text);
    if (h.on_error->text != "ignore" && (!verdict || *verdict == Verdict::kApprove)) {
        report_.error(h.on_error->span, {"header",
                                         "on_error is " + short_quote(h.on_error->text) +
                                             "; review, decline, challenge and ignore are allowed",
                                         ""});
        return false;
    }
    out = {h.name.text, h.version, *currency, h.zone->text, verdict, report_.file_of(h.span)};
    return true;
}

void PackCompiler::read_lists() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
        for (const ListAst& list : files_[i].lists) {
            if (usable_[i]) {
                read_list(list, ruleset_of_[i]);
            }
            if (!lists_.find(list.name.text)) {
                symbols_.broken.push_back(list.name.text);
            }
        }
    }
    symbols_.list_used.resize(lists_.size(), false);
}

void PackCompiler::read_list(const ListAst& list, std::size_t ruleset) {
    if (!good_name(list.name)) {
        return;
    }
    const auto field =
        fields_.find(list.key.text, rulesets_[ruleset].currency, rulesets_[ruleset].zone);
    if (!field || fields_.at(*field).kind != ValueKind::kString) {
        report_.error(
            list.key.span,
            {"unknown-name",
             "a list's key is a text field; " + short_quote(list.key.text) + " is none", ""});
        return;
    }
    const auto found = lists_.files.find(list.file.text);
    if (found == lists_.files.end()) {
        std::vector<std::string> known;
        for (const auto& [path, text] : lists_.files) {
            known.push_back(path);
        }
        const std::string_view near = nearest_name(list.file.text, known);
        report_.error(list.file.span,
                      {"list", "the pack has no file " + short_quote(list.file.text),
                       near.empty() ? "" : "did you mean " + quoted(near) + "?"});
        return;
    }
    const Status added = lists_.add_csv(list.name.text, list.key.text, found->first, found->second);
    if (!added) {
        report_.error(list.name.span, {"list", added.error().message, ""});
        return;
    }
    declared_lists_.push_back({lists_.size() - 1, list.name.span});
    const auto& entries = lists_.at(lists_.size() - 1).entries;
    if (entries.empty()) {
        report_.warning(list.file.span,
                        {"empty-list", "the list @" + list.name.text + " is empty", ""});
    } else if (limits_.now && std::all_of(entries.begin(), entries.end(), [&](const auto& e) {
                   return e.expires_us <= to_micros(*limits_.now);
               })) {
        report_.warning(
            list.file.span,
            {"expired-list", "every entry of the list @" + list.name.text + " has expired", ""});
    }
}

bool PackCompiler::good_name(const Word& name) {
    if (!shaped_name(name.text)) {
        report_.error(name.span, {"name",
                                  "the name " + short_quote(name.text) +
                                      " must be a-z, 0-9 and _, begin with a letter and "
                                      "have at most 64 characters",
                                  ""});
        return false;
    }
    return true;
}

void PackCompiler::declare() {
    std::vector<std::string> taken = fields_.names();
    for (const std::string_view word :
         {"label",   "current",   "fraud",     "legit", "true",  "false",   "and",  "or",
          "not",     "in",        "between",   "if",    "where", "else",    "over", "last",
          "delayed", "excluding", "including", "by",    "rule",  "window",  "keep", "list",
          "reason",  "ruleset",   "shadow",    "owner", "hard",  "severity"}) {
        taken.emplace_back(word);
    }
    const auto take = [&](const Word& name) {
        if (!good_name(name)) {
            return false;
        }
        if (std::find(taken.begin(), taken.end(), name.text) != taken.end() || call_of(name.text)) {
            report_.error(name.span, {"duplicate",
                                      "the name " + short_quote(name.text) +
                                          " is taken by a field, a word of the "
                                          "language or an earlier declaration",
                                      ""});
            return false;
        }
        taken.push_back(name.text);
        return true;
    };
    for (std::size_t i = 0; i < files_.size(); ++i) {
        symbols_.broken.insert(symbols_.broken.end(), files_[i].broken.begin(),
                               files_[i].broken.end());
        if (!usable_[i]) {
            continue;
        }
        for (const WindowAst& window : files_[i].windows) {
            if (take(window.name)) {
                Draft draft;
                draft.ast = &window;
                draft.ruleset = ruleset_of_[i];
                windows_.push_back(std::move(draft));
                symbols_.windows.push_back({window.name.text, {}, WindowFn::kCount, 0, "", false});
            }
        }
        for (const KeepAst& keep : files_[i].keeps) {
            if (take(keep.name)) {
                keeps_.push_back({&keep, ruleset_of_[i]});
                symbols_.keeps.push_back({keep.name.text, nullptr, false});
            }
        }
    }
}

void PackCompiler::check_rules() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
        for (RuleAst& rule : files_[i].rules) {
            if (usable_[i]) {
                check_rule(rule, ruleset_of_[i]);
            }
        }
    }
    const std::size_t most = std::min(limits_.max_rules, kMaxRules);
    if (rules_.size() > most) {
        report_.error(rules_[most].ast->id.span,
                      {"too-large",
                       std::to_string(rules_.size()) + " rules; at most " + std::to_string(most) +
                           " are allowed",
                       ""});
    }
    std::vector<AnalysedRule> analysed;
    for (const RuleDraft& rule : rules_) {
        if (!rule.broken) {
            analysed.push_back({rule.ast, rule.ruleset});
        }
    }
    analyse_shadowing(analysed, symbols_, report_);
}

void PackCompiler::check_rule(RuleAst& rule, std::size_t ruleset) {
    RuleDraft draft{&rule, ruleset, false};
    if (!shaped_id(rule.id.text)) {
        report_.error(rule.id.span, {"name",
                                     "the id " + short_quote(rule.id.text) +
                                         " must be A-Z, 0-9 and _, begin with a letter and "
                                         "have at most 16 characters",
                                     "such as R017"});
    }
    for (const RuleDraft& other : rules_) {
        if (other.ast->id.text == rule.id.text) {
            report_.error(rule.id.span, {"duplicate",
                                         "the rule id " + rule.id.text + " is already used in " +
                                             report_.file_of(other.ast->id.span) + " line " +
                                             std::to_string(report_.line_of(other.ast->id.span)),
                                         ""});
            break;
        }
    }
    for (const auto& [what, text] :
         {std::pair<std::string_view, const std::string*>{"title", &rule.title.text},
          {"reason", &rule.reason},
          {"owner", &rule.owner}}) {
        if (text->size() > kMaxRuleText) {
            report_.error(rule.id.span,
                          {"too-large",
                           "the " + std::string(what) + " of " + rule.id.text + " has " +
                               std::to_string(text->size()) + " bytes; at most 200 are allowed",
                           ""});
        }
    }
    if (rule.shadow_until_day && limits_.now) {
        const auto until = day_start(rulesets_[ruleset].zone, *rule.shadow_until_day);
        if (until && *until <= *limits_.now) {
            report_.warning(
                rule.shadow_span,
                {"shadow-over", "the shadow time of " + rule.id.text + " is over: the rule counts",
                 "remove the shadow clause"});
        }
    }
    const Context where = context(Context::Place::kRule, ruleset);
    draft.broken = !TypeChecker(symbols_, where, report_).check_condition(*rule.when);
    if (!draft.broken) {
        analyse_condition(*rule.when, symbols_, report_);
    }
    rules_.push_back(draft);
}

void PackCompiler::assemble() {
    done_ = std::make_unique<CompiledRules>();
    assemble_plan();
    assemble_rules();
    done_->rulesets = std::move(rulesets_);
    count_cost();
}

void PackCompiler::assemble_rules() {
    for (const RuleDraft& draft : rules_) {
        RuleAst& ast = *draft.ast;
        RuleDef rule;
        rule.id = ast.id.text;
        rule.title = ast.title.text;
        rule.severity = ast.severity;
        rule.owner = ast.owner;
        rule.action = ast.action;
        rule.mode = ast.mode;
        rule.hard = ast.hard;
        if (ast.shadow_until_day) {
            const auto until = day_start(rulesets_[draft.ruleset].zone, *ast.shadow_until_day);
            if (until) {
                rule.shadow_until = *until;
            }
        }
        rule.reason = ast.reason;
        rule.ruleset = static_cast<std::uint16_t>(draft.ruleset);
        rule.file = report_.file_of(ast.span);
        rule.line = report_.line_of(ast.span);
        rule.text = report_.text_of(ast.span);
        remap(*ast.when, window_map_, {});
        rule.when = compile_expr(*ast.when);
        if (!rule.when) {
            report_.error(
                ast.id.span,
                {"too-deep", "the rule " + ast.id.text + " needs more than 64 values at once",
                 "split it"});
            continue;
        }
        rule.tree = std::move(ast.when);
        done_->rules.push_back(std::move(rule));
    }
}

void PackCompiler::count_cost() {
    std::uint64_t cost = 0;
    for (const RuleDef& rule : done_->rules) {
        cost += rule.when->cost_ns;
    }
    const std::uint64_t rules_cost = cost;
    for (const WindowDef& window : done_->plan.windows) {
        cost += window_cost(window);
    }
    for (const KeepDef& keep : done_->plan.keeps) {
        cost += keep.program->cost_ns;
    }
    done_->worst_case_ns = cost;
    done_->window_bytes_per_event =
        std::uint64_t{8} * done_->plan.layout.words * done_->plan.keys.size();
    if (cost > limits_.max_cost_ns) {
        report_.error(
            {}, {"cost",
                 "the pack's worst case is " + std::to_string(cost / 1000) +
                     " us an event (rules " + std::to_string(rules_cost / 1000) + ", windows " +
                     std::to_string((cost - rules_cost) / 1000) + "); at most " +
                     std::to_string(limits_.max_cost_ns / 1000) + " us are allowed",
                 "patterns and windows with a condition cost most"});
    }
}

std::unique_ptr<CompiledRules> compile_rules(std::span<const RuleSource> sources,
                                             FieldTable& fields, ListSet& lists,
                                             const CompileLimits& limits,
                                             std::vector<Diagnostic>& out) {
    if (sources.empty()) {
        return std::make_unique<CompiledRules>();
    }
    return PackCompiler(sources, fields, lists, limits, out).run();
}

}  // namespace tollgate
