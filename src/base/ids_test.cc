// Tests of base/ids.h: a bijection, strict decoding, and no visible order.
#include "base/ids.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace tollgate {
namespace {

constexpr std::string_view kLetters = "0123456789abcdefghjkmnpqrstvwxyz";

TEST(Ids, DecodeToWhatWasEncoded) {
    std::mt19937_64 random(21);
    for (int i = 0; i < 5000; ++i) {
        const std::uint64_t seq = random() >> (random() % 64);
        const std::uint64_t secret = random();
        const std::string id = encode_id("as_", seq, secret);
        ASSERT_EQ(id.size(), 16U);
        ASSERT_EQ(id.find_first_not_of(kLetters, 3), std::string::npos) << id;
        ASSERT_EQ(decode_id("as_", id, secret), seq);
    }
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(decode_id("", encode_id("", kMax, kMax), kMax), kMax);
}

// Every string of the alphabet whose first character has four bits is one number's id.
TEST(Ids, EncodeToWhatWasDecoded) {
    std::mt19937_64 random(22);
    for (int i = 0; i < 2000; ++i) {
        std::string id = "an_";
        id.push_back(kLetters[random() % 16]);
        while (id.size() < 16) {
            id.push_back(kLetters[random() % 32]);
        }
        const auto seq = decode_id("an_", id, 99);
        ASSERT_TRUE(seq);
        ASSERT_EQ(encode_id("an_", *seq, 99), id);
    }
}

TEST(Ids, AreFixedForever) {
    // Ids are in clients' databases: these two must never change. (Computed by a separate program.)
    EXPECT_EQ(encode_id("as_", 1, 42), "as_d1sznsq6cvmp9");
    EXPECT_EQ(encode_id("an_", 918, 0), "an_fk80xpg3vzp9j");
}

TEST(Ids, NeighboursShareNothingAndOtherKeysAreUnrelated) {
    std::set<std::string> seen;
    int rising = 0;
    for (std::uint64_t seq = 0; seq < 1000; ++seq) {
        const std::string id = encode_id("as_", seq, 7);
        rising += !seen.empty() && id > encode_id("as_", seq - 1, 7) ? 1 : 0;
        EXPECT_TRUE(seen.insert(id).second);
        EXPECT_NE(decode_id("as_", id, 8), seq);
        EXPECT_NE(decode_id("an_", "an_" + id.substr(3), 7), seq);
    }
    EXPECT_NEAR(rising, 500, 60);  // as of a random order; 60 is 3.8 standard deviations
}

TEST(Ids, RefusesEveryOtherText) {
    const std::string id = encode_id("as_", 5, 7);
    std::string upper = id;
    upper[4] = 'A';
    for (const std::string& text :
         {std::string(), std::string("as_"), id.substr(3), id.substr(0, 15), id + "0", " " + id,
          "an_" + id.substr(3), "as_g" + id.substr(4), "as_z" + id.substr(4), upper,
          id.substr(0, 15) + "u", id.substr(0, 15) + "i", id.substr(0, 15) + "l",
          id.substr(0, 15) + "o", id.substr(0, 15) + std::string(1, '\0'),
          id.substr(0, 15) + "\xC3"}) {
        EXPECT_FALSE(decode_id("as_", text, 7)) << text;
    }
}

}  // namespace
}  // namespace tollgate
