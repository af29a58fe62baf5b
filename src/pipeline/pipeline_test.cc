// The decision loop over a real store and virtual time.
#include "pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "decision/record.h"
#include "pipeline/import.h"
#include "pipeline/testing/pipeline_fixture.h"

namespace tollgate::pipeline {
namespace {

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

// What the template sees: fields, windows of this event, and the events before it.
TEST_F(PipelineTest, TheModelReadsTheTextThatThePackMakes) {
    model = &fake;
    reopen();
    for (int i = 0; i < 3; ++i) {
        Reply reply;
        send(event("e" + std::to_string(i), i * 86'400), reply);
        fake.answer(static_cast<std::size_t>(i), 0.1F);
        ASSERT_TRUE(loop.run_until([&] { return !reply.body.empty(); }));
    }
    EXPECT_EQ(fake.asked[0].first.text, "A 0");
    EXPECT_EQ(fake.asked[2].first.text, "A 0 1.0 2.0");
}

class KeptGrey : public GreySeam {
  public:
    std::vector<GreyCase> cases;
    void offer(const GreyCase& grey) override { cases.push_back(grey); }
};

TEST_F(PipelineTest, AHighScoreThatComesLateIsRecordedAndGoesForASecondLook) {
    model = &fake;
    KeptGrey kept;
    grey = &kept;
    reopen();
    Reply reply;
    send(event("e1", 0), reply);
    loop.advance(std::chrono::milliseconds(16));
    ASSERT_TRUE(loop.run_until([&] { return !reply.body.empty(); }));
    EXPECT_EQ(fake.times_missed, 1);
    EXPECT_TRUE(kept.cases.empty());
    fake.answer(0, 0.97F);
    (void)loop.run_posted();
    ASSERT_EQ(kept.cases.size(), 1U);
    EXPECT_TRUE(kept.cases[0].late);
    EXPECT_EQ(kept.cases[0].event_id, "e1");
    EXPECT_EQ(kept.cases[0].seq, 1U);
    fake.answer(0, 0.97F);  // the same answer again is nothing
    (void)loop.run_posted();
    EXPECT_EQ(kept.cases.size(), 1U);
    close();
    std::vector<std::string> kinds;
    ASSERT_TRUE(store->read_log("bank", 1, [&](const store::LogEntry& entry) {
        kinds.emplace_back(to_text(parse_record_head(entry.record).value_or_die().kind));
        return true;
    }));
    EXPECT_EQ(kinds, (std::vector<std::string>{"assessment", "late_score"}));
    open();
}

TEST_F(PipelineTest, GreyScoresAreOfferedAndTheShareIsCapped) {
    model = &fake;
    KeptGrey kept;
    grey = &kept;
    reopen();
    for (int i = 0; i < 200; ++i) {
        Reply reply;
        send(event("e" + std::to_string(i), i, "A" + std::to_string(i)), reply);
        fake.answer(static_cast<std::size_t>(i), 0.5F);
        ASSERT_TRUE(loop.run_until([&] { return !reply.body.empty(); }));
        EXPECT_EQ(text(reply, "band"), "grey");
        EXPECT_EQ(text(reply, "decision"), "approve");
    }
    // The moving share passes twice the pack's 2 % after 82 grey scores in a row.
    EXPECT_GT(kept.cases.size(), 70U);
    EXPECT_LT(kept.cases.size(), 90U);
}

TEST_F(PipelineTest, KnotsOfTheModelGoBeforeThePacks) {
    model = &fake;
    Calibration knots;
    knots.p_low = 0.01;
    knots.p_high = 0.05;
    fake.about.calibration = knots;
    reopen();
    Reply reply;
    send(event("e1", 0), reply);
    fake.answer(0, 0.06F);
    ASSERT_TRUE(loop.run_until([&] { return !reply.body.empty(); }));
    EXPECT_EQ(text(reply, "band"), "high");
}

TEST_F(PipelineTest, AFullModelIsOverloaded) {
    model = &fake;
    fake.overloaded = true;
    reopen();
    EXPECT_EQ(fallback_cause(assess(event("e1", 0))), "overloaded");
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

}  // namespace
}  // namespace tollgate::pipeline
