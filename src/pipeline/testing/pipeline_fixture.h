// The decision loop over a real store in memory and virtual time, with a model that answers when
// told.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/pipeline.h"
#include "pipeline/virtual_loop.h"
#include "store/testing/temp_store.h"
#include "text/json.h"

namespace tollgate::pipeline {

inline constexpr std::string_view kPolicy = R"(
[pack]
name = "test"
currency = "USD"
[time]
stream_clock = "event"
max_ahead = "1d"
[privacy]
personal = ["memo"]
)";
inline constexpr std::string_view kRules = R"(
ruleset "t" version 1 currency USD tz "UTC" on_error review
window n_10m count() by account_id over 10m excluding current
window risk count() by counterparty.id over 1d excluding current where label = fraud
rule R001 "burst" severity high
  decline if n_10m >= 5
  reason "five payments in ten minutes"
rule R002 "known fraud terminal"
  review if risk >= 1
  reason "fraud here today"
rule R900 "model is away" mode fallback
  challenge if amount > USD 500.00
  reason "large without a model"
)";

inline PackFiles pack_files(std::string extra = {}) {
    return {{"policy.toml", std::string(kPolicy)},
            {"rules/t.rules", std::string(kRules) + extra},
            {"encoder.j2",
             "{{ event.account_id }} {{ windows.n_10m }} "
             "{% for p in history('account_id', 2) %}{{ p.age_days }} {% endfor %}"}};
}

inline PackPtr make_pack(PackFiles files) {
    std::vector<Diagnostic> findings;
    auto pack = load_pack(std::move(files), findings);
    for (const Diagnostic& finding : findings) {
        if (finding.level == Diagnostic::Level::kError) {
            ADD_FAILURE() << format(finding);
        }
    }
    return PackPtr(std::move(pack).value_or_die());
}

// Answers when the test says so.
class FakeModel : public ModelSeam {
  public:
    bool available = true;
    std::vector<std::pair<ScoreRequest, std::function<void(const ScoreAnswer&)>>> asked;
    bool overloaded = false;
    int times_missed = 0;
    ModelProfile about;
    FakeModel() { about.digest = "fake"; }
    Accepted submit(ScoreRequest request, std::function<void(const ScoreAnswer&)> done) override {
        if (overloaded || !available) {
            return overloaded ? Accepted::kOverloaded : Accepted::kUnavailable;
        }
        asked.emplace_back(std::move(request), std::move(done));
        return Accepted::kTaken;
    }
    void missed() override { ++times_missed; }
    const ModelProfile& profile() const override { return about; }
    void answer(std::size_t i, float probability) {
        asked[i].second({.ticket = asked[i].first.ticket, .ok = true, .probability = probability});
    }
};

class PipelineTest : public ::testing::Test {
  protected:
    PipelineTest() { open(); }
    void open() {
        PipelineOptions options;
        options.snapshot_every = std::chrono::seconds(0);
        options.build = "test";
        pipeline = Pipeline::open(options, pack, *store, loop, metrics, faults, {model, grey})
                       .value_or_die();
    }
    void reopen() {
        close();
        ASSERT_TRUE(store.reopen());
        open();
    }
    void close() {
        bool drained = false;
        pipeline->drain([&drained] { drained = true; });
        ASSERT_TRUE(loop.run_until([&drained] { return drained; }));
        pipeline.reset();
    }

    static Event event(const std::string& id, std::int64_t second, const std::string& account = "A",
                       std::int64_t cents = 1000) {
        Event e;
        e.event_id = id;
        e.occurred_at = from_micros((1'800'000'000 + second) * 1'000'000);
        e.account_id = account;
        e.amount = {cents, Currency{840}};
        e.counterparty = Counterparty{.id = "T1", .kind = {}, .category = {}, .country = {}};
        e.memo = "for the rent";
        return e;
    }
    void send(const Event& e, Reply& reply, const std::string& tenant = "bank") {
        AssessInput input;
        input.tenant = tenant;
        input.pack = pipeline->pack_of(tenant);
        input.event = e;
        input.received = loop.now();
        input.reply = [&reply](Reply r) { reply = std::move(r); };
        pipeline->assess(std::move(input));
    }
    Reply assess(const Event& e, const std::string& tenant = "bank") {
        Reply reply;
        reply.body = "?";
        send(e, reply, tenant);
        EXPECT_TRUE(loop.run_until([&reply] { return reply.body != "?"; }));
        return reply;
    }
    Reply outcome(const std::string& event_id, Label label, std::int64_t second) {
        Outcome o;
        o.outcome_id = "o-" + event_id;
        o.event_id = event_id;
        o.label = label;
        o.known_at = from_micros((1'800'000'000 + second) * 1'000'000);
        Reply reply;
        reply.body = "?";
        pipeline->outcome("bank", o, [&reply](Reply r) { reply = std::move(r); });
        EXPECT_TRUE(loop.run_until([&reply] { return reply.body != "?"; }));
        return reply;
    }
    static std::string text(const Reply& reply, std::string_view member) {
        JsonDocument json;
        const JsonValue root = json.parse(reply.body).value_or_die();
        const auto value = root.find(member);
        return value && value->is(JsonKind::kString) ? std::string(value->string()) : std::string();
    }
    static std::string fallback_cause(const Reply& reply) {
        JsonDocument json;
        const JsonValue root = json.parse(reply.body).value_or_die();
        const JsonValue fallback = *root.find("fallback");
        return fallback.is(JsonKind::kNull) ? "" : std::string(fallback.find("cause")->string());
    }
    std::string windows_hash() { return to_hex(pipeline->windows_of("bank")->hash()); }

    FaultSwitches faults;
    Metrics metrics;
    store::testing::TempStore store;
    VirtualLoop loop{from_micros(1'800'000'000'000'000), &faults};
    FakeModel fake;
    ModelSeam* model = nullptr;
    GreySeam* grey = nullptr;
    PackPtr pack = make_pack(pack_files());
    std::unique_ptr<Pipeline> pipeline;
};

}  // namespace tollgate::pipeline
