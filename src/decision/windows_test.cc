// The window store against a model that keeps every event and looks at all of them.
#include "decision/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "decision/testing/windows_fixture.h"

namespace tollgate {
namespace {

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

}  // namespace
}  // namespace tollgate
