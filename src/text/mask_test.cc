// Tests of text/mask.h with the card schemes' published test numbers and near misses.
#include "text/mask.h"

#include <gtest/gtest.h>

#include <random>

#include "base/testing/alloc_counter.h"

namespace tollgate {
namespace {

std::string masked(std::string text) {
    (void)mask_card_numbers(text);
    return text;
}

TEST(MaskCardNumbers, MasksTestNumbersOfEveryLength) {
    EXPECT_EQ(masked("4222222222222"), "*********2222");
    EXPECT_EQ(masked("pay 378282246310005 now"), "pay ***********0005 now");
    EXPECT_EQ(masked("4111111111111111"), "************1111");
    EXPECT_EQ(masked("(5555-5555-5555-4444)"), "(****-****-****-4444)");
    EXPECT_EQ(masked("6011 0009 9013 9424,"), "**** **** **** 9424,");
    EXPECT_EQ(masked("6304000000000000000"), "***************0000");
    EXPECT_EQ(masked("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"), "* * * * * * * * * * * * 1 1 1 1");
    EXPECT_EQ(masked("\xE2\x82\xAC"
                     "4111111111111111\xC2\xA0"),
              "\xE2\x82\xAC"
              "************1111\xC2\xA0");
}

TEST(MaskCardNumbers, FindsACardBesideOtherGroups) {
    EXPECT_EQ(masked("12 4111 1111 1111 1111 05/29"), "12 **** **** **** 1111 05/29");
    EXPECT_EQ(masked("4111111111111111 5555555555554444"), "************1111 ************4444");
    EXPECT_EQ(masked("4111111111111111-123"), "************1111-123");
}

TEST(MaskCardNumbers, LeavesNearMissesAlone) {
    for (const char* text :
         {"", "4111111111111112", "411111111111", "4222222222223", "4111  1111  1111  1111",
          "4111--1111-1111-1111", "4111.1111.1111.1111", "4111 - 1111 1111 1111",
          "41111111111111110000", "x4111 1111 1111", "amount 100.00", "-", "2026-11-30 08:15:30"}) {
        EXPECT_EQ(masked(text), text);
    }
}

TEST(MaskCardNumbers, IsIdempotentAndNeverLeavesAValidRun) {
    std::mt19937_64 random(31);
    constexpr std::string_view kAlphabet = "0123456789 -x";
    for (int round = 0; round < 5000; ++round) {
        std::string text(random() % 60, ' ');
        for (char& c : text) {
            c = kAlphabet[random() % 4 == 0 ? random() % kAlphabet.size() : random() % 10];
        }
        const std::string once = masked(text);
        ASSERT_EQ(once.size(), text.size());
        ASSERT_EQ(masked(once), once);
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool digit = text[i] >= '0' && text[i] <= '9';
            ASSERT_TRUE(once[i] == text[i] || (once[i] == '*' && digit));
        }
    }
}

TEST(MaskCardNumbers, AllocatesNothing) {
    std::string text = "card 4111 1111 1111 1111, again 5555555555554444";
    const std::size_t before = testing::allocations();
    const bool found = mask_card_numbers(text);
    EXPECT_EQ(testing::allocations(), before);
    EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tollgate
