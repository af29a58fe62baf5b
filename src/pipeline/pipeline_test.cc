// The decision loop over a real store and virtual time.
#include "pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "pipeline/history.h"
#include "pipeline/import.h"
#include "pipeline/retention.h"
#include "pipeline/virtual_loop.h"
#include "store/testing/temp_store.h"
#include "text/json.h"

namespace tollgate::pipeline {
namespace {

constexpr std::string_view kPolicy = R"(
[pack]
name = "test"
currency = "USD"
[time]
stream_clock = "event"
max_ahead = "1d"
[privacy]
personal = ["memo"]
)";
constexpr std::string_view kRules = R"(
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

PackFiles pack_files(std::string extra = {}) {
    return {{"policy.toml", std::string(kPolicy)}, {"rules/t.rules", std::string(kRules) + extra}};
}

PackPtr make_pack(PackFiles files) {
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
    bool submit(const ScoreRequest& request,
                std::function<void(const ScoreAnswer&)> done) override {
        if (available) {
            asked.emplace_back(request, std::move(done));
        }
        return available;
    }
    std::string digest() const override { return "fake"; }
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
        pipeline =
            Pipeline::open(options, pack, *store, loop, metrics, faults, model).value_or_die();
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
    PackPtr pack = make_pack(pack_files());
    std::unique_ptr<Pipeline> pipeline;
};

TEST_F(PipelineTest, DecidesStoresAndRepeatsByteForByte) {
    const Reply first = assess(event("e1", 0));
    EXPECT_EQ(text(first, "decision"), "approve");
    EXPECT_EQ(text(first, "source"), "rules");
    EXPECT_EQ(text(first, "persisted"), "os");
    EXPECT_EQ(fallback_cause(first), "");
    const Reply again = assess(event("e1", 0));
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.body, first.body);
    reopen();
    const Reply later = assess(event("e1", 0));
    EXPECT_TRUE(later.replayed);
    EXPECT_EQ(later.body, first.body);
    const Reply other = assess(event("e1", 0, "A", 2000));
    ASSERT_TRUE(other.error);
    EXPECT_EQ(other.error->fault, Fault::kConflict);
}

TEST_F(PipelineTest, ARepeatInFlightGetsTheFirstOnesBytes) {
    Reply first;
    Reply second;
    send(event("e1", 0), first);
    send(event("e1", 0), second);
    ASSERT_TRUE(loop.run_until([&] { return !first.body.empty() && !second.body.empty(); }));
    EXPECT_EQ(first.body, second.body);
    EXPECT_TRUE(second.replayed);
}

TEST_F(PipelineTest, FiveInTenMinutesPassAndTheSixthDoesNot) {
    std::array<Reply, 64> replies;
    for (std::size_t i = 0; i < replies.size(); ++i) {
        send(event("e" + std::to_string(i), 0), replies[i]);
    }
    ASSERT_TRUE(loop.run_until([&] { return pipeline->in_flight() == 0; }));
    std::size_t approved = 0;
    for (const Reply& reply : replies) {
        approved += text(reply, "decision") == "approve" ? 1U : 0U;
    }
    EXPECT_EQ(approved, 5U);
}

TEST_F(PipelineTest, WindowsAfterARestartEqualThoseBefore) {
    for (int i = 0; i < 40; ++i) {
        (void)assess(event("e" + std::to_string(i), i * 30, "A" + std::to_string(i % 3)));
    }
    EXPECT_EQ(text(outcome("e3", Label::kFraud, 2000), "status"), "applied");
    const std::string before = windows_hash();
    reopen();  // from the snapshot that draining wrote
    EXPECT_EQ(windows_hash(), before);
    (void)assess(event("more", 1500, "A1"));
    const std::string after = windows_hash();
    pipeline.reset();  // no snapshot: from the older one and the log
    ASSERT_TRUE(store.reopen());
    open();
    EXPECT_EQ(windows_hash(), after);
}

TEST_F(PipelineTest, ASlowStoreMakesTheAnswerMemoryAndLosesNothing) {
    store.faults.store_frozen = true;
    Reply reply;
    send(event("e1", 0), reply);
    (void)loop.run_posted();
    EXPECT_TRUE(reply.body.empty());
    loop.advance(std::chrono::milliseconds(6));
    ASSERT_FALSE(reply.body.empty()) << "5 ms and not confirmed: answered all the same";
    EXPECT_EQ(text(reply, "persisted"), "memory");
    const Reply repeat = assess(event("e1", 0));
    EXPECT_EQ(repeat.body, reply.body);
    store.faults.store_frozen = false;
    reopen();
    const Reply stored = assess(event("e1", 0));
    EXPECT_TRUE(stored.replayed);
    EXPECT_EQ(stored.body, reply.body) << "the bytes that were sent";
}

TEST_F(PipelineTest, TheModelsVoteCountsInTime) {
    model = &fake;
    reopen();
    Reply reply;
    send(event("e1", 0), reply);
    ASSERT_EQ(fake.asked.size(), 1U);
    fake.answer(0, 0.95F);
    ASSERT_TRUE(loop.run_until([&] { return !reply.body.empty(); }));
    EXPECT_EQ(text(reply, "source"), "model");
    EXPECT_EQ(text(reply, "band"), "high");
    EXPECT_EQ(text(reply, "decision"), "decline");
    EXPECT_EQ(text(reply, "decided_by"), "model");
}

TEST_F(PipelineTest, ALateModelIsReplacedByTheRulesWithFallbackOnesJoined) {
    model = &fake;
    reopen();
    Reply reply;
    send(event("e1", 0, "A", 100'000), reply);
    loop.advance(std::chrono::milliseconds(14));
    EXPECT_TRUE(reply.body.empty());
    loop.advance(std::chrono::milliseconds(2));
    ASSERT_TRUE(loop.run_until([&] { return !reply.body.empty(); }));
    EXPECT_EQ(text(reply, "source"), "rules");
    EXPECT_EQ(fallback_cause(reply), "timeout");
    EXPECT_EQ(text(reply, "decided_by"), "rule:R900");
    fake.answer(0, 0.1F);  // too late: counted, nothing else
    (void)loop.run_posted();
}

TEST_F(PipelineTest, NanAndAnAbsentModelAreFaults) {
    model = &fake;
    reopen();
    Reply reply;
    send(event("e1", 0), reply);
    fake.answer(0, std::nanf(""));
    ASSERT_TRUE(loop.run_until([&] { return !reply.body.empty(); }));
    EXPECT_EQ(fallback_cause(reply), "unavailable");
    fake.available = false;
    EXPECT_EQ(fallback_cause(assess(event("e2", 1))), "unavailable");
}

TEST_F(PipelineTest, OutcomesReachTheirEventAlsoWhenTheyCameFirst) {
    EXPECT_EQ(text(outcome("e1", Label::kFraud, 10), "status"), "parked");
    (void)assess(event("e1", 0));
    for (int i = 0; i < 50; ++i) {
        (void)loop.run_until([] { return true; });
        (void)assess(event("wait" + std::to_string(i), 20, "W" + std::to_string(i)));
    }
    EXPECT_EQ(text(assess(event("e2", 60, "B")), "decided_by"), "rule:R002");
}

TEST_F(PipelineTest, TenantsWithEqualIdsShareNothing) {
    const Reply one = assess(event("e1", 0), "bank");
    const Reply two = assess(event("e1", 0, "A", 777), "other");
    EXPECT_FALSE(two.error);
    EXPECT_FALSE(two.replayed);
    for (int i = 2; i < 9; ++i) {
        (void)assess(event("e" + std::to_string(i), i), "bank");
    }
    EXPECT_EQ(text(assess(event("x", 9), "bank"), "decision"), "decline");
    EXPECT_EQ(text(assess(event("x", 9), "other"), "decision"), "approve");
    Reply found;
    found.body = "?";
    pipeline->get_assessment("other", text(one, "id"), [&found](Reply r) { found = std::move(r); });
    ASSERT_TRUE(loop.run_until([&] { return found.body != "?"; }));
    EXPECT_TRUE(found.error) << "an id of another tenant";
}

TEST_F(PipelineTest, APackWithOtherWindowsSeesThePast) {
    for (int i = 0; i < 6; ++i) {
        (void)assess(event("e" + std::to_string(i), i * 3600, "A"));
    }
    Reply reply;
    reply.body = "?";
    pipeline->activate_policy(
        "bank",
        pack_files("window n_1d count() by account_id over 1d excluding current\n"
                   "rule R003 \"day\" review if n_1d >= 6 reason \"six a day\"\n"),
        "analyst", [&reply](Reply r) { reply = std::move(r); });
    ASSERT_TRUE(loop.run_until([&] {
        loop.advance(std::chrono::milliseconds(1));
        return reply.body != "?";
    }));
    ASSERT_FALSE(reply.error) << reply.error->message;
    EXPECT_EQ(text(assess(event("e7", 6 * 3600)), "decided_by"), "rule:R003");
    reopen();
    EXPECT_EQ(text(assess(event("e8", 6 * 3600 + 1)), "decided_by"), "rule:R003")
        << "still active after a restart";
}

TEST_F(PipelineTest, ABrokenPackIsRefusedAndTheOldOneStays) {
    const std::string before = pipeline->pack_of("bank")->hash;
    Reply reply;
    reply.body = "?";
    pipeline->activate_policy("bank", pack_files("rule R009 \"x\" review if nosuch > 1\n"),
                              "analyst", [&reply](Reply r) { reply = std::move(r); });
    ASSERT_TRUE(loop.run_until([&] { return reply.body != "?"; }));
    ASSERT_TRUE(reply.error);
    EXPECT_NE(reply.error->message.find("nosuch"), std::string::npos) << reply.error->message;
    EXPECT_EQ(pipeline->pack_of("bank")->hash, before);
}

TEST_F(PipelineTest, ABlockDeclinesAndALimitChallenges) {
    const auto change = [&](AccountChange c) {
        Reply reply;
        reply.body = "?";
        pipeline->change_account("bank", std::move(c), [&reply](Reply r) { reply = std::move(r); });
        EXPECT_TRUE(loop.run_until([&reply] { return reply.body != "?"; }));
        EXPECT_FALSE(reply.error) << reply.error->message;
    };
    change({.account_id = "A",
            .action = AccountAction::kSetLimit,
            .amount = Money{500, Currency{840}},
            .expires_at = {},
            .set_by = "ops",
            .reason = "test"});
    EXPECT_EQ(text(assess(event("e1", 0)), "decided_by"), "limit");
    change({.account_id = "A",
            .action = AccountAction::kBlock,
            .amount = {},
            .expires_at = {},
            .set_by = "ops",
            .reason = "stolen"});
    const Reply blocked = assess(event("e2", 1));
    EXPECT_EQ(text(blocked, "decision"), "decline");
    EXPECT_EQ(text(blocked, "decided_by"), "block");
    reopen();
    EXPECT_EQ(text(assess(event("e3", 2)), "decided_by"), "block");
}

TEST_F(PipelineTest, ImportedHistoryEqualsDecidedHistory) {
    {
        auto importer = Importer::open(*pipeline, "bank").value_or_die();
        for (int i = 0; i < 30; ++i) {
            ASSERT_TRUE(importer->add(
                event("h" + std::to_string(i), i * 60, "A" + std::to_string(i % 2)), std::nullopt));
        }
        ASSERT_TRUE(importer->add(event("h1", 60, "A1"), std::nullopt));
        ASSERT_TRUE(importer->finish());
        EXPECT_EQ(importer->stats().events, 30U);
        EXPECT_EQ(importer->stats().duplicates, 1U);
    }
    const std::string imported = windows_hash();
    reopen();
    EXPECT_EQ(windows_hash(), imported);
    store::testing::TempStore other;
    VirtualLoop other_loop{from_micros(1'800'000'000'000'000), &faults};
    PipelineOptions options;
    auto decided =
        Pipeline::open(options, pack, *other, other_loop, metrics, faults, nullptr).value_or_die();
    for (int i = 0; i < 30; ++i) {
        bool answered = false;
        AssessInput input;
        input.tenant = "bank";
        input.pack = decided->pack_of("bank");
        input.event = event("h" + std::to_string(i), i * 60, "A" + std::to_string(i % 2));
        input.received = other_loop.now();
        input.reply = [&answered](const Reply&) { answered = true; };
        decided->assess(std::move(input));
        ASSERT_TRUE(other_loop.run_until([&answered] { return answered; }));
    }
    EXPECT_EQ(to_hex(decided->windows_of("bank")->hash()), imported);
}

TEST_F(PipelineTest, OldRecordsGoWithTheirIdsAndWindowsThatReachedThemAreUnknown) {
    const auto named = [this](const std::string&) { return pack; };
    std::vector<std::string> ids;
    for (int i = 0; i < 6; ++i) {
        ids.push_back(text(assess(event("e" + std::to_string(i), i)), "id"));
    }
    (void)outcome("e0", Label::kFraud, 3);
    close();
    ASSERT_TRUE(mark_day(*store, "bank", 100));
    open();
    const std::string kept = text(assess(event("late", 60)), "id");
    EXPECT_EQ(drop_until(*store, "bank", 99, named).value_or_die().records, 0U);
    close();
    const Dropped dropped = drop_until(*store, "bank", 100, named).value_or_die();
    EXPECT_EQ(dropped.records, 7U);
    EXPECT_EQ(dropped.event_ids, 6U);
    EXPECT_EQ(drop_until(*store, "bank", 100, named).value_or_die().records, 0U);
    EXPECT_TRUE(store->verify_chain("bank", 1));
    EXPECT_FALSE(store->get(store::Family::kEvents, "bank", "e0").value_or_die());
    EXPECT_TRUE(store->get(store::Family::kEvents, "bank", "late").value_or_die());
    open();
    const auto get = [this](const std::string& id) {
        Reply reply;
        reply.body = "?";
        pipeline->get_assessment("bank", id, [&reply](Reply r) { reply = std::move(r); });
        EXPECT_TRUE(loop.run_until([&reply] { return reply.body != "?"; }));
        return reply;
    };
    EXPECT_TRUE(get(ids[0]).error);
    EXPECT_FALSE(get(kept).error);
    // Ten minutes back from here lie dropped events: R001 is unknown, not "fewer than five".
    const Reply unsure = assess(event("e0", 70));
    EXPECT_FALSE(unsure.replayed) << "the id may be used again";
    EXPECT_NE(unsure.body.find("\"unknown\":[\"R001\""), std::string::npos) << unsure.body;
    const Reply sure = assess(event("e7", 700));
    EXPECT_EQ(sure.body.find("\"unknown\":[\"R001\""), std::string::npos) << sure.body;
}

TEST_F(PipelineTest, NothingIsDroppedThatNoSnapshotCovers) {
    const auto named = [this](const std::string&) { return pack; };
    (void)assess(event("e1", 0));
    ASSERT_TRUE(mark_day(*store, "bank", 5));
    EXPECT_EQ(drop_until(*store, "bank", 5, named).value_or_die().records, 0U);
}

TEST_F(PipelineTest, ParkedOutcomesExpire) {
    (void)outcome("nosuch", Label::kFraud, 0);
    const std::int64_t today = day_of(loop.wall());
    EXPECT_EQ(drop_parked(*store, "bank", today - 1).value_or_die(), 0U);
    EXPECT_EQ(drop_parked(*store, "bank", today + 1).value_or_die(), 1U);
    EXPECT_EQ(drop_parked(*store, "bank", today + 1).value_or_die(), 0U);
    (void)assess(event("nosuch", 1));
    EXPECT_NE(text(assess(event("other", 2)), "decision"), "") << "still deciding";
    EXPECT_EQ(text(outcome("nosuch", Label::kFraud, 5), "status"), "applied")
        << "the expired one does not stand in the way";
}

TEST(Retention, KeepsWhatWindowsAndIdsNeed) {
    const Micros day{std::int64_t{86'400} * 1'000'000};
    EXPECT_EQ(days_kept(1, 10 * day, day), 35);
    EXPECT_EQ(days_kept(1, 90 * day, day), 93);
    EXPECT_EQ(days_kept(400, 90 * day, day), 400);
}

TEST_F(PipelineTest, RowsOfAnotherLayoutDoNotComeBack) {
    for (int i = 0; i < 20; ++i) {
        (void)assess(event("e" + std::to_string(i), i, "A" + std::to_string(i % 3)));
    }
    reopen();  // a snapshot with rows of the first pack
    Reply reply;
    reply.body = "?";
    pipeline->activate_policy(
        "bank",
        pack_files("window m count() by account_id, counterparty.id over 2h excluding current\n"
                   "rule R020 \"pair\" review if m > 50\n"),
        "analyst", [&reply](Reply r) { reply = std::move(r); });
    ASSERT_TRUE(loop.run_until([&] { return reply.body != "?"; }));
    ASSERT_FALSE(reply.error) << reply.error->message;
    (void)assess(event("after", 100, "A1"));
    const std::string before = windows_hash();
    reopen();
    EXPECT_EQ(windows_hash(), before);
    reopen();
    EXPECT_EQ(windows_hash(), before);
}

// A snapshot while one decision waits for its model and four that came after it are stored.
class SnapshotFloor : public PipelineTest {
  protected:
    SnapshotFloor() {
        pipeline.reset();
        (void)store.reopen();
        model = &fake;
        open();
        send(event("waits", 0), waiting);
        EXPECT_TRUE(loop.run_until([this] { return fake.asked.size() == 1; }));
        for (int i = 1; i <= 4; ++i) {
            Reply reply;
            reply.body = "?";
            send(event("e" + std::to_string(i), i), reply);
            const auto wanted = static_cast<std::size_t>(i) + 1;
            EXPECT_TRUE(loop.run_until([&] { return fake.asked.size() == wanted; }));
            fake.answer(wanted - 1, 0.01F);
            EXPECT_TRUE(loop.run_until([&reply] { return reply.body != "?"; }));
        }
        snapshot();
    }
    void snapshot() {
        std::optional<Status> result;
        pipeline->snapshot("bank", [&result](const Status& s) { result = s; });
        ASSERT_TRUE(loop.run_until([&result] { return result.has_value(); }));
        ASSERT_TRUE(*result);
    }
    // As a kill -9 would: no drain, no further snapshot.
    void die_and_recover() {
        pipeline.reset();
        ASSERT_TRUE(store.reopen());
        model = nullptr;
        open();
    }
    // The windows that the log alone gives.
    std::string from_the_log() {
        WindowStore windows(pack->rules->plan, {});
        HistoryReader history(*store, "bank", pack, windows,
                              [this](const std::string&) { return pack; });
        EXPECT_TRUE(store->read_log("bank", 1, [&](const store::LogEntry& entry) {
            return history.apply(entry).has_value();
        }));
        return to_hex(windows.hash());
    }
    Reply waiting;
};

TEST_F(SnapshotFloor, LosesNoRowThatIsInTheLogAndKeepsNoneThatIsNot) {
    die_and_recover();
    EXPECT_EQ(windows_hash(), from_the_log());
    EXPECT_EQ(text(assess(event("fifth", 10)), "decision"), "approve") << "four before it";
    EXPECT_EQ(text(assess(event("sixth", 11)), "decision"), "decline") << "five before it";
}

TEST_F(SnapshotFloor, AKeyWrittenWithUnsureRowsIsWrittenAgain) {
    waiting.body = "?";
    fake.answer(0, 0.01F);
    ASSERT_TRUE(loop.run_until([this] { return waiting.body != "?"; }));
    ASSERT_TRUE(store->flush(std::chrono::seconds(5)));
    (void)loop.run_posted();
    snapshot();  // nothing was recorded since the first
    die_and_recover();
    EXPECT_EQ(windows_hash(), from_the_log());
    EXPECT_EQ(text(assess(event("sixth", 11)), "decision"), "decline") << "five before it";
}

TEST_F(PipelineTest, WhatAFullJournalCannotKeepIsNotCounted) {
    for (int i = 0; i < 3; ++i) {
        (void)assess(event("e" + std::to_string(i), i));
    }
    const std::string before = windows_hash();
    pipeline.reset();
    store.options.journal_capacity = 1;
    ASSERT_TRUE(store.reopen());
    open();
    store.faults.store_frozen = true;
    Reply kept;
    Reply lost;
    kept.body = lost.body = "?";
    send(event("kept", 10, "B"), kept);
    send(event("lost", 11), lost);
    ASSERT_TRUE(loop.run_until([&lost] { return lost.body != "?"; }));
    EXPECT_EQ(text(lost, "persisted"), "memory");
    store.faults.store_frozen = false;
    ASSERT_TRUE(loop.run_until([&kept] { return kept.body != "?"; }));
    const Reply again = assess(event("lost", 11));
    EXPECT_FALSE(again.replayed);
    EXPECT_EQ(text(again, "persisted"), "os");
    EXPECT_NE(windows_hash(), before);
    const std::string counted = windows_hash();
    pipeline.reset();
    ASSERT_TRUE(store.reopen());
    open();
    EXPECT_EQ(windows_hash(), counted);
}

TEST(PipelineClock, AClockSetWrongDropsNoRows) {
    FaultSwitches faults;
    Metrics metrics;
    store::testing::TempStore store;
    VirtualLoop loop{from_micros(1'800'000'000'000'000), &faults};
    const PackPtr pack =
        make_pack({{"policy.toml",
                    "[pack]\nname = \"wall\"\ncurrency = \"USD\"\n[time]\nlateness = \"1h\"\n"},
                   {"rules/t.rules", std::string(kRules)}});
    PipelineOptions options;
    const auto pipeline =
        Pipeline::open(options, pack, *store, loop, metrics, faults, nullptr).value_or_die();
    Event event;
    event.event_id = "e1";
    event.occurred_at = loop.wall();
    event.account_id = "A";
    event.amount = {1000, Currency{840}};
    AssessInput input{.tenant = "bank",
                      .pack = pipeline->pack_of("bank"),
                      .event = event,
                      .received = loop.now(),
                      .budget = {},
                      .parse_us = 0,
                      .reply = {}};
    bool answered = false;
    input.reply = [&answered](const Reply&) { answered = true; };
    pipeline->assess(std::move(input));
    ASSERT_TRUE(loop.run_until([&answered] { return answered; }));
    const auto rows = [&] { return pipeline->windows_of("bank")->stats().keys.at(0).events; };
    ASSERT_EQ(rows(), 1U);
    loop.set_wall(loop.wall() + Micros{std::int64_t{1'000} * 86'400 * 1'000'000});
    loop.advance(std::chrono::seconds(5));
    EXPECT_EQ(rows(), 1U) << "a thousand days have not passed";
    loop.advance(std::chrono::hours(2));
    EXPECT_EQ(rows(), 0U)
        << "a day and two hours are trusted: the longest window is one, and one late";
}

}  // namespace
}  // namespace tollgate::pipeline
