// Tests of base/hash.h: FIPS vectors, streaming in pieces, fixed table hashes, no allocation.
#include "base/hash.h"

#include <gtest/gtest.h>

#include "base/testing/alloc_counter.h"

namespace tollgate {
namespace {

constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, MatchesTheStandardsVectors) {
    EXPECT_EQ(to_hex(sha256("")), kEmpty);
    EXPECT_EQ(to_hex(sha256("abc")), kAbc);
    EXPECT_EQ(to_hex(sha256(std::string(1000000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, StreamingEqualsOneShotAndStartsAnew) {
    Sha256 hash;
    EXPECT_EQ(to_hex(hash.finish()), kEmpty);
    hash.update("a");
    hash.update("");
    hash.update("bc");
    EXPECT_EQ(to_hex(hash.finish()), kAbc);
    hash.update("half a message");
    Sha256 moved(std::move(hash));
    moved.update(" and the rest");
    EXPECT_EQ(moved.finish(), sha256("half a message and the rest"));
}

TEST(Sha256, AllocatesNothingAfterTheFirstCall) {
    const std::string text(300, 'x');
    (void)sha256(text);
    const std::size_t before = testing::allocations();
    Digest last{};
    for (int i = 0; i < 100; ++i) {
        last = sha256(text);
    }
    EXPECT_EQ(testing::allocations(), before);
    EXPECT_NE(last, Digest{});
}

TEST(Hash64, IsFixedAndSeedable) {
    EXPECT_EQ(hash64(""), 0x2D06800538D394C2ULL);  // XXH3's published value of the empty input
    EXPECT_NE(hash64("a"), hash64("b"));
    EXPECT_NE(hash64("a", 1), hash64("a", 2));
}

TEST(RandomBytes, HasTheSizeAndDiffers) {
    EXPECT_EQ(random_bytes(0), "");
    const std::string a = random_bytes(1000);
    EXPECT_EQ(a.size(), 1000U);
    EXPECT_NE(a, random_bytes(1000));
}

TEST(EqualConstantTime, ComparesBytes) {
    EXPECT_TRUE(equal_constant_time("", ""));
    EXPECT_TRUE(equal_constant_time("key", "key"));
    EXPECT_FALSE(equal_constant_time("key", "kez"));
    EXPECT_FALSE(equal_constant_time("zey", "key"));
    EXPECT_FALSE(equal_constant_time("key", "keys"));
}

}  // namespace
}  // namespace tollgate
