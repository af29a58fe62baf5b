// Tests of buckets.json: a value's word, and files that are refused by the name of their field.
#include "decision/buckets.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tollgate {
namespace {

std::string file(const std::string& fields) {
    return R"({"version":1,"fields":)" + fields + "}";
}

std::string word(const Buckets& buckets, std::string_view name, double value) {
    std::string out;
    buckets.word(buckets.find(name).value(), &value, out);
    return out;
}

std::string refusal(const std::string& json) {
    const auto read = Buckets::parse(json);
    return read ? "accepted" : read.error().message;
}

std::string edges(std::size_t count) {
    std::string out = "[";
    for (std::size_t i = 0; i < count; ++i) {
        out += (i == 0 ? "" : ",") + std::to_string(i);
    }
    return out + "]";
}

TEST(Buckets, AWordCountsTheEdgesBelowTheValue) {
    const Buckets buckets = Buckets::parse(file(R"({"amt":[12.5,40,41.25]})")).value_or_die();
    EXPECT_EQ(word(buckets, "amt", -1e300), "amt0");
    EXPECT_EQ(word(buckets, "amt", 12.5), "amt0");  // an edge is not below itself
    EXPECT_EQ(word(buckets, "amt", 12.500001), "amt1");
    EXPECT_EQ(word(buckets, "amt", 40.0), "amt1");
    EXPECT_EQ(word(buckets, "amt", 41.0), "amt2");
    EXPECT_EQ(word(buckets, "amt", 41.26), "amt3");
    EXPECT_EQ(word(buckets, "amt", std::numeric_limits<double>::infinity()), "amt3");
}

TEST(Buckets, NoValueHasAWordOfItsOwnAndWordsAreAppended) {
    const Buckets buckets = Buckets::parse(file(R"({"amt":[1],"memo":[]})")).value_or_die();
    std::string out = "x ";
    buckets.word(buckets.find("amt").value(), nullptr, out);
    EXPECT_EQ(out, "x amtna");
    EXPECT_EQ(word(buckets, "amt", std::numeric_limits<double>::quiet_NaN()), "amtna");
    EXPECT_EQ(word(buckets, "memo", 5.0), "memo0");  // without edges: one bucket
}

TEST(Buckets, FieldsAreFoundByNameAndListedInOrder) {
    const Buckets buckets = Buckets::parse(file(R"({"zz":[1],"aa":[2],"m2m":[3]})")).value_or_die();
    EXPECT_EQ(buckets.names(), (std::vector<std::string>{"aa", "m2m", "zz"}));
    EXPECT_EQ(word(buckets, "m2m", 4.0), "m2m1");
    EXPECT_FALSE(buckets.find("a"));
    EXPECT_FALSE(buckets.find("aaa"));
    EXPECT_FALSE(Buckets{}.find("aa"));
}

// "amt17" must read one way: a name that ended in a digit could be another's bucket.
TEST(Buckets, NamesEndInALetter) {
    for (const char* good : {"a", "amt", "m2m", "abcdefghijklmnop"}) {
        EXPECT_TRUE(is_bucket_name(good)) << good;
    }
    for (const char* bad : {"", "1a", "a1", "Amt", "a_b", "a b", "abcdefghijklmnopq", "\xC3\xA4"}) {
        EXPECT_FALSE(is_bucket_name(bad)) << bad;
    }
    EXPECT_NE(refusal(file(R"({"amt1":[1]})")).find("\"amt1\""), std::string::npos);
}

TEST(Buckets, EdgesThatDoNotAscendAreRefusedByTheFieldsName) {
    for (const char* bad : {"[2,1]", "[1,1]", "[1,\"2\"]", "[null]", "[true]", "5", "{}", "null"}) {
        const std::string message = refusal(file(R"({"ok":[1],"amt":)" + std::string(bad) + "}"));
        EXPECT_NE(message.find("buckets.json: \"amt\""), std::string::npos) << bad << message;
    }
    EXPECT_NE(refusal(file(R"({"amt":[1e999]})")), "accepted");
}

TEST(Buckets, TheBoundsAreTheStatedOnes) {
    EXPECT_EQ(refusal(file("{\"amt\":" + edges(Buckets::kMaxEdges) + "}")), "accepted");
    EXPECT_NE(refusal(file("{\"amt\":" + edges(Buckets::kMaxEdges + 1) + "}")).find("at most 256"),
              std::string::npos);
    std::string fields = "{";
    for (std::size_t i = 0; i < Buckets::kMaxFields; ++i) {
        fields += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "x\":[]";
    }
    EXPECT_EQ(refusal(file(fields + "}")), "accepted");
    EXPECT_NE(refusal(file(fields + ",\"one\":[]}")).find("at most 128"), std::string::npos);
}

TEST(Buckets, OtherFilesAreRefused) {
    for (const char* bad :
         {"", "[]", "{}", R"({"fields":{}})", R"({"version":2,"fields":{}})",
          R"({"version":"1","fields":{}})", R"({"version":1})", R"({"version":1,"fields":[]})",
          R"({"version":1,"fields":{"a":[1],"a":[2]}})", R"({"version":1,"fields":{"a":[1})"}) {
        const std::string message = refusal(bad);
        EXPECT_TRUE(message.starts_with("buckets.json: ")) << bad << " -> " << message;
    }
    EXPECT_EQ(refusal(file("{}")), "accepted");
}

}  // namespace
}  // namespace tollgate
