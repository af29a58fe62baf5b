// Safetensors: files as the reference writes them, and every lie a header can tell (shared case F5).
#include "tensor/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tollgate {
namespace {

// Length, header, data.
std::vector<std::byte> file(const std::string& header, std::size_t data_bytes,
                            std::uint64_t length = UINT64_MAX - 1) {
    if (length == UINT64_MAX - 1) {
        length = header.size();
    }
    std::vector<std::byte> out(8 + header.size() + data_bytes);
    std::memcpy(out.data(), &length, 8);
    std::memcpy(out.data() + 8, header.data(), header.size());
    return out;
}

std::string refused(const std::vector<std::byte>& bytes) {
    const auto read = SafetensorsFile::parse(bytes);
    EXPECT_FALSE(read);
    return read ? "" : read.error().message;
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
    auto bytes = file(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2],)"
                      R"("data_offsets":[8,12]},"a":{"dtype":"F32","shape":[2,1],)"
                      R"("data_offsets":[0,8]}})",
                      12);
    const float values[] = {1.5F, -2.0F};
    const std::uint16_t halves[] = {0x3C00, 0x0001};  // 1, the smallest subnormal
    std::memcpy(bytes.data() + bytes.size() - 12, values, 8);
    std::memcpy(bytes.data() + bytes.size() - 4, halves, 4);
    const auto read = SafetensorsFile::parse(bytes);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_NE(read->find("a"), nullptr);
    EXPECT_EQ(read->find("a")->shape, (std::vector<std::size_t>{2, 1}));
    EXPECT_EQ(to_floats(*read->find("a")).value_or_die(), (std::vector<float>{1.5F, -2.0F}));
    EXPECT_EQ(to_floats(*read->find("b")).value_or_die(),
              (std::vector<float>{1.0F, std::ldexp(1.0F, -24)}));
    EXPECT_EQ(read->find("c"), nullptr);
    EXPECT_EQ(read->metadata().size(), 1U);
}

TEST(Safetensors, LengthsThatLieAreRefused) {
    EXPECT_NE(refused(file("{}", 0, UINT64_MAX)).find("18446744073709551615"), std::string::npos);
    EXPECT_NE(refused(file("{}", 0, 10)).find("length is 10"), std::string::npos);
    EXPECT_NE(refused({}).find("0 bytes"), std::string::npos);
    EXPECT_NE(refused(std::vector<std::byte>(7)).find("7 bytes"), std::string::npos);
}

TEST(Safetensors, OffsetsThatLieAreRefusedByName) {
    const std::pair<std::string, const char*> cases[] = {
        {tensor("F32", "[2]", "[16,8]"), "begin to an end"},
        {tensor("F32", "[1]", "[-4,0]"), "data_offsets"},
        {tensor("F32", "[1000,1000]", "[0,4]"), "needs 4000000 bytes"},
        {tensor("F32", "[4]", "[0,17]"), "ends at 17"},
        {tensor("F32", "[4]", "[0]"), "begin to an end"},
        {tensor("F32", "[4294967296,4294967296,4]", "[0,16]"), "larger than memory"},
        {tensor("F32", "[-1]", "[0,4]"), "shape"},
        {tensor("F32", "[1.5]", "[0,4]"), "shape"},
        {tensor("Q4", "[4]", "[0,16]"), "dtype"},
        {tensor("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), "at most 8"},
        {R"({"w":{"dtype":"F32","shape":[4]}})", "exactly"},
        {R"({"w":[]})", "object"},
        {R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
         R"("w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
         "w"}};
    for (const auto& [header, what] : cases) {
        const std::string message = refused(file(header, 16));
        EXPECT_NE(message.find(what), std::string::npos) << header << "\n" << message;
        EXPECT_NE(message.find('w'), std::string::npos);
    }
}

TEST(Safetensors, HolesAndOverlapsAreRefused) {
    const auto two = [](const char* first, const char* second) {
        return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)") + first +
               R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":)" + second + "}}";
    };
    EXPECT_TRUE(SafetensorsFile::parse(file(two("[0,8]", "[8,16]"), 16)));
    EXPECT_TRUE(SafetensorsFile::parse(file(two("[8,16]", "[0,8]"), 16)));
    EXPECT_NE(refused(file(two("[0,8]", "[4,12]"), 16)).find("begins at 4"), std::string::npos);
    EXPECT_NE(refused(file(two("[0,8]", "[12,20]"), 20)).find("begins at 12"), std::string::npos);
    EXPECT_NE(refused(file(two("[0,8]", "[8,16]"), 20)).find("end at 16"), std::string::npos);
}

TEST(Safetensors, ValuesThatAreNotFiniteAreRefusedByPlace) {
    auto bytes = file(tensor("F32", "[3]", "[0,12]"), 12);
    const float values[] = {1.0F, NAN, 2.0F};
    std::memcpy(bytes.data() + bytes.size() - 12, values, 12);
    const auto read = SafetensorsFile::parse(bytes);
    ASSERT_TRUE(read);
    const auto floats = to_floats(*read->find("w"));
    ASSERT_FALSE(floats);
    EXPECT_NE(floats.error().message.find("\"w\": value 1"), std::string::npos);
}

TEST(Dtype, HalvesAreExact) {
    EXPECT_EQ(from_f16(0x3555), 0.333251953125F);
    EXPECT_EQ(from_f16(0xC000), -2.0F);
    EXPECT_EQ(from_f16(0x7BFF), 65504.0F);
    EXPECT_TRUE(std::isinf(from_f16(0x7C00)));
    EXPECT_TRUE(std::isnan(from_f16(0x7E00)));
    EXPECT_EQ(from_f16(0x03FF), std::ldexp(1023.0F, -24));
    EXPECT_TRUE(std::signbit(from_f16(0x8000)));
    EXPECT_EQ(from_bf16(0x3F80), 1.0F);
    EXPECT_EQ(from_bf16(0xC2F7), -123.5F);
}

}  // namespace
}  // namespace tollgate
