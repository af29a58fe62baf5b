// Tests of text/json_writer.h: exact text, escapes, round trips through the parser, no allocation.
#include "text/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/testing/alloc_counter.h"
#include "text/json.h"

namespace tollgate {
namespace {

TEST(JsonWriter, WritesCanonicalText) {
    std::string text = "head ";
    JsonWriter out(text);
    out.begin_object();
    out.key("a");
    out.begin_array();
    out.integer(std::numeric_limits<std::int64_t>::min());
    out.whole(std::numeric_limits<std::uint64_t>::max());
    out.number(0.1);
    out.number(std::nan(""));
    out.number(-0.0);
    out.number(1e300);
    out.number(-9223372036854775808.0);
    out.begin_array();
    out.end_array();
    out.end_array();
    out.key("b\"");
    out.begin_object();
    out.end_object();
    out.key("c");
    out.boolean(true);
    out.key("d");
    out.null();
    out.key("e");
    out.raw("{\"x\":1}");
    EXPECT_FALSE(out.done());
    out.end_object();
    EXPECT_TRUE(out.done());
    EXPECT_EQ(text,
              "head "
              "{\"a\":[-9223372036854775808,18446744073709551615,0.1,null,0,1e+300,-9."
              "223372036854776e+18,[]],\"b\\\"\":{},"
              "\"c\":true,\"d\":null,\"e\":{\"x\":1}}");
}

TEST(JsonWriter, EscapesWhatMustBeAndNothingElse) {
    std::string text;
    JsonWriter(text).string(std::string("\"\\\b\f\n\r\t\x1F/\x7F\0\xE2\x82\xAC", 14));
    EXPECT_EQ(text, "\"\\\"\\\\\\b\\f\\n\\r\\t\\u001f/\x7F\\u0000\xE2\x82\xAC\"");
    text.clear();
    JsonWriter(text).string("a\xC3(\xED\xA0\x80");
    EXPECT_EQ(text, "\"a\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonWriter, StringsAndNumbersReadBackEqual) {
    std::mt19937_64 random(9);
    JsonDocument document;
    for (int round = 0; round < 3000; ++round) {
        std::string value(random() % 30, '\0');
        for (char& c : value) {
            c = static_cast<char>(random() % 128);
        }
        const double number =
            std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 1800) - 1000);
        const auto integer = static_cast<std::int64_t>(random() >> (random() % 64));
        std::string text;
        JsonWriter out(text);
        out.begin_array();
        out.string(value);
        out.number(number);
        out.integer(-integer);
        out.end_array();
        const auto root = document.parse(text);
        ASSERT_TRUE(root) << text;
        int at = 0;
        (void)root->each_item([&](JsonValue item) {
            switch (at++) {
                case 0:
                    EXPECT_EQ(item.string(), value);
                    break;
                case 1:
                    EXPECT_EQ(item.number(), number) << text;
                    break;
                default:
                    EXPECT_EQ(item.integer(), -integer);
            }
            return true;
        });
    }
}

TEST(JsonWriter, AllocatesNothingWhenThereIsRoom) {
    std::string text;
    text.reserve(4096);
    const std::size_t before = testing::allocations();
    for (int i = 0; i < 50; ++i) {
        text.clear();
        JsonWriter out(text);
        out.begin_object();
        out.key("amount");
        out.string("12.40 \n");
        out.key("n");
        out.number(0.123456789);
        out.end_object();
    }
    EXPECT_EQ(testing::allocations(), before);
}

TEST(JsonWriterDeathTest, MisuseStopsTheProcess) {
    const auto misuse = [](auto&& calls) {
        std::string text;
        JsonWriter out(text);
        calls(out);
    };
    EXPECT_DEATH(misuse([](JsonWriter& out) {
                     out.null();
                     out.null();
                 }),
                 "second JSON document");
    EXPECT_DEATH(misuse([](JsonWriter& out) {
                     out.begin_object();
                     out.null();
                 }),
                 "without a name");
    EXPECT_DEATH(misuse([](JsonWriter& out) {
                     out.begin_object();
                     out.key("a");
                     out.end_object();
                 }),
                 "does not fit");
    EXPECT_DEATH(misuse([](JsonWriter& out) {
                     out.begin_array();
                     out.end_object();
                 }),
                 "does not fit");
}

}  // namespace
}  // namespace tollgate
