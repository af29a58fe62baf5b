// Lists of a pack: columns, quotes, expiry, and where a fault is.
#include "decision/lists.h"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

const EventTime kNow = from_micros(1'767'225'600'000'000);  // 2026-01-01T00:00:00Z

bool holds(const ListSet& lists, std::string_view value, EventTime now = kNow) {
    return lists.at(0).contains(make_string_key(value), now);
}
std::string fault(std::string_view text) {
    ListSet lists;
    const Status status = lists.add_csv("l", "account_id", "lists/l.csv", text);
    return status ? "" : status.error().message;
}

TEST(ListSet, ReadsTheValueColumnWhereverItIs) {
    for (const char* text :
         {"value\nA\nB\n", "note,value\nx,A\ny,B\n", "account_id,note\nA,x\nB,y\n",
          "who\r\nA\r\nB\r\n", "expires,who\n,A\n,B", "value\n\"A\"\n\n\"B\"\n"}) {
        ListSet lists;
        ASSERT_TRUE(lists.add_csv("l", "account_id", "lists/l.csv", text)) << text;
        EXPECT_TRUE(holds(lists, "A") && holds(lists, "B")) << text;
        EXPECT_FALSE(holds(lists, "C") || holds(lists, "")) << text;
        EXPECT_EQ(lists.at(0).entries.size(), 2U);
    }
    ListSet lists;
    ASSERT_TRUE(lists.add_csv("l", "k", "f", "value\n\"a,\"\"b\"\"\"\n"));
    EXPECT_TRUE(holds(lists, "a,\"b\""));
}

TEST(ListSet, AnEntryHoldsUntilItsExpiry) {
    ListSet lists;
    ASSERT_TRUE(lists.add_csv("l", "k", "f",
                              "value,expires\nday,2026-01-01\ntime,2026-01-01T00:00:00.000001Z\n"
                              "twice,2020-01-01\ntwice,\nopen,\n"));
    EXPECT_FALSE(holds(lists, "day"));
    EXPECT_TRUE(holds(lists, "day", from_micros(to_micros(kNow) - 1)));
    EXPECT_TRUE(holds(lists, "time"));
    EXPECT_TRUE(holds(lists, "twice"));
    EXPECT_TRUE(holds(lists, "open"));
}

TEST(ListSet, FaultsNameFileLineAndColumn) {
    EXPECT_EQ(fault(""), "lists/l.csv:1: no header line");
    EXPECT_NE(fault("a,b\n1,2\n").find("lists/l.csv:1: column 1: no column \"value\""),
              std::string::npos);
    EXPECT_NE(fault("value,expires\nA,soon\n").find("lists/l.csv:2: column 2: "),
              std::string::npos);
    EXPECT_NE(fault("value,expires\nA\n").find("lists/l.csv:2: column 2: 1 values"),
              std::string::npos);
    EXPECT_NE(fault("value\n\"A\n").find("closing quote"), std::string::npos);
    EXPECT_NE(fault("value\n\"A\"x\n").find("text after a quoted value"), std::string::npos);
    EXPECT_NE(fault("value\n" + std::string(257, 'x') + "\n").find("257 bytes"), std::string::npos);
    ListSet lists;
    ASSERT_TRUE(lists.add_csv("l", "k", "f", "value\nA\n"));
    EXPECT_FALSE(lists.add_csv("l", "k", "f", "value\nA\n"));
}

}  // namespace
}  // namespace tollgate
