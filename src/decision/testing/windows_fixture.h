// A pack with a window of every kind, payments for it, and a window store that is fed with them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/alloc_count.h"
#include "decision/rules.h"
#include "decision/schema.h"
#include "decision/windows.h"

namespace tollgate {

inline constexpr std::string_view kRules = R"(
ruleset "t" version 1 currency USD tz "UTC" on_error review
window n_10m    count()               by account_id over 10m excluding current
window n_in     count()               by account_id over 10m including current
window sum_1d   sum(amount)           by account_id over 1d  including current
window avg_1d   avg(amount)           by account_id over 1d  excluding current
window min_1d   min(amount)           by account_id over 1d  excluding current
window max_1d   max(amount)           by account_id over 1d  excluding current
window med_1d   median(amount)        by account_id over 1d  excluding current
window ch_1d    distinct(channel)     by account_id over 1d  including current
window last_ch  last(channel)         by account_id over 1d  excluding current
window run_ch   run(channel)          by account_id over 1d  including current
window risk_1d  share(fraud)          by counterparty.id over 1d delayed 2h else 0
window ecom_1d  count()               by account_id over 1d excluding current where channel = "ecom"
window big_1d   count()               by account_id over 1d excluding current where amount > 2 * med_1d
window last3    sum(amount)           by account_id last 3 excluding current
window first    first_seen()          by account_id over 1d excluding current
window newest   last_seen()           by account_id over 1d excluding current
window fraud_n  count()               by account_id over 1d excluding current where label = fraud
rule R001 "uses them" review if n_10m > 100 and n_in > 1 and sum_1d > USD 1.00 and avg_1d > USD 1.00
  and min_1d > USD 1.00 and max_1d > USD 1.00 and ch_1d > 1 and last_ch = "ecom" and run_ch > 1
  and risk_1d > 0.5 and ecom_1d > 1 and big_1d > 1 and last3 > USD 1.00 and occurred_at - first < 1h
  and occurred_at - newest < 1h and fraud_n > 1
)";

struct Pack {
    FieldTable fields{Schema{}};
    ListSet lists;
    std::unique_ptr<CompiledRules> rules;
    Pack() {
        std::vector<Diagnostic> findings;
        const RuleSource source{"rules/t.rules", std::string(kRules)};
        rules = compile_rules(std::span(&source, 1), fields, lists, {}, findings);
        for (const Diagnostic& finding : findings) {
            if (finding.level == Diagnostic::Level::kError) {
                ADD_FAILURE() << format(finding);
            }
        }
    }
    FieldId field(std::string_view name) const {
        return *fields.find(name, rules->rulesets[0].currency, rules->rulesets[0].zone);
    }
    const WindowPlan& plan() const { return rules->plan; }
    std::size_t window(std::string_view name) const {
        for (std::size_t i = 0; i < plan().windows.size(); ++i) {
            if (plan().windows[i].name == name) {
                return i;
            }
        }
        ADD_FAILURE() << name;
        return 0;
    }
};

struct Payment {
    std::int64_t at = 0;  // seconds
    std::uint64_t arrival = 0;
    std::string account;
    std::string terminal;
    std::string channel;
    std::int64_t cents = 0;
    std::vector<std::pair<std::int64_t, Label>> labels;  // known at (seconds), as they came
};

class Machine {
  public:
    explicit Machine(const Pack& pack, WindowLimits limits = {})
        : pack_(pack), store(pack.plan(), limits) {
        fields_.resize(pack.fields.size());
    }
    const EventKeys& keys(const Payment& p) {
        set("account_id", Value::of_string(p.account));
        set("counterparty.id", Value::of_string(p.terminal));
        set("channel", Value::of_string(p.channel));
        set("amount", Value::of_money({p.cents, 1}));
        WindowStore::keys_of(pack_.plan(), fields_, keys_);
        return keys_;
    }
    const WindowValues& assess(const Payment& p, RecordMode mode = RecordMode::kRecord) {
        (void)keys(p);
        const EvalInput input{
            .fields = fields_, .windows = {}, .lists = &pack_.lists, .now = at(p.at)};
        const std::uint64_t before = thread_allocations();
        store.assess(pack_.plan(), keys_,
                     {.at = at(p.at), .arrival = p.arrival, .id_hash = p.arrival * 77}, input, mode,
                     values_);
        allocated += thread_allocations() - before;
        return values_;
    }
    static EventTime at(std::int64_t seconds) { return from_micros(seconds * 1'000'000); }

  private:
    void set(std::string_view name, const Value& value) {
        fields_[static_cast<std::size_t>(pack_.field(name))] = value;
    }
    const Pack& pack_;
    std::vector<Value> fields_;
    EventKeys keys_;
    WindowValues values_;

  public:
    WindowStore store;
    std::uint64_t allocated = 0;  // by the store, over all assess()
};

}  // namespace tollgate
