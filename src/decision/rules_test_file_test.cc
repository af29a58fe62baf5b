// Rule test files: tests/rules/*.test against their rules, through the window store; and what the
// runner reports.
#include "decision/rules_test_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "decision/testing/rules_fixture.h"

namespace tollgate {
namespace {

using testing::Pack;

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(RuleTestFiles, EveryFileOfTheRepositoryPasses) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(TG_SOURCE_DIR "/tests/rules")) {
        if (entry.path().extension() != ".test") {
            continue;
        }
        std::filesystem::path rules_path = entry.path();
        rules_path.replace_extension(".rules");
        const Pack pack(read(rules_path));
        ASSERT_TRUE(pack.rules) << pack.report();
        const std::string name = entry.path().filename().string();
        const auto report =
            run_rule_tests(read(entry.path()), name, *pack.rules, pack.fields, pack.lists);
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->failures.empty()) << format(*report, name);
        EXPECT_GT(report->expectations, 0U);
        EXPECT_TRUE(report->never_fired.empty()) << format(*report, name);
        ++files;
    }
    EXPECT_GT(files, 0U);
}

// Two rules, no windows.
Pack small_pack() {
    return Pack(std::string(testing::kHeader) +
                "window n count() by account_id over 1h excluding current\n"
                "rule R1 \"a\" review if n > 2 and amount > USD 5.00\n"
                "rule R2 \"b\" decline if channel = \"x\"\n");
}
Result<RuleTestReport> run(const Pack& pack, std::string_view text) {
    return run_rule_tests(text, "t.test", *pack.rules, pack.fields, pack.lists, {});
}

TEST(RuleTestFiles, FailuresNameCaseLineAndWhatHappened) {
    const Pack pack = small_pack();
    ASSERT_TRUE(pack.rules) << pack.report();
    const auto report = run(pack,
                            "case \"one\"\n"
                            "  amount = USD 9.00\n"
                            "  window n = 3\n"
                            "  fires R1\n"
                            "  not R1\n"
                            "  fires R2\n"
                            "  decision decline\n");
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(format(*report, "t.test"),
              "t.test:5: \"one\": expected not R1, got fires\n"
              "t.test:6: \"one\": expected fires R2, got unknown\n"
              "t.test:7: \"one\": expected decision decline, got review by rule:R1\n"
              "1 cases, 4 expectations, 3 failed\n");
}

TEST(RuleTestFiles, FaultsInTheFileAreListedTogether) {
    const Pack pack = small_pack();
    ASSERT_TRUE(pack.rules) << pack.report();
    const auto report = run(pack,
                            "fires R1\n"
                            "case \"one\"\n"
                            "  amuont = USD 9.00\n"
                            "  amount = 9\n"
                            "  channel = ecom\n"
                            "  window m = 3\n"
                            "  window n = USD 3.00\n"
                            "  fires R9\n"
                            "  decision perhaps\n"
                            "  firs R1\n"
                            "  label = fraud\n"
                            "  history soon before\n"
                            "case \"two\"\n");
    ASSERT_FALSE(report);
    for (const char* part :
         {"t.test:1:1", "there is no field \"amuont\"", "did you mean amount?",
          "amount cannot be 9", "put text in quotes", "there is no window \"m\"",
          "the window n is a number", "there is no rule \"R9\"", "\"perhaps\" is no decision",
          "did you mean fires?", "only history events have a label", "expected a duration",
          "the case expects nothing"}) {
        EXPECT_NE(report.error().message.find(part), std::string::npos) << part << "\n"
                                                                        << report.error().message;
    }
}

TEST(RuleTestFiles, UnseenRulesAreNamed) {
    const Pack pack = small_pack();
    const auto report = run(pack, "case \"one\"\n  channel = \"x\"\n  fires R2\n");
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->never_fired.size(), 1U);
    EXPECT_EQ(report->never_fired[0], "R1");
}

TEST(RuleTestFiles, AnyBytesAreRefusedOrRun) {
    const Pack pack = small_pack();
    std::mt19937_64 random(5);
    const std::string seed =
        "defaults\n account_id = \"A\"\ncase \"c\"\n history 9m before 4 times every 1m\n  label = "
        "fraud known 1m before\n event 2026-11-30T03:15:30Z\n fault model\n window n = 3\n fires "
        "R1\n";
    for (int i = 0; i < 2000; ++i) {
        std::string text = seed;
        for (int e = 0; e < 3; ++e) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        (void)run(pack, text);
    }
}

}  // namespace
}  // namespace tollgate
