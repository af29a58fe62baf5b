// Tests of traffic files: the Handbook's rows, JSONL, compressed lines, and the order in which a
// feed gives them.
#include "apps/traffic.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/line_reader.h"
#include "apps/traffic_feed.h"
#include "store/testing/temp_store.h"

namespace tollgate::apps {
namespace {

constexpr const char* kHeader =
    "TRANSACTION_ID,TX_DATETIME,CUSTOMER_ID,TERMINAL_ID,TX_AMOUNT,TX_FRAUD,TX_FRAUD_SCENARIO\n";

class TrafficFiles : public ::testing::Test {
  protected:
    std::string file(const std::string& name, const std::string& content) {
        const std::string path = folder_.path() + "/" + name;
        EXPECT_TRUE(write_file(path, content));
        return path;
    }
    std::string handbook(const std::string& rows) { return file("handbook.csv", kHeader + rows); }
    std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  private:
    store::testing::TempFolder folder_;
};

std::string event_line(const std::string& id, const std::string& at, const std::string& known_at) {
    std::string line = R"({"event":{"event_id":")" + id +
                       R"(","event_type":"payment","occurred_at":")" + at +
                       R"(","account_id":"A","amount":{"value":"1.00","currency":"USD"}},)";
    line += known_at.empty()
                ? R"("outcome":null)"
                : R"("outcome":{"outcome_id":"o-)" + id + R"(","event_id":")" + id +
                      R"(","label":"fraud","kind":"chargeback","known_at":")" + known_at + R"("})";
    return line + R"(,"scenario":"legit"})" + "\n";
}

// "e:ID" for events, "o:ID" for outcomes, in the order given.
std::vector<std::string> steps_of(const std::string& path, const FeedOptions& options) {
    auto feed = TrafficFeed::open(path, options).value_or_die();
    std::vector<std::string> out;
    FeedStep step;
    while (feed->next(step).value_or_die()) {
        const std::string& json = step.is_outcome ? step.outcome_json : step.item.event_json;
        const std::size_t at = json.find("\"event_id\":\"") + 12;
        out.push_back((step.is_outcome ? "o:" : "e:") + json.substr(at, json.find('"', at) - at));
    }
    return out;
}

TEST_F(TrafficFiles, HandbookAmountsOfBinaryFloatsRoundToCents) {
    const auto rows = read_handbook(handbook("0,2018-04-01 00:00:31,1,2,85.64999999999999,0,0\n"
                                             "1,2018-04-01 00:00:32,1,2,57.16,1,3\n"
                                             "2,2018-04-01 00:00:33,1,2,0.0,0,0\n"
                                             "3,2018-04-01 00:00:34,1,2,7,0,0\n"
                                             "4,2018-04-01 00:00:35,1,2,0.125,0,0\n"
                                             "5,2018-04-01 00:00:36,1,2,0.135,0,0\n"
                                             "6,2018-04-01 00:00:37,1,2,19.999,0,0\n"))
                          .value_or_die();
    const std::vector<std::int64_t> expected{8565, 5716, 0, 700, 12, 14, 2000};
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].cents, expected[i]) << "row " << i;
    }
    EXPECT_TRUE(rows[1].fraud);
}

TEST_F(TrafficFiles, HandbookRowsComeInOrderOfTimeThenId) {
    const auto rows = read_handbook(handbook("9,2018-04-01 00:00:05,1,2,1.00,0,0\n"
                                             "7,2018-04-01 00:00:05,1,2,1.00,0,0\n"
                                             "8,2018-04-01 00:00:01,1,2,1.00,0,0\n"))
                          .value_or_die();
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].id, 8);
    EXPECT_EQ(rows[1].id, 7);
    EXPECT_EQ(rows[2].id, 9);
}

TEST_F(TrafficFiles, ABrokenHandbookRowIsNamedByItsLine) {
    const auto rows =
        read_handbook(handbook("0,2018-04-01 00:00:31,1,2,1.00,0,0\n"
                               "1,2018-04-01 00:00:32,1,2,-1.00,0,0\n"));
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().fault, Fault::kBadInput);
    EXPECT_NE(rows.error().message.find("handbook.csv:3:"), std::string::npos)
        << rows.error().message;
}

TEST_F(TrafficFiles, AHandbookRowBecomesAnEventWithItsLaterTruth) {
    const HandbookRow row{
        .id = 5, .at_s = 1'522'540'800, .customer = 3, .terminal = 4, .cents = 1250, .fraud = true};
    const TrafficItem item = handbook_item(row);
    EXPECT_EQ(item.event_id, "hb-5");
    EXPECT_EQ(item.account_id, "C3");
    EXPECT_EQ(item.label, Label::kFraud);
    EXPECT_EQ(item.known_at - item.at, std::chrono::days(7));
    EXPECT_NE(item.event_json.find(R"("amount":{"value":"12.50","currency":"USD"})"),
              std::string::npos)
        << item.event_json;
}

TEST_F(TrafficFiles, OutcomesComeWhenTheyAreKnownAndBeforeEventsOfTheSameTime) {
    const std::string input =
        file("t.jsonl", event_line("a", "2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z") +
                            event_line("b", "2026-01-01T00:00:01Z", "2026-01-05T00:00:00Z") +
                            event_line("c", "2026-01-01T00:00:02Z", "2025-01-01T00:00:00Z") +
                            event_line("d", "2026-01-01T00:00:03Z", ""));
    EXPECT_EQ(steps_of(input, {}),
              (std::vector<std::string>{"e:a", "e:b", "o:a", "e:c", "o:c", "e:d"}));
    FeedOptions delayed;
    delayed.feedback_delay = std::chrono::seconds(1);
    EXPECT_EQ(steps_of(input, delayed),
              (std::vector<std::string>{"e:a", "o:a", "e:b", "o:b", "e:c", "o:c", "e:d"}));
    FeedOptions some;
    some.outcomes = false;
    some.limit = 2;
    some.from = parse_rfc3339("from", "2026-01-01T00:00:01Z").value_or_die();
    EXPECT_EQ(steps_of(input, some), (std::vector<std::string>{"e:b", "e:c"}));
    FeedOptions until;
    until.until = parse_rfc3339("until", "2026-01-01T00:00:02Z").value_or_die();
    EXPECT_EQ(steps_of(input, until), (std::vector<std::string>{"e:a", "e:b"}));
}

TEST_F(TrafficFiles, AFeedThatGoesBackInTimeIsRefused) {
    const std::string input = file("t.jsonl", event_line("a", "2026-01-01T00:00:05Z", "") +
                                                  event_line("b", "2026-01-01T00:00:04Z", ""));
    auto feed = TrafficFeed::open(input, {}).value_or_die();
    FeedStep step;
    ASSERT_TRUE(feed->next(step).value_or_die());
    const auto second = feed->next(step);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("\"b\""), std::string::npos) << second.error().message;
}

TEST_F(TrafficFiles, CompressedLinesReadBackAsWritten) {
    for (const char* name : {"lines.txt", "lines.txt.zst"}) {
        const auto writer = LineWriter::open(path(name)).value_or_die();
        for (int i = 0; i < 50'000; ++i) {
            ASSERT_TRUE(writer->write("line " + std::to_string(i)));
        }
        ASSERT_TRUE(writer->close());
        const auto reader = LineReader::open(path(name)).value_or_die();
        std::string_view line;
        int count = 0;
        while (reader->next(line).value_or_die()) {
            ASSERT_EQ(line, "line " + std::to_string(count++));
        }
        EXPECT_EQ(count, 50'000) << name;
    }
}

TEST_F(TrafficFiles, ACutCompressedFileIsAnErrorNotAnEnd) {
    const auto writer = LineWriter::open(path("cut.zst")).value_or_die();
    for (int i = 0; i < 20'000; ++i) {
        ASSERT_TRUE(writer->write(std::to_string(i * 7'919)));
    }
    ASSERT_TRUE(writer->close());
    const std::string whole = read_file(path("cut.zst"), 1U << 24U).value_or_die();
    const std::string half = file("half.zst", whole.substr(0, whole.size() / 2));
    const auto reader = LineReader::open(half).value_or_die();
    std::string_view line;
    for (;;) {
        const auto more = reader->next(line);
        if (!more) {
            EXPECT_EQ(more.error().fault, Fault::kCorrupt);
            break;
        }
        ASSERT_TRUE(*more) << "the end came without an error";
    }
}

TEST_F(TrafficFiles, AMissingFileIsNamed) {
    const auto reader = TrafficReader::open(path("absent.jsonl"));
    ASSERT_FALSE(reader);
    EXPECT_EQ(exit_code_of(reader.error()), 2);
    EXPECT_NE(reader.error().message.find("absent.jsonl"), std::string::npos);
}

TEST(Grouped, PutsCommasBetweenThousands) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'000), "1,000");
    EXPECT_EQ(grouped(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace tollgate::apps
