// EncoderService: scores as the model does, and each way it can fail is answered, noticed and
// recovered from.
#include "engine/encoder_service.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace tollgate {
namespace {

using Outcome = EncodeAnswer::Outcome;
using Accepted = EncoderService::Accepted;

ScoringModel load_model() {
    return ScoringModel::load(std::string(TG_SOURCE_DIR) + "/tests/golden/encoder/bert_one_label",
                              *kernels::supported_tables().front(), {})
        .value_or_die();
}

class Service : public ::testing::Test {
  protected:
    Service() { start({}); }
    ~Service() override {
        faults.worker_frozen = false;
        service.reset();
    }

    void start(EncoderServiceOptions options) {
        service.reset();
        service = std::make_unique<EncoderService>(model, options, gate, faults, metrics);
    }
    static EncodeRequest request(const std::string& text, std::promise<EncodeAnswer>& answer,
                                 Steady::time_point deadline = Steady::time_point::max()) {
        return {.ticket = 7, .text = text, .deadline = deadline, .done = [&answer](const auto& a) {
                    answer.set_value(a);
                }};
    }
    EncodeAnswer ask(const std::string& text,
                     Steady::time_point deadline = Steady::time_point::max()) {
        std::promise<EncodeAnswer> answer;
        EncodeRequest job = request(text, answer, deadline);
        EXPECT_EQ(service->submit(job), Accepted::kTaken);
        return answer.get_future().get();
    }
    bool becomes(std::string_view state) {
        const auto until = Steady::now() + std::chrono::seconds(20);
        while (Steady::now() < until) {
            if (service->state() == state) {
                return true;
            }
            std::this_thread::yield();
        }
        return false;
    }

    ScoringModel model = load_model();
    LaneGate gate;
    FaultSwitches faults;
    Metrics metrics;
    std::unique_ptr<EncoderService> service;
};

TEST_F(Service, ScoresAsTheModelDoes) {
    TileLane lane(1, ThreadRole::kFastCompute, "t");
    TextBatch batch(model, 64, 2, 1);
    ASSERT_TRUE(batch.add("w3 w17 w99 unheard"));
    const float expected = batch.score(lane)[0].logit;
    const EncodeAnswer answer = ask("w3 w17 w99 unheard");
    EXPECT_EQ(answer.outcome, Outcome::kScored);
    EXPECT_EQ(answer.text.logit, expected);
    EXPECT_EQ(answer.text.tokens, 6U);
    EXPECT_EQ(answer.text.cut, 0U);
    EXPECT_EQ(answer.ticket, 7U);
    EXPECT_TRUE(gate.is_open());
}

TEST_F(Service, EmptyAndEndlessTextsAreScored) {
    EXPECT_EQ(ask("").text.tokens, 2U);
    std::string endless;
    for (int i = 0; i < 1000; ++i) {
        endless += "w1 ";
    }
    const EncodeAnswer answer = ask(endless);
    EXPECT_EQ(answer.outcome, Outcome::kScored);
    EXPECT_EQ(answer.text.tokens, 48U);
    EXPECT_EQ(answer.text.cut, 1000U + 2U - 48U);
}

TEST_F(Service, ARequestPastItsDeadlineIsNotComputed) {
    EXPECT_EQ(ask("w1", Steady::time_point{}).outcome, Outcome::kExpired);
    EXPECT_EQ(service->state(), "ready");
}

TEST_F(Service, WhatQueuedWhileBusyIsScoredTogetherAndEqually) {
    faults.worker_frozen = true;
    std::vector<std::promise<EncodeAnswer>> answers(20);
    for (std::promise<EncodeAnswer>& answer : answers) {
        EncodeRequest job = request("w3 w17", answer);
        ASSERT_EQ(service->submit(job), Accepted::kTaken);
    }
    faults.worker_frozen = false;
    std::vector<EncodeAnswer> got;
    got.reserve(answers.size());
    for (std::promise<EncodeAnswer>& answer : answers) {
        got.push_back(answer.get_future().get());
    }
    for (const EncodeAnswer& answer : got) {
        if (answer.outcome == Outcome::kScored) {
            EXPECT_EQ(answer.text.logit, got[0].text.logit);
        }
    }
}

TEST_F(Service, AFullQueueIsOverloaded) {
    start({.queue = 2, .stuck_after = std::chrono::seconds(60)});
    faults.worker_frozen = true;
    std::vector<std::promise<EncodeAnswer>> answers(100);
    std::size_t taken = 0;
    Accepted last = Accepted::kTaken;
    while (last == Accepted::kTaken && taken < answers.size()) {
        EncodeRequest job = request("w1", answers[taken]);
        last = service->submit(job);
        taken += last == Accepted::kTaken ? 1 : 0;
    }
    EXPECT_EQ(last, Accepted::kOverloaded);
    faults.worker_frozen = false;
    for (std::size_t i = 0; i < taken; ++i) {
        EXPECT_EQ(answers[i].get_future().get().outcome, Outcome::kScored);
    }
}

TEST_F(Service, AFrozenLaneIsRefusedAndComesBack) {
    faults.worker_frozen = true;
    std::promise<EncodeAnswer> answer;
    EncodeRequest job = request("w1", answer);
    ASSERT_EQ(service->submit(job), Accepted::kTaken);
    ASSERT_TRUE(becomes("stuck"));
    std::promise<EncodeAnswer> unused;
    EncodeRequest refused = request("w1", unused);
    EXPECT_EQ(service->submit(refused), Accepted::kUnavailable);
    faults.worker_frozen = false;
    (void)answer.get_future().get();
    ASSERT_TRUE(becomes("ready"));
    EXPECT_EQ(ask("w1").outcome, Outcome::kScored);
}

TEST_F(Service, ALaneThatDiesIsStartedAgain) {
    faults.encoder_crash = true;
    EXPECT_EQ(ask("w1").outcome, Outcome::kFailed);
    ASSERT_TRUE(becomes("dead"));
    faults.encoder_crash = false;
    ASSERT_TRUE(becomes("ready"));
    EXPECT_EQ(ask("w1").outcome, Outcome::kScored);
}

TEST_F(Service, ScoresThatAreNoNumbersOpenTheBreaker) {
    faults.encoder_nan = true;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(ask("w1").outcome, Outcome::kFailed);
    }
    EXPECT_EQ(service->state(), "open");
    faults.encoder_nan = false;
    ASSERT_TRUE(becomes("ready"));
}

TEST_F(Service, MissedDeadlinesOpenTheBreakerUntilAProbeIsFast) {
    faults.scorer_delay_us = 30'000;
    for (int i = 0; i < 5; ++i) {
        service->missed();
    }
    EXPECT_EQ(service->state(), "open");
    EXPECT_FALSE(gate.waits() > 0);
    faults.scorer_delay_us = 0;
    ASSERT_TRUE(becomes("ready"));
}

TEST_F(Service, WhatWaitsAtTheEndIsAnswered) {
    faults.worker_frozen = true;
    std::vector<std::promise<EncodeAnswer>> answers(3);
    for (std::promise<EncodeAnswer>& answer : answers) {
        EncodeRequest job = request("w1", answer);
        ASSERT_EQ(service->submit(job), Accepted::kTaken);
    }
    service.reset();
    for (std::promise<EncodeAnswer>& answer : answers) {
        (void)answer.get_future().get();
    }
    EXPECT_TRUE(gate.is_open());
}

}  // namespace
}  // namespace tollgate
