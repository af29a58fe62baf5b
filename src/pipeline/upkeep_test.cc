// What time and kills do to the decision loop: retention, snapshots, clocks, a full journal.
#include <gtest/gtest.h>

#include <optional>

#include "pipeline/history.h"
#include "pipeline/retention.h"
#include "pipeline/testing/pipeline_fixture.h"

namespace tollgate::pipeline {
namespace {

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
    // The journal has room for one: it must be empty before the lost one comes again.
    ASSERT_TRUE(store->flush(std::chrono::seconds(5)));
    (void)loop.run_posted();
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
