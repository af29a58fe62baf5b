// The window store against a model that keeps every event and looks at all of them.
#include "decision/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "base/alloc_count.h"
#include "decision/rules.h"
#include "decision/schema.h"

namespace tollgate {
namespace {

constexpr std::string_view kRules = R"(
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

// Every event, looked at one by one.
class Model {
  public:
    std::vector<Payment> events;

    std::vector<const Payment*> seen(const Payment& now, bool by_account, std::int64_t span,
                                     std::int64_t delay, bool include) const {
        std::vector<const Payment*> out;
        for (const Payment& e : events) {
            const bool key = by_account ? e.account == now.account : e.terminal == now.terminal;
            const bool before =
                delay > 0 || e.at < now.at || (e.at == now.at && e.arrival < now.arrival);
            if (key && before && e.at <= now.at - delay && e.at > now.at - delay - span) {
                out.push_back(&e);
            }
        }
        std::sort(out.begin(), out.end(), [](const Payment* a, const Payment* b) {
            return std::tie(a->at, a->arrival) < std::tie(b->at, b->arrival);
        });
        if (include) {
            out.push_back(&now);
        }
        return out;
    }
    static Label label(const Payment& e, std::int64_t now) {
        Label out = Label::kNone;
        std::int64_t best = INT64_MIN;
        for (const auto& [known, label] : e.labels) {
            if (known <= now && known >= best) {
                best = known;
                out = label;
            }
        }
        return out;
    }
};

Number money_number(const Value& value) {
    EXPECT_EQ(value.kind, ValueKind::kMoney);
    return value.number;
}

void expect_equal(const Number& got, Int128 num, std::int64_t den, const char* what) {
    EXPECT_EQ(compare(got, Number{num, den}), std::strong_ordering::equal)
        << what << ": " << to_text(got);
}

void check_counts(const Pack& pack, const Model& model, const Payment& p, const WindowValues& v) {
    const auto count = [&](std::string_view name, std::size_t expected) {
        const Value& value = v.values[pack.window(name)];
        ASSERT_EQ(value.kind, ValueKind::kNumber) << name;
        EXPECT_EQ(compare(value.number, Number{static_cast<Int128>(expected), 1}),
                  std::strong_ordering::equal)
            << name << " = " << to_text(value.number) << ", expected " << expected;
    };
    count("n_10m", model.seen(p, true, 600, 0, false).size());
    count("n_in", model.seen(p, true, 600, 0, true).size());
    const auto day = model.seen(p, true, 86'400, 0, false);
    const auto with = model.seen(p, true, 86'400, 0, true);
    std::set<std::string> channels;
    std::size_t ecom = 0;
    std::size_t fraud = 0;
    for (const Payment* e : with) {
        channels.insert(e->channel);
    }
    for (const Payment* e : day) {
        ecom += e->channel == "ecom" ? 1U : 0U;
        fraud += Model::label(*e, p.at) == Label::kFraud ? 1U : 0U;
    }
    std::size_t run = 0;
    while (run < with.size() && with[with.size() - 1 - run]->channel == p.channel) {
        ++run;
    }
    count("ch_1d", channels.size());
    count("ecom_1d", ecom);
    count("fraud_n", fraud);
    count("run_ch", run);
    const Value& last = v.values[pack.window("last_ch")];
    if (day.empty()) {
        EXPECT_TRUE(last.is_unknown());
    } else {
        EXPECT_EQ(last.key, make_string_key(day.back()->channel));
    }
    const auto delayed = model.seen(p, false, 86'400, 7'200, false);
    std::size_t labelled = 0;
    for (const Payment* e : delayed) {
        labelled += Model::label(*e, p.at) == Label::kFraud ? 1U : 0U;
    }
    expect_equal(v.values[pack.window("risk_1d")].number, static_cast<Int128>(labelled),
                 delayed.empty() ? 1 : static_cast<std::int64_t>(delayed.size()), "risk_1d");
}

void check_amounts(const Pack& pack, const Model& model, const Payment& p, const WindowValues& v) {
    const auto day = model.seen(p, true, 86'400, 0, false);
    std::vector<std::int64_t> cents;
    std::int64_t sum = 0;
    for (const Payment* e : day) {
        cents.push_back(e->cents);
        sum += e->cents;
    }
    expect_equal(money_number(v.values[pack.window("sum_1d")]), sum + p.cents, 1, "sum_1d");
    const auto all = model.seen(p, true, std::int64_t{1} << 40, 0, false);
    std::int64_t last3 = 0;
    for (std::size_t i = all.size() > 3 ? all.size() - 3 : 0; i < all.size(); ++i) {
        last3 += all[i]->cents;
    }
    expect_equal(money_number(v.values[pack.window("last3")]), last3, 1, "last3");
    if (cents.empty()) {
        for (const char* name : {"avg_1d", "min_1d", "max_1d", "med_1d", "first", "newest"}) {
            EXPECT_TRUE(v.values[pack.window(name)].is_unknown()) << name;
        }
        return;
    }
    const auto n = static_cast<std::int64_t>(cents.size());
    expect_equal(money_number(v.values[pack.window("avg_1d")]), sum, n, "avg_1d");
    std::sort(cents.begin(), cents.end());
    expect_equal(money_number(v.values[pack.window("min_1d")]), cents.front(), 1, "min_1d");
    expect_equal(money_number(v.values[pack.window("max_1d")]), cents.back(), 1, "max_1d");
    const std::size_t half = cents.size() / 2;
    const std::int64_t twice =
        cents.size() % 2 == 1 ? 2 * cents[half] : cents[half - 1] + cents[half];
    expect_equal(money_number(v.values[pack.window("med_1d")]), twice, 2, "med_1d");
    expect_equal(v.values[pack.window("first")].number,
                 static_cast<Int128>(day.front()->at) * 1'000'000, 1, "first");
    expect_equal(v.values[pack.window("newest")].number,
                 static_cast<Int128>(day.back()->at) * 1'000'000, 1, "newest");
    std::size_t big = 0;
    for (const Payment* e : day) {
        big += e->cents > twice ? 1U : 0U;  // more than 2 * median = twice
    }
    expect_equal(v.values[pack.window("big_1d")].number, static_cast<Int128>(big), 1, "big_1d");
}

TEST(WindowStore, EveryFunctionEqualsTheModelOnARandomStream) {
    const Pack pack;
    ASSERT_NE(pack.rules, nullptr);
    Machine machine(pack);
    Model model;
    std::mt19937 random(7);
    std::int64_t clock = 1'000'000;
    for (std::uint64_t i = 1; i <= 3'000; ++i) {
        clock += static_cast<std::int64_t>(random() % 240);
        Payment p;
        p.at = random() % 10 == 0 ? clock - static_cast<std::int64_t>(random() % 40'000)
                                  : clock;  // late ones
        p.arrival = i;
        p.account = "A" + std::to_string(random() % 4);
        p.terminal = "T" + std::to_string(random() % 3);
        p.channel = random() % 3 == 0 ? "pos" : "ecom";
        p.cents = static_cast<std::int64_t>(random() % 10'000);
        const WindowValues& values = machine.assess(p);
        check_counts(pack, model, p, values);
        check_amounts(pack, model, p, values);
        model.events.push_back(p);
        if (random() % 4 == 0) {  // a label, sometimes a second one, dated now or before
            Payment& target = model.events[random() % model.events.size()];
            const std::int64_t known = clock - static_cast<std::int64_t>(random() % 5'000);
            const Label label = random() % 2 == 0 ? Label::kFraud : Label::kLegit;
            if (target.labels.size() < 8 &&
                machine.store.apply_label(machine.keys(target), Machine::at(target.at),
                                          target.arrival, label, Machine::at(known))) {
                if (std::find(target.labels.begin(), target.labels.end(),
                              std::pair(known, label)) == target.labels.end()) {
                    target.labels.emplace_back(known, label);
                }
            }
        }
        if (HasFailure()) {
            FAIL() << "at event " << i;
        }
    }
}

TEST(WindowStore, FirstEventOfAKeyIsCountedOnce) {  // case U1
    const Pack pack;
    Machine machine(pack);
    const std::int64_t cents[] = {4010, 1200, 90};
    const std::int64_t sums[] = {4010, 5210, 5300};
    for (std::uint64_t i = 0; i < 3; ++i) {
        const WindowValues& v = machine.assess({.at = 100 + static_cast<std::int64_t>(i),
                                                .arrival = i + 1,
                                                .account = "c-77",
                                                .terminal = "T",
                                                .channel = "pos",
                                                .cents = cents[i],
                                                .labels = {}});
        expect_equal(v.values[pack.window("n_in")].number, static_cast<Int128>(i + 1), 1,
                     "including");
        expect_equal(v.values[pack.window("n_10m")].number, static_cast<Int128>(i), 1, "excluding");
        expect_equal(money_number(v.values[pack.window("sum_1d")]), sums[i], 1, "sum");
    }
}

TEST(WindowStore, WindowIsHalfOpen) {  // case U9
    const Pack pack;
    Machine machine(pack);
    const Payment p{.at = 1000,
                    .arrival = 1,
                    .account = "A",
                    .terminal = "T",
                    .channel = "pos",
                    .cents = 1,
                    .labels = {}};
    (void)machine.assess(p);
    Payment q = p;
    q.arrival = 2;
    q.at = 1599;
    expect_equal(machine.assess(q, RecordMode::kReadOnly).values[pack.window("n_10m")].number, 1, 1,
                 "inside");
    q.at = 1600;
    expect_equal(machine.assess(q, RecordMode::kReadOnly).values[pack.window("n_10m")].number, 0, 1,
                 "exactly as long");
}

TEST(WindowStore, ConcurrentEventsOfOneKeySeeEachOther) {
    const Pack pack;
    constexpr int kThreads = 8;
    constexpr int kEach = 200;
    WindowStore store(pack.plan(), {});
    std::vector<std::vector<std::int64_t>> counts(kThreads);
    std::atomic<std::uint64_t> arrival{1};  // relaxed: only distinct numbers are needed
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            std::vector<Value> fields(pack.fields.size());
            const std::string terminal = "T" + std::to_string(t);  // a Value views its text
            fields[static_cast<std::size_t>(pack.field("account_id"))] = Value::of_string("A");
            fields[static_cast<std::size_t>(pack.field("counterparty.id"))] =
                Value::of_string(terminal);
            EventKeys keys;
            WindowValues values;
            WindowStore::keys_of(pack.plan(), fields, keys);
            for (int i = 0; i < kEach; ++i) {
                const EvalInput input{.fields = fields,
                                      .windows = {},
                                      .lists = &pack.lists,
                                      .now = Machine::at(1000)};
                // Arrival numbers are taken outside the lock, so the newest time decides: all at
                // once, counted by size.
                store.assess(
                    pack.plan(), keys,
                    {.at = Machine::at(1000), .arrival = UINT64_MAX - arrival.fetch_add(1)}, input,
                    RecordMode::kReadOnly, values);
                store.assess(pack.plan(), keys,
                             {.at = Machine::at(1000), .arrival = arrival.fetch_add(1)}, input,
                             RecordMode::kRecord, values);
                counts[static_cast<std::size_t>(t)].push_back(
                    static_cast<std::int64_t>(values.values[pack.window("n_10m")].number.num));
            }
        });
    }
    threads.clear();
    EXPECT_EQ(store.stats()
                  .keys[static_cast<std::size_t>(pack.plan().windows[pack.window("n_10m")].key)]
                  .events,
              static_cast<std::uint64_t>(kThreads * kEach));
    for (const auto& seen : counts) {
        EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    }
}

class Disk : public ::testing::Test {
  protected:
    static Payment payment(std::uint64_t i, std::int64_t day = 0) {
        return {.at = 1000 + day * 86'400 + static_cast<std::int64_t>(i * 37),
                .arrival = i,
                .account = "A" + std::to_string(i % 5),
                .terminal = "T" + std::to_string(i % 3),
                .channel = i % 2 == 0 ? "pos" : "ecom",
                .cents = static_cast<std::int64_t>(i * 11),
                .labels = {}};
    }
    static std::vector<std::pair<WindowStore::KeyRef, std::string>> exported(WindowStore& store) {
        std::vector<std::pair<WindowStore::KeyRef, std::string>> out;
        (void)store.export_dirty(1'000, false,
                                 [&](const WindowStore::KeyRef& key, std::string_view blob) {
                                     out.emplace_back(key, std::string(blob));
                                 });
        return out;
    }
};

TEST_F(Disk, ExportedKeysGiveTheSameHash) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 300; ++i) {
        (void)machine.assess(payment(i));
    }
    for (std::uint64_t i = 1; i <= 300; i += 7) {
        ASSERT_TRUE(machine.store.apply_label(machine.keys(payment(i)), Machine::at(payment(i).at),
                                              i, Label::kFraud, Machine::at(5'000)));
        ASSERT_TRUE(machine.store.apply_label(machine.keys(payment(i)), Machine::at(payment(i).at),
                                              i, Label::kLegit, Machine::at(6'000)));
    }
    const auto keys = exported(machine.store);
    EXPECT_EQ(keys.size(), 8U);
    EXPECT_TRUE(exported(machine.store).empty()) << "nothing changed since";
    Machine other(pack);
    for (const auto& [key, blob] : keys) {
        ASSERT_TRUE(other.store.load_key(key, blob));
    }
    EXPECT_EQ(to_hex(machine.store.hash()), to_hex(other.store.hash()));
    for (std::size_t cut = 0; cut < keys[0].second.size(); cut += 5) {
        EXPECT_FALSE(
            other.store.load_key(keys[0].first, std::string_view(keys[0].second).substr(0, cut)));
    }
}

TEST_F(Disk, EvictedKeysComeBackAndKeepWhatWasRecordedMeanwhile) {
    const Pack pack;
    Machine machine(pack);
    Machine undisturbed(pack);
    for (std::uint64_t i = 1; i <= 100; ++i) {
        (void)machine.assess(payment(i));
        (void)undisturbed.assess(payment(i));
    }
    const auto keys = exported(machine.store);
    EXPECT_EQ(machine.store.evict(0), keys.size());
    const WindowValues& cold = machine.assess(payment(101));
    EXPECT_EQ(cold.cold_keys, 2U);
    EXPECT_TRUE(cold.values[pack.window("n_10m")].is_unknown()) << "never smaller, unknown";
    std::vector<WindowStore::KeyRef> waiting;
    machine.store.take_waiting(waiting);
    EXPECT_EQ(waiting.size(), 2U) << "a snapshot must load these first";
    (void)undisturbed.assess(payment(101));
    std::vector<WindowStore::KeyRef> missing;
    machine.store.missing(machine.keys(payment(101)), missing);
    EXPECT_EQ(missing.size(), 2U);
    for (const auto& [key, blob] : keys) {
        ASSERT_TRUE(machine.store.load_key(key, blob));
    }
    waiting.clear();
    machine.store.take_waiting(waiting);
    EXPECT_TRUE(waiting.empty());
    EXPECT_EQ(to_hex(machine.store.hash()), to_hex(undisturbed.store.hash()));
}

TEST_F(Disk, RowsThatTheLogMayNotHaveAreLeftOut) {
    const Pack pack;
    Machine machine(pack);
    Machine shorter(pack);
    for (std::uint64_t i = 1; i <= 50; ++i) {
        (void)machine.assess(payment(i));
        if (i < 40) {
            (void)shorter.assess(payment(i));
        }
    }
    Machine recovered(pack);
    for (const auto& [key, blob] : exported(machine.store)) {
        ASSERT_TRUE(recovered.store.load_key(key, blob, 40));
    }
    EXPECT_EQ(to_hex(recovered.store.hash()), to_hex(shorter.store.hash()));
}

TEST(WindowStore, PastItsBoundAKeyIsUnknownNotSmaller) {
    const Pack pack;
    Machine machine(pack, {.max_events_per_key = 10});
    Payment p{.at = 1000,
              .arrival = 0,
              .account = "A",
              .terminal = "T",
              .channel = "pos",
              .cents = 1,
              .labels = {}};
    for (std::uint64_t i = 1; i <= 11; ++i) {
        p.arrival = i;
        ++p.at;
        (void)machine.assess(p);
    }
    ++p.at;
    p.arrival = 12;
    const WindowValues& v = machine.assess(p);
    EXPECT_EQ(v.overflow_keys, 2U);
    EXPECT_TRUE(v.values[pack.window("n_10m")].is_unknown());
}

TEST(WindowStore, SweepDropsWhatNoWindowNeeds) {
    const Pack pack;
    Machine machine(pack);
    Payment p{.at = 1000,
              .arrival = 1,
              .account = "A",
              .terminal = "T",
              .channel = "pos",
              .cents = 1,
              .labels = {}};
    (void)machine.assess(p);
    const auto export_all = [&machine] {
        std::size_t empty = 0;
        (void)machine.store.export_dirty(
            100, false, [&empty](const WindowStore::KeyRef&, std::string_view blob) {
                empty += blob.empty() ? 1U : 0U;
            });
        return empty;
    };
    std::vector<WindowStore::KeyRef> gone;
    machine.store.sweep(1000, Machine::at(2000), gone);
    EXPECT_TRUE(gone.empty()) << "not exported yet: a snapshot would bring the key back";
    EXPECT_EQ(machine.store.stats().keys[0].events, 0U);
    EXPECT_EQ(export_all(), 2U) << "an empty blob: nothing of the key is needed";
    machine.store.sweep(1000, Machine::at(2000), gone);
    EXPECT_EQ(gone.size(), 2U);
    EXPECT_EQ(machine.store.stats().keys[0].keys, 0U);
    EXPECT_EQ(machine.store.stats().bytes, 0U);
}

TEST(WindowStore, SweepGoesRoundInSmallSteps) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 200; ++i) {
        (void)machine.assess({.at = 1000,
                              .arrival = i,
                              .account = "A" + std::to_string(i),
                              .terminal = "T" + std::to_string(i),
                              .channel = "pos",
                              .cents = 1,
                              .labels = {}});
    }
    std::vector<WindowStore::KeyRef> gone;
    for (int step = 0; step < 3; ++step) {
        machine.store.sweep(10, Machine::at(2000), gone);
    }
    const std::uint64_t after_three = machine.store.stats().keys[0].events;
    EXPECT_GT(after_three, 150U);
    EXPECT_LT(after_three, 200U);
    for (int step = 0; step < 60; ++step) {
        machine.store.sweep(10, Machine::at(2000), gone);
    }
    EXPECT_EQ(machine.store.stats().keys[0].events, 0U);
}

TEST(WindowStore, ForgetsAnExpiredKeyThatIsOnDisk) {
    const Pack pack;
    Machine machine(pack);
    (void)machine.assess({.at = 1000,
                          .arrival = 1,
                          .account = "A",
                          .terminal = "T",
                          .channel = "pos",
                          .cents = 1,
                          .labels = {}});
    std::vector<std::pair<WindowStore::KeyRef, std::string>> blobs;
    (void)machine.store.export_dirty(
        100, false, [&blobs](const WindowStore::KeyRef& key, std::string_view blob) {
            blobs.emplace_back(key, std::string(blob));
        });
    Machine restarted(pack);
    for (const auto& [key, blob] : blobs) {
        restarted.store.mark_on_disk(key, blob);
    }
    EXPECT_EQ(machine.store.evict(0), blobs.size());
    for (Machine* one : {&machine, &restarted}) {
        std::vector<WindowStore::KeyRef> gone;
        one->store.sweep(1000, Machine::at(999), gone);
        EXPECT_TRUE(gone.empty());
        one->store.sweep(1000, Machine::at(1002), gone);
        EXPECT_EQ(gone.size(), blobs.size());
        EXPECT_EQ(one->store.stats().keys[0].keys, 0U);
        EXPECT_EQ(one->store.stats().spilled_keys, 0U);
    }
}

TEST_F(Disk, WhatCouldNotBeWrittenStaysDue) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 20; ++i) {
        (void)machine.assess(payment(i));
    }
    const auto count = [&machine](std::vector<WindowStore::KeyRef>& keys) {
        return machine.store.export_dirty(
            1000, false,
            [&keys](const WindowStore::KeyRef& key, std::string_view) { keys.push_back(key); });
    };
    std::vector<WindowStore::KeyRef> first;
    ASSERT_GT(count(first), 2U);
    machine.store.put_back(first);
    EXPECT_EQ(machine.store.evict(0), 0U) << "they are dirty: not on disk yet";
    std::vector<WindowStore::KeyRef> again;
    EXPECT_EQ(count(again), first.size());
}

TEST_F(Disk, ReservedKeysAndRowsAllocateNothing) {
    const Pack pack;
    Machine machine(pack);
    for (std::uint64_t i = 1; i <= 200; ++i) {
        (void)machine.assess(payment(i));
    }
    machine.store.reserve(500, 64);
    std::vector<Payment> next;
    for (std::uint64_t i = 201; i <= 260; ++i) {
        Payment p = payment(i);
        p.account += "-new";
        next.push_back(p);
    }
    (void)machine.assess(next[0]);  // its own texts' scratch
    const std::uint64_t keys = machine.store.stats().keys[0].keys;
    machine.allocated = 0;
    for (std::size_t i = 1; i < next.size(); ++i) {
        (void)machine.assess(next[i]);
    }
    EXPECT_EQ(machine.allocated, 0U);
    EXPECT_TRUE(allocations_counted()) << "else the line above proves nothing";
    EXPECT_GT(machine.store.stats().keys[0].keys, keys);
}

TEST(WindowStore, AHotKeyCostsNoMoreThanTheBoundAndSaysSo) {
    const Pack pack;
    WindowLimits limits;
    limits.max_scan_rows = 400;
    Machine machine(pack, limits);
    Payment p{.at = 1000,
              .arrival = 1,
              .account = "hot",
              .terminal = "T",
              .channel = "ecom",
              .cents = 100,
              .labels = {}};
    for (; p.arrival <= 700; ++p.arrival) {
        p.terminal = "T" + std::to_string(p.arrival);
        (void)machine.assess(p);
    }
    const WindowValues& values = machine.assess(p);
    const auto number = [&](std::string_view name) {
        return to_text(values.values[pack.window(name)].number);
    };
    EXPECT_EQ(number("n_10m"), "700");
    EXPECT_EQ(number("sum_1d"), "70100") << "sums go by blocks";
    EXPECT_EQ(number("min_1d"), "100");
    EXPECT_EQ(number("last3"), "300");
    for (const std::string_view name : {"med_1d", "ch_1d", "ecom_1d", "fraud_n"}) {
        EXPECT_TRUE(values.values[pack.window(name)].is_unknown()) << name;
    }
    EXPECT_GE(values.overflow_keys, 4U);
}

}  // namespace
}  // namespace tollgate
