// Tests of stored keys: one tenant's keys are never inside another's range.
#include "store/keys.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tollgate::store {
namespace {

std::string random_name(std::mt19937& random, std::size_t most) {
    std::string out(random() % (most + 1), '\0');
    for (char& c : out) {
        // Few distinct bytes, so that names are prefixes of each other often.
        c = "\x00\x01\x02\xff"
            "a"[random() % 5];
    }
    return out;
}

TEST(StoreKeys, GluedTenantAndKeyGiveDifferentStoredKeys) {
    EXPECT_NE(full_key("org_1", "2345"), full_key("org_12345", ""));
    EXPECT_NE(full_key("org_1", "2345"), full_key("org_", "12345"));
}

TEST(StoreKeys, NoKeyLiesInAnotherTenantsRange) {
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
        const std::string a = random_name(random, random() % 50 == 0 ? 255 : 4);
        const std::string b = random_name(random, random() % 50 == 0 ? 255 : 4);
        const std::string key = full_key(a, random_name(random, 6));
        EXPECT_EQ(key >= tenant_prefix(b) && key < tenant_end(b), a == b);
        EXPECT_EQ(tenant_of(key), a);
    }
}

TEST(StoreKeys, SequenceKeysSortAsNumbers) {
    const std::vector<std::uint64_t> numbers = {0, 1, 255, 256, 65'535, 1ULL << 40U, UINT64_MAX};
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        EXPECT_LT(sequence_key("t", numbers[i - 1]), sequence_key("t", numbers[i]));
    }
    EXPECT_EQ(sequence_of(sequence_bytes(77)), 77U);
    EXPECT_EQ(sequence_of("1234567"), std::nullopt);
}

TEST(StoreKeys, RefusesATenantNameThatIsTooLong) {
    EXPECT_TRUE(check_tenant(std::string(255, 'x')));
    const auto refused = check_tenant(std::string(256, 'x'));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kBadInput);
    EXPECT_NE(refused.error().message.find("256"), std::string::npos);
}

TEST(StoreKeys, MalformedStoredKeysHaveNoTenant) {
    EXPECT_EQ(tenant_of(""), std::nullopt);
    EXPECT_EQ(tenant_of("\x05"
                        "abc"),
              std::nullopt);
    EXPECT_EQ(tenant_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), std::nullopt);
}

}  // namespace
}  // namespace tollgate::store
