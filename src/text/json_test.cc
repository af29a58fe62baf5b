// Tests of text/json.h: values, order, everything the header says is refused, and no allocation.
#include "text/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/testing/alloc_counter.h"
#include "text/utf8.h"

namespace tollgate {
namespace {

Error error_of(std::string_view text, JsonLimits limits = {}) {
    JsonDocument document(limits);
    auto value = document.parse(text);
    EXPECT_FALSE(value) << text;
    return value ? Error{Fault::kInternal, "accepted"} : value.error();
}

TEST(Json, ReadsEveryKindInSourceOrder) {
    JsonDocument document;
    const auto root = document.parse(
        R"( {"z":null,"a":true,"i":-9223372036854775808,"u":18446744073709551615,)"
        R"("d":0.5,"s":"a\u0000\u20ac\ud83d\ude0a\n","l":[1,[2,{}],"x"],"o":{"k":"v"}} )");
    ASSERT_TRUE(root) << root.error().message;
    std::string order;
    EXPECT_TRUE(root->each_member([&](std::string_view key, JsonValue) {
        order.append(key);
        return true;
    }));
    EXPECT_EQ(order, "zaiudslo");
    EXPECT_EQ(root->size(), 8U);
    EXPECT_TRUE(root->find("z")->is(JsonKind::kNull));
    EXPECT_TRUE(root->find("a")->boolean());
    EXPECT_EQ(root->find("i")->integer(), INT64_MIN);
    EXPECT_EQ(root->find("u")->whole(), UINT64_MAX);
    EXPECT_EQ(root->find("d")->number(), 0.5);
    EXPECT_EQ(root->find("s")->string(), std::string_view("a\0\xE2\x82\xAC\xF0\x9F\x98\x8A\n", 10));
    EXPECT_EQ(root->find("o")->find("k")->string(), "v");
    EXPECT_FALSE(root->find("absent"));
    const JsonValue list = *root->find("l");
    EXPECT_EQ(list.size(), 3U);
    std::vector<JsonKind> kinds;
    EXPECT_TRUE(list.each_item([&](JsonValue item) {
        kinds.push_back(item.kind());
        return true;
    }));
    EXPECT_EQ(kinds, (std::vector{JsonKind::kInteger, JsonKind::kArray, JsonKind::kString}));
    int seen = 0;
    EXPECT_FALSE(list.each_item([&](JsonValue) { return ++seen < 2; }));
    EXPECT_EQ(seen, 2);
}

TEST(Json, ScalarsAndEmptyContainersAreDocuments) {
    JsonDocument document;
    EXPECT_EQ(document.parse("42")->integer(), 42);
    EXPECT_EQ(document.parse("\"x\"")->string(), "x");
    EXPECT_TRUE(document.parse("null")->is(JsonKind::kNull));
    EXPECT_EQ(document.parse("{}")->size(), 0U);
    EXPECT_EQ(document.parse("[]")->size(), 0U);
    EXPECT_EQ(document.parse("-0.0")->number(), 0.0);
    EXPECT_EQ(document.parse("5e-324")->number(), 5e-324);
    EXPECT_EQ(document.parse("1e-999")->number(), 0.0);
}

TEST(Json, RefusesWhatIsNotOneDocument) {
    for (const std::string& text : std::vector<std::string>{" ",
                                                            "{",
                                                            "}",
                                                            "[1,]",
                                                            "[1 2]",
                                                            "{\"a\"}",
                                                            "{\"a\":}",
                                                            "{\"a\":1,}",
                                                            "{a:1}",
                                                            "'a'",
                                                            "1 2",
                                                            "{} {}",
                                                            "[] x",
                                                            "nul",
                                                            "tru",
                                                            "True",
                                                            "NaN",
                                                            "Infinity",
                                                            "-Infinity",
                                                            "+1",
                                                            "01",
                                                            "1.",
                                                            ".5",
                                                            "1e",
                                                            "0x10",
                                                            "\"\\x\"",
                                                            "\"\\u12\"",
                                                            "\"\\u12G4\"",
                                                            "\"a",
                                                            "\"\n\"",
                                                            "//c\n1",
                                                            "[1]//",
                                                            "\"\xC3(\"",
                                                            "\"\xED\xA0\x80\"",
                                                            "\"\xF5\x80\x80\x80\"",
                                                            "\xEF\xBB\xBF{}",
                                                            "[1}",
                                                            "{]",
                                                            std::string("1\0", 2),
                                                            std::string("\"\0\"", 3)}) {
        const Error error = error_of(text);
        EXPECT_EQ(error.fault, Fault::kBadInput) << text;
        EXPECT_EQ(error.message.find("JSON: "), 0U);
        EXPECT_TRUE(is_valid_utf8(error.message));
    }
    EXPECT_NE(error_of("").message.find("empty"), std::string::npos);
    EXPECT_NE(error_of("  \n").message.find("empty"), std::string::npos);
}

TEST(Json, RefusesNumbersThatWouldBeChanged) {
    for (const char* text : {"1e999", "-1e999", "[1e309]", "18446744073709551616",
                             "-9223372036854775809", "123456789012345678901234567890"}) {
        EXPECT_NE(error_of(text).message.find("number"), std::string::npos) << text;
    }
}

TEST(Json, RefusesLoneSurrogatesAndAcceptsPairs) {
    for (const char* text : {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\u0041")",
                             R"("\ud800\ud800")", R"("\udc00\ud800")", R"("\ud83d\n\ude0a")",
                             R"({"\udfff":1})", R"("\\\ud800")", R"("\uD83D\\ude0a")"}) {
        EXPECT_NE(error_of(text).message.find("surrogate"), std::string::npos) << text;
    }
    JsonDocument document;
    EXPECT_EQ(document.parse(R"("\uD83D\uDE0A")")->string(), "\xF0\x9F\x98\x8A");
    EXPECT_EQ(document.parse(R"("\\ud800")")->string(), "\\ud800");
    EXPECT_EQ(document.parse(R"("\uffff\ud7ff\ue000")")->string(),
              "\xEF\xBF\xBF\xED\x9F\xBF\xEE\x80\x80");
}

TEST(Json, RefusesDuplicateNamesComparedAfterUnescaping) {
    EXPECT_NE(error_of(R"({"amount":1,"b":2,"\u0061mount":3})").message.find("\"amount\""),
              std::string::npos);
    EXPECT_NE(error_of(R"([{"x":{"a":[{"k":1,"k":1}]}}])").message.find("\"k\" occurs twice"),
              std::string::npos);
    EXPECT_NE(error_of(R"({"":1,"":1})").message.find("twice"), std::string::npos);
    JsonDocument document;
    EXPECT_TRUE(document.parse(R"({"a":{"a":1},"b":{"a":1},"A":["a","a"]})"));
    // The message shortens a long name and stays one valid line.
    const std::string name = std::string(62, 'n') + "\xE2\x82\xAC\xE2\x82\xAC";
    const Error error = error_of("{\"" + name + "\":1,\"" + name + "\":1}");
    EXPECT_TRUE(is_valid_utf8(error.message));
    EXPECT_LT(error.message.size(), 120U);
}

TEST(Json, RefusesNulInNamesOnly) {
    EXPECT_NE(error_of(R"({"a\u0000b":1})").message.find("a\\x00b"), std::string::npos);
    JsonDocument document;
    EXPECT_TRUE(document.parse(R"({"a":"\u0000"})"));
}

TEST(Json, DepthIsBoundedExactlyAndWithoutRecursion) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    JsonDocument document;
    EXPECT_TRUE(document.parse(nested(64)));
    EXPECT_TRUE(document.parse("{\"a\":" + nested(63) + "}"));
    EXPECT_TRUE(document.parse(std::string(64, '[') + "1" + std::string(64, ']')));
    EXPECT_FALSE(document.parse(std::string(65, '[') + "1" + std::string(65, ']')));
    for (const std::string& text :
         {nested(65), "{\"a\":" + nested(64) + "}", nested(200000), nested(66)}) {
        EXPECT_NE(error_of(text).message.find("64 levels"), std::string::npos);
    }
    EXPECT_FALSE(document.parse(std::string(500000, '[')));
    EXPECT_TRUE(document.parse("1"));  // usable after an error
    JsonDocument shallow(JsonLimits{.max_depth = 1});
    EXPECT_TRUE(shallow.parse("[1]"));
    EXPECT_FALSE(shallow.parse("[[]]"));
}

TEST(Json, BytesAndMembersAreBoundedExactly) {
    const JsonLimits limits{.max_bytes = 40, .max_members = 3};
    EXPECT_EQ(error_of(std::string(41, ' '), limits).fault, Fault::kTooLarge);
    JsonDocument document(limits);
    EXPECT_TRUE(document.parse("\"" + std::string(38, 'x') + "\""));
    EXPECT_TRUE(document.parse(R"({"a":1,"b":1,"c":1})"));
    EXPECT_NE(error_of(R"({"a":1,"b":1,"c":1,"d":1})", limits).message.find("4 members"),
              std::string::npos);
}

TEST(Json, EveryTruncationOfAnEventIsRefusedOrSmaller) {
    const std::string text =
        R"({"event_id":"tx-\u00e9","amount":{"value":"1.40","currency":"USD"},"l":[1.5,true]})";
    JsonDocument document;
    ASSERT_TRUE(document.parse(text));
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        const std::vector<char> part(text.data(), text.data() + cut);
        EXPECT_FALSE(document.parse(std::string_view(part.data(), part.size())));
    }
}

TEST(Json, ASecondDocumentOfASizeAllocatesNothing) {
    std::string text = "{";
    for (int i = 0; i < 100; ++i) {
        text += "\"name" + std::to_string(i) + "\":[" + std::to_string(i) + ",\"v\"],";
    }
    text.back() = '}';
    JsonDocument document;
    ASSERT_TRUE(document.parse(text));
    const std::size_t before = testing::allocations();
    bool all = true;
    for (int i = 0; i < 10; ++i) {
        const auto root = document.parse(text);
        all = all && root && root->find("name99")->size() == 2;
    }
    EXPECT_EQ(testing::allocations(), before);
    EXPECT_TRUE(all);
}

TEST(JsonDeathTest, TheWrongKindStopsTheProcess) {
    JsonDocument document;
    const auto root = document.parse("[1]");
    EXPECT_DEATH((void)root->string(), "not a JSON string");
    EXPECT_DEATH((void)root->find("a"), "not a JSON object");
}

}  // namespace
}  // namespace tollgate
