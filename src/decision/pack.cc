// Loads a pack: policy, lists, rules, rates and zones together, or a list of what is wrong.
#include "decision/pack.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "decision/describe.h"

namespace tollgate {
namespace {

Diagnostic diagnostic(Diagnostic::Level level, std::string code, std::string file,
                      std::string message) {
    Diagnostic d;
    d.level = level;
    d.code = std::move(code);
    d.file = std::move(file);
    d.message = std::move(message);
    return d;
}

void error(std::vector<Diagnostic>& out, std::string code, std::string file, std::string message) {
    out.push_back(diagnostic(Diagnostic::Level::kError, std::move(code), std::move(file),
                             std::move(message)));
}
void warning(std::vector<Diagnostic>& out, std::string code, std::string file,
             std::string message) {
    out.push_back(diagnostic(Diagnostic::Level::kWarning, std::move(code), std::move(file),
                             std::move(message)));
}

std::size_t error_count(const std::vector<Diagnostic>& out) {
    return static_cast<std::size_t>(std::count_if(out.begin(), out.end(), [](const Diagnostic& d) {
        return d.level == Diagnostic::Level::kError;
    }));
}

// "policy.toml:12: message" -> file, line and message apart.
Diagnostic of_policy(const Error& fault) {
    constexpr std::string_view kFile = "policy.toml:";
    std::string_view text = fault.message;
    int line = 0;
    if (text.starts_with(kFile)) {
        text.remove_prefix(kFile.size());
        const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), line);
        if (failed == std::errc{}) {
            text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
            text.remove_prefix(text.starts_with(':') ? 1 : 0);
        }
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    Diagnostic d =
        diagnostic(Diagnostic::Level::kError, "policy", "policy.toml", std::string(text));
    d.line = line;
    d.column = line > 0 ? 1 : 0;
    return d;
}

// Sorts the files into what they are for; what is for nothing is an error, so that a misplaced rule
// is not lost.
void sort_files(const PackFiles& files, std::vector<RuleSource>& sources, ListSet& lists,
                std::vector<Diagnostic>& out) {
    for (const auto& [path, content] : files) {
        const std::string_view p = path;
        if (p.starts_with("rules/") && p.ends_with(".rules")) {
            sources.push_back({path, content});
        } else if (p.starts_with("lists/")) {
            lists.files.emplace(path, content);
        } else if (p == "policy.toml" || p == "encoder.j2" || p == "README.md" ||
                   (p.starts_with("prompts/") && p.ends_with(".j2"))) {
            continue;
        } else {
            error(out, "unknown-file", path,
                  "is no part of a pack: policy.toml, rules/*.rules, lists/*, prompts/*.j2, "
                  "encoder.j2, README.md");
        }
    }
}

void load_rates(PolicyPack& pack, std::vector<Diagnostic>& out) {
    pack.rates = Rates(pack.policy.currency);
    for (const RateEntry& entry : pack.policy.rates) {
        const std::string key = "rates." + std::string(alpha3_of(entry.currency));
        const auto utc = parse_rfc3339(key, entry.date + "T00:00:00Z");
        if (!utc) {
            error(out, "rates", "policy.toml", utc.error().message);
            continue;
        }
        const std::chrono::local_days day{
            std::chrono::floor<std::chrono::days>(*utc).time_since_epoch()};
        const Status added =
            pack.rates.add(entry.currency, pack.policy_zone.start_of_day(0, day), entry.rate);
        if (!added) {
            error(out, "rates", "policy.toml", key + ": " + added.error().message);
        }
    }
}

void warn_about_bands(const Policy& policy, std::vector<Diagnostic>& out) {
    const BandRules& b = policy.bands;
    // A probability of 0 belongs to no band but the lowest; a knot at an end leaves a band without
    // a probability.
    if (b.p_low <= 0.0) {
        warning(out, "band-gap", "policy.toml",
                "bands.p_low is 0: no probability falls below the grey band");
    }
    if (b.p_high >= 1.0) {
        warning(out, "band-gap", "policy.toml",
                "bands.p_high is 1: only certainty falls into the high band");
    }
    if (b.high_action == Verdict::kApprove) {
        warning(out, "band-gap", "policy.toml",
                "bands.high_action is approve: the model's high band decides nothing");
    }
}

void warn_about_lists(const ListSet& lists, EventTime now, std::vector<Diagnostic>& out) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const NamedList& list = lists.at(i);
        const auto live = [&](const NamedList::Entry& e) { return e.expires_us > to_micros(now); };
        const auto left = std::count_if(list.entries.begin(), list.entries.end(), live);
        const auto size = static_cast<std::ptrdiff_t>(list.entries.size());
        const std::string name = "list " + short_quote(list.name) + " ";
        if (size > 0 && left == 0) {
            warning(out, "expired-list", "lists", name + "has only expired entries");
        } else if (left < size) {
            warning(out, "expired-entries", "lists",
                    name + "has " + std::to_string(size - left) + " expired entries of " +
                        std::to_string(size));
        }
    }
}

void warn_about_rulesets(const PolicyPack& pack, std::vector<Diagnostic>& out) {
    const auto currencies = pack.fields.currencies();
    for (const Ruleset& ruleset : pack.rules->rulesets) {
        if (ruleset.currency != pack.policy.currency &&
            !pack.rates.convert({1, ruleset.currency}, pack.policy.currency,
                                from_micros(INT64_MAX))) {
            warning(out, "no-rate", ruleset.file,
                    "rule set " + short_quote(ruleset.name) + " is in " +
                        std::string(alpha3_of(ruleset.currency)) +
                        ", for which policy.toml has no rate: amounts in " +
                        std::string(alpha3_of(pack.policy.currency)) + " are unknown to it");
        }
    }
    if (currencies.empty()) {
        warning(out, "no-rules", "rules", "the pack has no rule set");
    }
}

Result<Zones> zones_of(const FieldTable& fields) {
    return Zones::load(fields.zones());
}

// A window that no rule reads may be there for the encoder.
void drop_unused_of_encoder(const std::string& source, std::vector<Diagnostic>& out) {
    constexpr std::string_view kMessage = "no rule reads the window ";
    out.erase(std::remove_if(out.begin(), out.end(),
                             [&](const Diagnostic& d) {
                                 return d.code == "unused" && d.message.starts_with(kMessage) &&
                                        source.find("." + d.message.substr(kMessage.size())) !=
                                            std::string::npos;
                             }),
              out.end());
}

void compile_encoder(PolicyPack& pack, std::vector<Diagnostic>& out) {
    const auto source = pack.files.find("encoder.j2");
    if (source == pack.files.end()) {
        return;
    }
    drop_unused_of_encoder(source->second, out);
    auto compiled = EncoderText::compile(source->second, pack.fields, pack.rules->plan,
                                         pack.policy.currency, pack.policy.time_zone);
    if (!compiled) {
        error(out, "encoder", "encoder.j2", compiled.error().message);
        return;
    }
    pack.encoder = *std::move(compiled);
}

// Everything after policy.toml; findings go to `out`.
void compile_rest(PolicyPack& pack, EventTime now, std::vector<Diagnostic>& out) {
    std::vector<RuleSource> sources;
    sort_files(pack.files, sources, pack.lists, out);
    auto zone = Zones::load(std::span(&pack.policy.time_zone, 1));
    if (zone) {
        pack.policy_zone = *std::move(zone);
        load_rates(pack, out);
    } else {
        error(out, "policy", "policy.toml", "pack.time_zone: " + zone.error().message);
    }
    pack.fields = FieldTable(pack.policy.schema);
    // The pack's own currency and zone have their fields even when no rule set uses them.
    pack.fields.add_ruleset(pack.policy.currency, pack.policy.time_zone);
    pack.rules = compile_rules(sources, pack.fields, pack.lists, pack.policy.cost, out);
    pack.lists.files.clear();  // they are in `files`
    if (error_count(out) > 0 || pack.rules == nullptr) {
        return;
    }
    auto zones = zones_of(pack.fields);
    if (!zones) {
        error(out, "zone", "rules", zones.error().message);
        return;
    }
    pack.zones = *std::move(zones);
    compile_encoder(pack, out);
    warn_about_bands(pack.policy, out);
    warn_about_lists(pack.lists, now, out);
    warn_about_rulesets(pack, out);
}

Error first_errors(const std::vector<Diagnostic>& out) {
    constexpr std::size_t kShown = 5;
    std::string text = "the policy pack has " + std::to_string(error_count(out)) + " errors";
    std::size_t shown = 0;
    for (const Diagnostic& d : out) {
        if (d.level == Diagnostic::Level::kError && shown++ < kShown) {
            text += "\n" + format(d);
        }
    }
    return {Fault::kBadInput, text};
}

}  // namespace

Result<std::unique_ptr<const PolicyPack>> load_pack(PackFiles files, std::vector<Diagnostic>& out,
                                                    EventTime now) {
    const std::size_t before = out.size();
    auto pack = std::make_unique<PolicyPack>();
    pack->files = std::move(files);
    pack->hash = pack_hash(pack->files);
    const auto toml = pack->files.find("policy.toml");
    std::vector<Diagnostic> found;
    if (toml == pack->files.end()) {
        error(found, "policy", "policy.toml", "is missing");
    } else if (auto policy = parse_policy(toml->second)) {
        pack->policy = *std::move(policy);
        compile_rest(*pack, now, found);
    } else {
        found.push_back(of_policy(policy.error()));
    }
    if (error_count(found) == 0 && pack->rules == nullptr) {
        error(found, "rules", "rules", "did not compile");
    }
    for (const Diagnostic& d : found) {
        if (d.level == Diagnostic::Level::kWarning) {
            pack->warnings.push_back(format(d));
        }
    }
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(before), found.begin(), found.end());
    if (error_count(found) > 0) {
        return first_errors(found);
    }
    return std::unique_ptr<const PolicyPack>(std::move(pack));
}

}  // namespace tollgate
