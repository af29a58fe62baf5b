// Tests of `tollgate features export`: which events are written, what their windows know of labels,
// and that both forms read back.
#include "apps/features.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/line_reader.h"
#include "store/testing/temp_store.h"

namespace tollgate::apps {
namespace {

constexpr const char* kToml = "[pack]\nname = \"t\"\ncurrency = \"USD\"\n";
constexpr const char* kRules = R"(ruleset "t" version 1 currency USD tz "UTC" on_error review
window n_1d   count() by account_id over 1d excluding current
window bad_1d count() by account_id over 1d excluding current where label = fraud
rule R001 "uses them" review if n_1d > 90 and bad_1d > 90
)";

std::string line(const std::string& id, const std::string& at, const std::string& outcome = "") {
    std::string out = R"({"event":{"event_id":")" + id +
                      R"(","event_type":"payment","occurred_at":")" + at +
                      R"(","account_id":"A","amount":{"value":"12.50","currency":"USD"}},)";
    return out + R"("outcome":)" + (outcome.empty() ? "null" : outcome) +
           R"(,"scenario":"legit"})" + "\n";
}

std::string outcome(const std::string& id, const std::string& label, const std::string& known_at) {
    return R"({"outcome_id":"o","event_id":")" + id + R"(","label":")" + label + R"(","kind":")" +
           (label == "fraud" ? "chargeback" : "cleared") + R"(","known_at":")" + known_at + R"("})";
}

class FeaturesExport : public ::testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directories(path("pack/rules"));
        std::filesystem::create_directories(path("model"));
        file("pack/policy.toml", kToml);
        file("pack/rules/t.rules", kRules);
        encoder(
            "{{ event.amount | bucket('amt') }}\n{{ windows.n_1d | bucket('n') }}\n"
            "{{ windows.bad_1d | bucket('bad') }}\n{{ none | bucket('gone') }}");
    }
    void encoder(const std::string& source) { file("pack/encoder.j2", source); }
    void file(const std::string& name, const std::string& content) {
        ASSERT_TRUE(write_file(path(name), content));
    }
    std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

    // The exit code of the command over `traffic`, which is written first.
    int run(const std::string& traffic, std::vector<std::string> more,
            const std::string& out = "out") {
        file("traffic.jsonl", traffic);
        std::vector<std::string> arguments{"features",
                                           "export",
                                           "--quiet",
                                           "--policy",
                                           path("pack"),
                                           "--input",
                                           path("traffic.jsonl"),
                                           "--out",
                                           path(out)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
        CLI::App app;
        int exit_code = 0;
        register_features(app, exit_code);
        app.parse(std::move(arguments));
        return exit_code;
    }
    std::vector<std::string> lines(const std::string& out = "out") const {
        const auto reader = LineReader::open(path(out)).value_or_die();
        std::vector<std::string> all;
        std::string_view text;
        while (reader->next(text).value_or_die()) {
            all.emplace_back(text);
        }
        return all;
    }

  private:
    store::testing::TempFolder folder_;
};

using Lines = std::vector<std::string>;

TEST_F(FeaturesExport, NumbersHaveTheFinalTruthButWindowsOnlyWhatWasKnown) {
    const std::string traffic =
        line("a", "2026-01-01T00:00:00Z", outcome("a", "fraud", "2026-01-01T02:00:00Z")) +
        line("b", "2026-01-01T01:59:59Z", outcome("b", "legit", "2026-01-09T00:00:00Z")) +
        line("c", "2026-01-01T02:00:56.749Z");
    ASSERT_EQ(run(traffic, {"--numbers"}), 0);
    EXPECT_EQ(lines(), (Lines{"event_id,occurred_at,account_id,label,amt,n,bad,gone",
                              "a,1767225600,A,1,12.5,0,0,", "b,1767232799,A,0,12.5,1,0,",
                              "c,1767232856.749,A,,12.5,2,1,"}));
}

TEST_F(FeaturesExport, EarlierEventsFillWindowsAndTheEndIsNotWritten) {
    const std::string traffic = line("a", "2026-01-01T00:00:00Z") +
                                line("b", "2026-01-01T01:00:00Z") +
                                line("c", "2026-01-01T02:00:00Z");
    ASSERT_EQ(run(traffic, {"--numbers", "--from", "2026-01-01T01:00:00Z", "--until",
                            "2026-01-01T02:00:00Z"}),
              0);
    ASSERT_EQ(lines().size(), 2U);
    EXPECT_EQ(lines()[1], "b,1767229200,A,,12.5,1,0,");
}

TEST_F(FeaturesExport, TextIsWhatTheModelReadsAndCompressesByName) {
    file("model/buckets.json", R"({"version":1,"fields":{"amt":[10,20],"gone":[1]}})");
    const std::string traffic =
        line("a", "2026-01-01T00:00:00Z", outcome("a", "fraud", "2026-01-08T00:00:00Z"));
    ASSERT_EQ(run(traffic, {"--model", path("model")}, "out.tsv.zst"), 0);
    EXPECT_EQ(lines("out.tsv.zst"), (Lines{"event_id\toccurred_at\taccount_id\tlabel\ttext",
                                           "a\t1767225600\tA\t1\tamt1 gonena"}));
}

TEST_F(FeaturesExport, ARepeatedNameGetsANumberedColumn) {
    encoder(
        "{% set past = history('account_id', 2) %}{% for i in range(2) %}"
        "{{ (past[i].age_days if i < past | length else none) | bucket('hage') }} {% endfor %}");
    const std::string traffic =
        line("a", "2026-01-01T00:00:00Z") + line("b", "2026-01-01T12:00:00Z");
    ASSERT_EQ(run(traffic, {"--numbers"}), 0);
    EXPECT_EQ(lines(), (Lines{"event_id,occurred_at,account_id,label,hage,hage.1",
                              "a,1767225600,A,,,", "b,1767268800,A,,0.5,"}));
}

// An id may hold a comma or a quotation mark; a line has as many cells as the header all the same.
TEST_F(FeaturesExport, IdsThatNeedItAreQuotedInCsv) {
    ASSERT_EQ(run(line(R"(a,\"b\")", "2026-01-01T00:00:00Z"), {"--numbers"}), 0);
    ASSERT_EQ(lines().size(), 2U);
    EXPECT_EQ(lines()[1], R"("a,""b""",1767225600,A,,12.5,0,0,)");
}

TEST_F(FeaturesExport, WrongUsesAreRefused) {
    const std::string traffic =
        line("a", "2026-01-01T00:00:00Z") + line("b", "2026-01-01T01:00:00Z");
    EXPECT_NE(run(traffic, {}), 0);
    EXPECT_NE(run(traffic, {"--numbers", "--model", path("model")}), 0);
    EXPECT_NE(run(traffic, {"--numbers", "--from", "yesterday"}), 0);
    file("model/buckets.json", R"({"version":1,"fields":{"other":[1]}})");
    EXPECT_NE(run(traffic, {"--model", path("model")}), 0);
    file("model/buckets.json", "{}");
    EXPECT_NE(run(traffic, {"--model", path("model")}), 0);
    // A template that makes more numbers of one event than of another has no columns.
    encoder("{% for p in history('account_id', 2) %}{{ 1 | bucket('h') }}{% endfor %}");
    EXPECT_NE(run(traffic, {"--numbers"}), 0);
    std::filesystem::remove(path("pack/encoder.j2"));
    EXPECT_NE(run(traffic, {"--numbers"}), 0);
}

TEST_F(FeaturesExport, AModelWithoutBucketsReadsNoFields) {
    EXPECT_TRUE(read_buckets(path("model")).value_or_die().names().empty());
    file("model/buckets.json", R"({"version":1,"fields":{"amt":[2,1]}})");
    const auto refused = read_buckets(path("model"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(path("model") + "/buckets.json: \"amt\""),
              std::string::npos)
        << refused.error().message;
}

}  // namespace
}  // namespace tollgate::apps
