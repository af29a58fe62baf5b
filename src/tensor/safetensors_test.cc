// Element types, mapped files and safetensors: files as the reference writes them, and every lie a
// header can tell (shared case F5).
#include "tensor/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

namespace tollgate {
namespace {

std::string with_length(std::uint64_t length, const std::string& rest) {
    std::string out(8, '\0');
    std::memcpy(out.data(), &length, 8);
    return out + rest;
}

std::string file_of(const std::string& header, const std::string& data) {
    return with_length(header.size(), header + data);
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string error_of(const std::string& file) {
    const auto result = SafetensorsFile::parse(bytes_of(file));
    return result ? "accepted" : result.error().message;
}

template <class T>
std::string raw(const std::vector<T>& values) {
    std::string out(values.size() * sizeof(T), '\0');
    std::memcpy(out.data(), values.data(), out.size());
    return out;
}

// One tensor "t" in a file with eight bytes of data.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return file_of(R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
                       offsets + "}}",
                   "12345678");
}

TEST(Dtype, NamesAndSizesGoBothWays) {
    const std::pair<const char*, std::size_t> known[] = {
        {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
        {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
    for (const auto& [name, size] : known) {
        const auto dtype = dtype_named(name);
        ASSERT_TRUE(dtype.has_value()) << name;
        EXPECT_EQ(to_text(*dtype), name);
        EXPECT_EQ(size_of(*dtype), size);
    }
    EXPECT_FALSE(dtype_named("f32").has_value());
    EXPECT_FALSE(dtype_named("").has_value());
}

TEST(Dtype, KnownHalves) {
    EXPECT_EQ(from_f16(0x3555), 0.333251953125F);
    EXPECT_EQ(from_f16(0x7BFF), 65504.0F);
    EXPECT_EQ(from_bf16(0x3F80), 1.0F);
    EXPECT_EQ(from_bf16(0xC2F7), -123.5F);
    EXPECT_EQ(from_bf16(0x0001), std::ldexp(1.0F, -133));
    EXPECT_TRUE(std::isinf(from_bf16(0x7F80)));
    EXPECT_TRUE(std::isnan(from_bf16(0x7FC0)));
}

// Against the definition: 2^(e-15) * (1 + f/1024), subnormals f * 2^-24.
TEST(Dtype, EveryHalfIsExact) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const int exponent = static_cast<int>((bits >> 10) & 31U);
        const auto fraction = static_cast<double>(bits & 1023U);
        const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
        const float got = from_f16(static_cast<std::uint16_t>(bits));
        ASSERT_EQ(std::signbit(got), sign < 0) << bits;
        if (exponent == 31) {
            ASSERT_EQ(std::isinf(got), fraction == 0.0) << bits;
            ASSERT_EQ(std::isnan(got), fraction != 0.0) << bits;
            continue;
        }
        const double want = exponent == 0 ? std::ldexp(fraction, -24)
                                          : std::ldexp(1.0 + fraction / 1024.0, exponent - 15);
        ASSERT_EQ(static_cast<double>(got), sign * want) << bits;
    }
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
    const std::string file = file_of(
        R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[6,14]},"__metadata__":{"format":"pt"},)"
        R"("empty":{"dtype":"F32","shape":[0,5],"data_offsets":[6,6]},)"
        R"("a":{"dtype":"F16","shape":[1,3],"data_offsets":[0,6]},)"
        R"("scalar":{"dtype":"I8","shape":[],"data_offsets":[14,15]}}   )",
        raw<std::uint16_t>({0x3C00, 0xC000, 0x0001}) + raw<float>({1.5F, -2.25F}) + "\x07");
    const auto parsed = SafetensorsFile::parse(bytes_of(file));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    ASSERT_EQ(parsed->tensors().size(), 4U);
    EXPECT_EQ(parsed->tensors()[0].name, "a");
    EXPECT_EQ(parsed->metadata(),
              (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
    ASSERT_NE(parsed->find("a"), nullptr);
    EXPECT_EQ(parsed->find("a")->shape, (std::vector<std::size_t>{1, 3}));
    EXPECT_EQ(to_floats(*parsed->find("a")).value_or_die(),
              (std::vector<float>{1.0F, -2.0F, std::ldexp(1.0F, -24)}));
    EXPECT_EQ(to_floats(*parsed->find("b")).value_or_die(), (std::vector<float>{1.5F, -2.25F}));
    EXPECT_EQ(parsed->find("empty")->elements(), 0U);
    EXPECT_EQ(parsed->find("scalar")->data.size(), 1U);
    EXPECT_EQ(parsed->find("c"), nullptr);
    EXPECT_TRUE(SafetensorsFile::parse(bytes_of(file_of("{}", ""))).has_value());
}

TEST(Safetensors, ConvertsFloatTypesAndRefusesValuesThatAreNotFinite) {
    const auto floats = [](const std::string& dtype, const std::string& data, std::size_t count) {
        const std::string file =
            file_of(R"({"t":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(count) +
                        R"(],"data_offsets":[0,)" + std::to_string(data.size()) + "]}}",
                    data);
        const auto parsed = SafetensorsFile::parse(bytes_of(file)).value_or_die();
        const auto out = to_floats(*parsed.find("t"));
        return out ? ::testing::PrintToString(*out) : out.error().message;
    };
    EXPECT_EQ(floats("BF16", raw<std::uint16_t>({0x3F80, 0xC0A0}), 2), "{ 1, -5 }");
    EXPECT_EQ(floats("F64", raw<double>({0.5, -3.0}), 2), "{ 0.5, -3 }");
    EXPECT_EQ(floats("F32", raw<float>({1.0F, NAN, 2.0F}), 3),
              "safetensors: tensor \"t\": value 1 is not a finite number");
    EXPECT_EQ(floats("F32", raw<float>({1.0F, std::numeric_limits<float>::infinity()}), 2),
              "safetensors: tensor \"t\": value 1 is not a finite number");
    EXPECT_EQ(floats("F16", raw<std::uint16_t>({0x7E00}), 1),
              "safetensors: tensor \"t\": value 0 is not a finite number");
    EXPECT_EQ(floats("F64", raw<double>({1e300}), 1),
              "safetensors: tensor \"t\": value 0 is not a finite number");
    EXPECT_EQ(floats("I32", raw<std::int32_t>({1}), 1),
              "safetensors: tensor \"t\": holds I32, floats are wanted");
}

TEST(Safetensors, LengthsThatLieAreRefused) {
    const std::string rest(100, ' ');
    for (const std::uint64_t length :
         {UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 63, std::uint64_t{108},
          std::uint64_t{101}, std::uint64_t{100'000'001}}) {
        const std::string want =
            "header's length is " + std::to_string(length) + ", the file has 108 bytes";
        EXPECT_NE(error_of(with_length(length, rest)).find(want), std::string::npos) << want;
    }
    EXPECT_EQ(error_of(""), "safetensors: the file has 0 bytes, its head alone has 8");
    EXPECT_EQ(error_of("1234567"), "safetensors: the file has 7 bytes, its head alone has 8");
    EXPECT_NE(error_of(with_length(0, "")).find("no JSON"), std::string::npos);
    EXPECT_NE(error_of(with_length(100, rest)).find("no JSON"), std::string::npos);
}

TEST(Safetensors, OffsetsThatLieAreRefusedByName) {  // with shared case F1's wrapping products
    EXPECT_EQ(error_of(one("F32", "[2]", "[0,8]")), "accepted");
    const auto refused = [](const std::string& file, const std::string& why) {
        EXPECT_EQ(error_of(file), "safetensors: tensor \"t\": " + why);
    };
    const std::string no_range = "its data_offsets do not go from a begin to an end";
    refused(one("F32", "[2]", "[8,0]"), no_range);
    refused(one("F32", "[2]", "[0]"), no_range);
    const std::string whole = " holds something that is not a whole number of at most 63 bits";
    refused(one("F32", "[1]", "[-4,0]"), "data_offsets" + whole);
    refused(one("F32", "[-2]", "[0,8]"), "shape" + whole);
    refused(one("F32", "[1.5]", "[0,8]"), "shape" + whole);
    refused(one("F32", "[2.0]", "[0,8]"), "shape" + whole);
    refused(one("F32", "[2]", "[0,18446744073709551615]"), "data_offsets" + whole);
    refused(one("F32", "[1000,1000]", "[0,4]"),
            "its shape needs 4000000 bytes, its data_offsets hold 4");
    refused(one("U8", "[9]", "[0,9]"), "its data ends at 9, the file's data at 8");
    const std::string large = "its shape is larger than memory can be";
    refused(one("F32", "[32,576460752303423489]", "[0,8]"), large);
    refused(one("F32", "[8589934592,2147483648,2]", "[0,0]"), large);
    refused(one("F32", "[4294967296,4294967296,4]", "[0,8]"), large);
    refused(one("U8", "[4611686018427387904,2]", "[0,8]"), large);
    refused(one("F32", "[0,9223372036854775807,9223372036854775807]", "[0,8]"),
            "its shape needs 0 bytes, its data_offsets hold 8");
    refused(one("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), "shape is not a list of at most 8 numbers");
    const std::string types = "its dtype is not one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL";
    refused(one("Q4", "[2]", "[0,8]"), types);
    refused(file_of(R"({"t":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", "12345678"), types);
    refused(file_of(R"({"t":{"dtype":"F32","shape":[2]}})", "12345678"),
            "needs exactly dtype, shape and data_offsets");
    refused(file_of(R"({"t":[]})", ""), "is not described by an object");
}

TEST(Safetensors, HolesAndOverlapsAreRefused) {
    const auto two = [](const std::string& a, const std::string& b) {
        return file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
                           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}",
                       "12345678");
    };
    EXPECT_EQ(error_of(two("[0,4]", "[4,8]")), "accepted");
    EXPECT_EQ(error_of(two("[4,8]", "[0,4]")), "accepted");
    EXPECT_EQ(error_of(two("[0,4]", "[2,6]")),
              "safetensors: tensor \"b\": its data begins at 2, the tensor before it ends at 4");
    EXPECT_EQ(error_of(two("[0,4]", "[0,4]")),
              "safetensors: tensor \"b\": its data begins at 0, the tensor before it ends at 4");
    EXPECT_EQ(error_of(one("U8", "[4]", "[4,8]")),
              "safetensors: tensor \"t\": its data begins at 4, the tensor before it ends at 0");
    EXPECT_EQ(error_of(one("U8", "[4]", "[0,4]")),
              "safetensors: the tensors end at 4, the file's data at 8");
    EXPECT_EQ(error_of(file_of("{}", "x")),
              "safetensors: the tensors end at 0, the file's data at 1");
}

TEST(Safetensors, HeadersThatAreNoneAreRefused) {
    const auto refused = [](const std::string& header, const std::string& why) {
        EXPECT_NE(error_of(file_of(header, "x")).find(why), std::string::npos) << header;
    };
    refused("[]", "the header is not an object");
    refused(R"({"t":)", "the header is no JSON");
    refused("{}{}", "the header is no JSON");
    refused("{\"\xFF\":1}", "the header is no JSON");
    const std::string tensor = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
    refused(R"({"twice":)" + tensor + R"(,"twice":)" + tensor + "}", "twice");
    refused(R"({"__metadata__":{"a":1}})", "__metadata__ is not");
    refused(R"({"__metadata__":[]})", "__metadata__ is not");
    refused("{\"t\":" + std::string(100'000, '['), "the header is no JSON");
}

class TensorFiles : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name =
            (std::filesystem::temp_directory_path() / "tollgate-tensor-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::string write(const std::string& text) const {
        std::ofstream(folder_ + "/f", std::ios::binary) << text;
        return folder_ + "/f";
    }
    std::string folder_;
};

TEST_F(TensorFiles, OpenKeepsTheBytesAndNamesTheFile) {
    const std::string path = write(one("F32", "[2]", "[0,8]"));
    SafetensorsFile moved;
    {
        auto opened = SafetensorsFile::open(path).value_or_die();
        moved = std::move(opened);
    }
    EXPECT_EQ(std::memcmp(moved.find("t")->data.data(), "12345678", 8), 0);
    const auto bad = SafetensorsFile::open(write("short"));
    ASSERT_FALSE(bad.has_value());
    EXPECT_EQ(bad.error().message,
              path + ": safetensors: the file has 5 bytes, its head alone has 8");
}

TEST_F(TensorFiles, OnlyRegularFilesAreOpened) {
    EXPECT_EQ(MappedFile::open(folder_ + "/none").error().fault, Fault::kNotFound);
    EXPECT_EQ(MappedFile::open(folder_).error().message, folder_ + ": is no regular file");
    ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
    EXPECT_EQ(MappedFile::open(folder_ + "/pipe").error().message,  // does not wait for a writer
              folder_ + "/pipe: is no regular file");
    EXPECT_EQ(MappedFile::open(write("")).value_or_die().bytes().size(), 0U);
    const auto file = MappedFile::open(write("abc")).value_or_die();
    std::filesystem::resize_file(folder_ + "/f", 0);
    EXPECT_EQ(file.text(), "abc");  // small files are read, not mapped
}

// Sparse: takes no room on disk.
TEST_F(TensorFiles, LargeFilesAreMapped) {
    const std::string path = write("head");
    const std::size_t size = MappedFile::kReadLimit + 4096;
    std::filesystem::resize_file(path, size);
    MappedFile file = MappedFile::open(path).value_or_die();
    const MappedFile moved = std::move(file);
    EXPECT_EQ(moved.bytes().size(), size);
    EXPECT_EQ(moved.text().substr(0, 4), "head");
    EXPECT_EQ(moved.bytes().back(), std::byte{0});
    std::filesystem::resize_file(path, MappedFile::kMaxBytes + 1);
    EXPECT_EQ(MappedFile::open(path).error().fault, Fault::kTooLarge);
}

}  // namespace
}  // namespace tollgate
