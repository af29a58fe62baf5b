// `tollgate rules`: a pack's rules listed, explained in a sentence each, and tested against written
// cases.
#include "decision/rules.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/open_pack.h"
#include "decision/pack.h"
#include "decision/rules_test_file.h"
#include "text/suggest.h"

namespace tollgate::apps {

namespace {

struct RulesCommand {
    std::string policy;
    std::string rule;
    std::vector<std::string> files;
};

const char* mode_of(const RuleDef& rule) {
    switch (rule.mode) {
        case RuleMode::kLive:
            return rule.hard ? "hard" : "live";
        case RuleMode::kShadow:
            return "shadow";
        case RuleMode::kFallback:
            break;
    }
    return "fallback";
}

Status list(const RulesCommand& command) {
    TG_TRY(const auto pack, open_pack(command.policy));
    (void)std::printf("%-16s  %-9s  %-8s  %-16s  %-40s  %s\n", "rule", "action", "mode", "owner",
                      "title", "where");
    for (const RuleDef& rule : pack->rules->rules) {
        (void)std::printf("%-16s  %-9s  %-8s  %-16s  %-40s  %s:%d\n", rule.id.c_str(),
                          std::string(to_text(rule.action)).c_str(), mode_of(rule),
                          rule.owner.c_str(), rule.title.c_str(), rule.file.c_str(), rule.line);
    }
    (void)std::printf("%zu rules, %zu windows, pack %s %s\n", pack->rules->rules.size(),
                      pack->rules->plan.windows.size(), pack->policy.name.c_str(),
                      pack->hash.substr(0, 12).c_str());
    return ok();
}

Status explain_rule(const RulesCommand& command) {
    TG_TRY(const auto pack, open_pack(command.policy));
    const auto& rules = pack->rules->rules;
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&command](const RuleDef& r) { return r.id == command.rule; });
    if (rule == rules.end()) {
        std::vector<std::string> ids;
        for (const RuleDef& r : rules) {
            ids.push_back(r.id);
        }
        const auto near = nearest_name(command.rule, ids);
        return Error{Fault::kNotFound,
                     "rule \"" + command.rule + "\" is not in the pack" +
                         (!near ? std::string("; `tollgate rules list` names them all")
                                : "; did you mean " + std::string(*near) + "?")};
    }
    (void)std::printf(
        "%s\n\n%s\n\n  action %s, mode %s%s, %s:%d\n", rule->text.c_str(),
        explain(*rule, *pack->rules, pack->fields).c_str(),
        std::string(to_text(rule->action)).c_str(), mode_of(*rule),
        rule->shadow_until ? (" until " + format_rfc3339(*rule->shadow_until)).c_str() : "",
        rule->file.c_str(), rule->line);
    return ok();
}

// Exit code 1 when a case fails.
Status test(const RulesCommand& command, int& exit_code) {
    constexpr std::size_t kMaxFile = 1U << 20;
    TG_TRY(const auto pack, open_pack(command.policy));
    std::size_t cases = 0;
    std::size_t failures = 0;
    for (const std::string& file : command.files) {
        TG_TRY(const std::string text, read_file(file, kMaxFile));
        TG_TRY(const RuleTestReport found,
               run_rule_tests(text, file, *pack->rules, pack->fields, pack->lists));
        const std::string lines = format(found, file);
        (void)std::printf("%s%s", lines.c_str(), lines.ends_with('\n') ? "" : "\n");
        cases += found.cases;
        failures += found.failures.size();
    }
    (void)std::printf("%zu files, %zu cases, %zu failures\n", command.files.size(), cases,
                      failures);
    exit_code = failures == 0 ? 0 : 1;
    return ok();
}

void add_policy(CLI::App* sub, RulesCommand& command) {
    sub->add_option("--policy", command.policy, "pack folder (default: the embedded pack)");
}

}  // namespace

void register_rules(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<RulesCommand>();
    CLI::App* rules = app.add_subcommand("rules",
                                         "Read and test the rules of a policy pack.\n"
                                         "  tollgate rules list\n"
                                         "  tollgate rules explain R017 --policy policies/default\n"
                                         "  tollgate rules test tests/rules/*.test");
    rules->require_subcommand(1);

    CLI::App* listed =
        rules->add_subcommand("list", "Every rule: id, action, mode, owner, title, place.");
    add_policy(listed, *command);
    listed->callback([command, &exit_code] { exit_code = report("rules list", list(*command)); });

    CLI::App* explained =
        rules->add_subcommand("explain", "One rule as written and as one plain sentence.");
    explained->add_option("rule", command->rule, "the rule's id, such as R017")->required();
    add_policy(explained, *command);
    explained->callback(
        [command, &exit_code] { exit_code = report("rules explain", explain_rule(*command)); });

    CLI::App* tested = rules->add_subcommand(
        "test",
        "Run written cases against a pack's rules: an event, its history or window values, and "
        "which rules should fire.\n"
        "  tollgate rules test tests/rules/card.test --policy policies/default\n"
        "docs/rules.md has the format. Exit code 1 when a case fails.");
    tested->add_option("files", command->files, "test files")->required();
    add_policy(tested, *command);
    tested->callback([command, &exit_code] {
        int verdict = 1;
        const Status status = test(*command, verdict);
        exit_code = status ? verdict : report("rules test", status);
    });
}

}  // namespace tollgate::apps
