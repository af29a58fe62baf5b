// What differs between two packs, in lines a reviewer reads.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "decision/pack.h"

namespace tollgate {
namespace {

using Named = std::map<std::string, std::string>;  // what a thing is called -> what it says

// "rule R017 added|removed|changed" for everything of one kind.
void diff_named(std::string& out, const std::string& kind, const Named& before,
                const Named& after) {
    std::set<std::string> names;
    for (const auto* side : {&before, &after}) {
        for (const auto& [name, text] : *side) {
            names.insert(name);
        }
    }
    for (const std::string& name : names) {
        const auto old = before.find(name);
        const auto now = after.find(name);
        const char* what = "changed";
        if (old == before.end() || now == after.end()) {
            what = old == before.end() ? "added" : "removed";
        } else if (old->second == now->second) {
            continue;
        }
        out.append(kind).append(" ").append(name).append(" ").append(what).append("\n");
    }
}

Named rules_of(const PolicyPack& pack) {
    Named out;
    for (const RuleDef& rule : pack.rules->rules) {
        out.emplace(rule.id, rule.text);
    }
    return out;
}

Named windows_of(const PolicyPack& pack) {
    Named out;
    for (const WindowDef& window : pack.rules->plan.windows) {
        out.emplace(window.name, window.text);
    }
    return out;
}

Named keeps_of(const PolicyPack& pack) {
    Named out;
    for (const KeepDef& keep : pack.rules->plan.keeps) {
        out.emplace(keep.name, keep.text);
    }
    return out;
}

Named rulesets_of(const PolicyPack& pack) {
    Named out;
    for (const Ruleset& r : pack.rules->rulesets) {
        out.emplace(r.name, "version " + std::to_string(r.version) + " " +
                                std::string(alpha3_of(r.currency)) + " " + r.zone + " " +
                                (r.on_error ? std::string(to_text(*r.on_error)) : "none"));
    }
    return out;
}

Named lists_of(const PolicyPack& pack) {
    Named out;
    for (std::size_t i = 0; i < pack.lists.size(); ++i) {
        out.emplace(pack.lists.at(i).name, "");
    }
    return out;
}

// Files that no compiled thing stands for.
Named other_files(const PolicyPack& pack) {
    Named out;
    for (const auto& [path, content] : pack.files) {
        const bool compiled =
            path == "policy.toml" || path.starts_with("rules/") || path.starts_with("lists/");
        if (!compiled) {
            out.emplace(path, content);
        }
    }
    return out;
}

void diff_lists(std::string& out, const PolicyPack& before, const PolicyPack& after) {
    diff_named(out, "list", lists_of(before), lists_of(after));
    for (std::size_t i = 0; i < before.lists.size(); ++i) {
        const NamedList& old = before.lists.at(i);
        const auto index = after.lists.find(old.name);
        if (!index) {
            continue;
        }
        const NamedList& now = after.lists.at(*index);
        const auto less = [](const NamedList::Entry& a, const NamedList::Entry& b) {
            const auto& x = a.key.words;
            const auto& y = b.key.words;
            if (x[0] != y[0] || x[1] != y[1]) {
                return x[0] != y[0] ? x[0] < y[0] : x[1] < y[1];
            }
            return a.expires_us < b.expires_us;
        };
        const auto only_in = [&](const NamedList& a, const NamedList& b) {
            std::vector<NamedList::Entry> rest;
            std::set_difference(a.entries.begin(), a.entries.end(), b.entries.begin(),
                                b.entries.end(), std::back_inserter(rest), less);
            return rest.size();
        };
        const std::size_t added = only_in(now, old);
        const std::size_t removed = only_in(old, now);
        if (added + removed > 0) {
            out += "list " + old.name + ": " + std::to_string(added) + " added, " +
                   std::to_string(removed) + " removed\n";
        }
    }
}

void diff_keys(std::string& out, const PolicyPack& before, const PolicyPack& after) {
    const Named old = policy_keys(before.policy);
    const Named now = policy_keys(after.policy);
    std::set<std::string> keys;
    for (const auto* side : {&old, &now}) {
        for (const auto& [key, value] : *side) {
            keys.insert(key);
        }
    }
    const auto at = [](const Named& side, const std::string& key) {
        const auto found = side.find(key);
        return found == side.end() ? std::string("(none)") : found->second;
    };
    for (const std::string& key : keys) {
        if (at(old, key) != at(now, key)) {
            out += "policy.toml " + key + " " + at(old, key) + " -> " + at(now, key) + "\n";
        }
    }
}

}  // namespace

std::string diff_packs(const PolicyPack& before, const PolicyPack& after) {
    std::string out;
    diff_named(out, "ruleset", rulesets_of(before), rulesets_of(after));
    diff_named(out, "rule", rules_of(before), rules_of(after));
    diff_named(out, "window", windows_of(before), windows_of(after));
    diff_named(out, "kept number", keeps_of(before), keeps_of(after));
    diff_lists(out, before, after);
    diff_keys(out, before, after);
    diff_named(out, "file", other_files(before), other_files(after));
    if (out.empty() && before.hash != after.hash) {
        out = "comments and layout only\n";
    }
    return out;
}

}  // namespace tollgate
