// Tests of base/log.h and its ring: the line, the bounds, many threads, no allocation.
#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log_ring.h"
#include "base/testing/alloc_counter.h"

namespace tollgate {
namespace {

std::string line_of(std::string_view event, std::initializer_list<Field> fields) {
    LogRecord record;
    record.fill(1796026530123000, Level::kWarn, event, fields);
    std::string out;
    record.format(out);
    return out;
}

class LogFile : public ::testing::Test {
  protected:
    LogFile() { std::filesystem::create_directories(folder_); }
    ~LogFile() override { std::filesystem::remove_all(folder_); }

    std::string path() const { return (folder_ / "log.jsonl").string(); }
    std::vector<std::string> lines() const {
        std::vector<std::string> out;
        std::ifstream in(path());
        for (std::string line; std::getline(in, line);) {
            out.push_back(line);
        }
        return out;
    }

  private:
    std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                    ("tollgate_log_test_" + std::to_string(::getpid()));
};

TEST(LogRecord, IsOneLineOfJsonWithTypedFields) {
    EXPECT_EQ(line_of("store_full", {{"bytes", -7}, {"share", 0.25}, {"tenant", "t-1"}}),
              R"({"t":"2026-11-30T08:15:30.123Z","level":"warn","event":"store_full",)"
              R"("bytes":-7,"share":0.25,"tenant":"t-1"})");
    EXPECT_EQ(line_of("e", {}), R"({"t":"2026-11-30T08:15:30.123Z","level":"warn","event":"e"})");
}

TEST(LogRecord, EscapesTextAndReplacesBytesThatAreNoUtf8) {
    const std::string line = line_of("e", {{"s", "a\"\\\n\xC3(\xE2\x82\xAC"}});
    EXPECT_NE(line.find("\"s\":\"a\\\"\\\\\\u000a\xEF\xBF\xBD(\xE2\x82\xAC\"}"), std::string::npos)
        << line;
    const double inf = std::numeric_limits<double>::infinity();
    EXPECT_NE(line_of("e", {{"x", -inf}}).find("\"x\":\"-inf\""), std::string::npos);
}

TEST(LogRecord, CutsWhatDoesNotFitAtACharacterAndSaysSo) {
    std::string text;
    for (int i = 0; i < 400; ++i) {
        text += "\xE2\x82\xAC";
    }
    for (std::size_t shift = 0; shift < 4; ++shift) {
        const std::string line =
            line_of("e", {{"pad", std::string_view("xxxx", shift)}, {"s", text}, {"late", 1}});
        EXPECT_EQ(line.find("\xEF\xBF\xBD"), std::string::npos);
        EXPECT_EQ(line.find("late"), std::string::npos);
        EXPECT_EQ(line.substr(line.size() - 13), "\",\"cut\":true}");
    }
    EXPECT_NE(line_of(text, {}).find("\"cut\":true"), std::string::npos);
    EXPECT_NE(line_of("e", {{text, 1}}).find("\"event\":\"e\",\"cut\":true"), std::string::npos);
}

TEST(LogRing, IsFirstInFirstOutAndRefusesWhenFull) {
    const auto ring = std::make_unique<LogRing>();
    LogRecord record;
    EXPECT_FALSE(ring->pop(record));
    std::int64_t pushed = 0;
    std::int64_t popped = 0;
    for (int lap = 0; lap < 3; ++lap) {
        while (ring->push(pushed, Level::kInfo, "e", {})) {
            ++pushed;
        }
        EXPECT_EQ(pushed - popped, static_cast<std::int64_t>(LogRing::kSlots));
        for (std::size_t i = 0; i < LogRing::kSlots / 2 + static_cast<std::size_t>(lap); ++i) {
            ASSERT_TRUE(ring->pop(record));
            ASSERT_EQ(record.micros, popped++);
        }
    }
}

TEST(LogRing, LosesAndDoublesNothingBetweenThreads) {
    constexpr int kThreads = 3;
    constexpr int kEach = 4000;
    const auto ring = std::make_unique<LogRing>();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&ring, t] {
            for (int i = 0; i < kEach;) {
                if (ring->push(t * kEach + i, Level::kInfo, "e", {{"i", i}})) {
                    ++i;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    std::vector<std::int64_t> next(kThreads, 0);
    LogRecord record;
    for (int seen = 0; seen < kThreads * kEach;) {
        if (!ring->pop(record)) {
            std::this_thread::yield();
            continue;
        }
        const auto t = static_cast<std::size_t>(record.micros / kEach);
        ASSERT_EQ(record.micros % kEach, next[t]++);  // each producer's own order is kept
        ++seen;
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_FALSE(ring->pop(record));
}

TEST_F(LogFile, HoldsEveryEventOfEveryThreadAfterStop) {
    ASSERT_TRUE(start_log(path(), Level::kWarn));
    EXPECT_FALSE(start_log(path(), Level::kWarn));
    const std::uint64_t dropped = log_dropped();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([t] {
            for (int i = 0; i < 300; ++i) {
                log_event(Level::kError, "tick", {{"thread", t}, {"i", i}});
                log_event(Level::kInfo, "below_the_level", {});
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    stop_log();
    stop_log();
    EXPECT_EQ(log_dropped(), dropped);
    const auto all = lines();
    ASSERT_EQ(all.size(), 900U);
    for (const std::string& line : all) {
        EXPECT_NE(line.find(R"("level":"error","event":"tick","thread":)"), std::string::npos);
        EXPECT_EQ(line.back(), '}');
    }
}

TEST_F(LogFile, AppendsWhenStartedAgain) {
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(start_log(path(), Level::kInfo));
        log_event(Level::kInfo, "started", {{"round", i}});
        stop_log();
    }
    EXPECT_EQ(lines().size(), 3U);
}

TEST_F(LogFile, AnEventAllocatesNothingForTheOneWhoLogs) {
    ASSERT_TRUE(start_log(path(), Level::kInfo));
    const std::string long_text(2000, 'x');
    const std::size_t before = testing::thread_allocations();
    for (int i = 0; i < 100; ++i) {
        log_event(Level::kInfo, "tick", {{"i", i}, {"text", std::string_view(long_text)}});
    }
    EXPECT_EQ(testing::thread_allocations(), before);
    stop_log();
    EXPECT_EQ(lines().size(), 100U);
}

TEST_F(LogFile, AFileThatCannotBeOpenedIsNamed) {
    std::ofstream(path()) << "a file, not a folder";
    const Status status = start_log(path() + "/x", Level::kInfo);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().fault, Fault::kBadInput);
    EXPECT_NE(status.error().message.find("log.jsonl/x\""), std::string::npos)
        << status.error().message;
}

TEST(Log, WithoutAWriterLinesGoToStandardError) {
    ::testing::internal::CaptureStderr();
    log_event(Level::kError, "early", {{"code", 3}});
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find("\"event\":\"early\",\"code\":3}\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace tollgate
