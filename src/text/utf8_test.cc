// Tests of text/utf8.h and the character decoder below it.
#include "text/utf8.h"

#include <gtest/gtest.h>

#include <random>

namespace tollgate {
namespace {

// The definition read the other way round: what the encoder writes is exactly what is valid.
std::string encoded(std::uint32_t c) {
    const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | ((c >> shift) & 63)); };
    if (c < 0x80) {
        return {static_cast<char>(c)};
    }
    if (c < 0x800) {
        return {static_cast<char>(0xC0 | (c >> 6U)), tail(0)};
    }
    if (c < 0x10000) {
        return {static_cast<char>(0xE0 | (c >> 12U)), tail(6), tail(0)};
    }
    return {static_cast<char>(0xF0 | (c >> 18U)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryScalarValueIsValidAndNoSurrogateIs) {
    for (std::uint32_t c = 0; c < 0x120000; ++c) {
        const bool scalar = c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF);
        ASSERT_EQ(is_valid_utf8(encoded(c)), scalar) << c;
    }
}

TEST(Utf8, RefusesBrokenSequences) {
    for (const char* text : {"\x80", "\xC3", "\xC3(", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF",
                             "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF0\x9F\x98", "\xF4\x90\x80\x80",
                             "\xFF", "\xFE", "ok\xC3\xA9\x80"}) {
        EXPECT_FALSE(is_valid_utf8(text));
    }
    EXPECT_TRUE(is_valid_utf8(""));
}

TEST(Utf8, TruncationNeverCutsACharacterAndLosesAtMostThreeBytes) {
    std::mt19937 random(5);
    for (int round = 0; round < 500; ++round) {
        std::string text;
        for (int i = 0; i < 20; ++i) {
            text += encoded(
                static_cast<std::uint32_t>(random() % (1U << (random() % 17 + 1)) % 0xD800));
        }
        for (std::size_t cut = 0; cut <= text.size() + 1; ++cut) {
            const std::string_view kept = truncate_utf8(text, cut);
            ASSERT_TRUE(is_valid_utf8(kept));
            ASSERT_LE(kept.size(), cut);
            ASSERT_GT(kept.size() + 4, std::min(cut, text.size()));
        }
    }
    EXPECT_EQ(truncate_utf8("\x80\x80\x80\x80", 3), "\x80\x80\x80");
}

TEST(Utf8, PrintableShowsAnyBytesAsOneValidLine) {
    EXPECT_EQ(printable("a\xC3(\n\\\xE2\x82\xAC", 100), "a\\xC3(\\x0A\\\\\xE2\x82\xAC");
    EXPECT_EQ(printable("\xC2\x9B", 100), "\\xC2\\x9B");  // a C1 control, byte by byte
    EXPECT_EQ(printable("123456", 6), "123456");
    EXPECT_EQ(printable("1234567", 6), "123\xE2\x80\xA6");
    EXPECT_EQ(printable("1234567", 2), "12");
    EXPECT_EQ(printable("\xFF\xFF", 7), "\\xFF\xE2\x80\xA6");
    std::mt19937 random(6);
    for (int round = 0; round < 2000; ++round) {
        std::string text(random() % 40, '\0');
        for (char& c : text) {
            c = static_cast<char>(random());
        }
        const std::size_t limit = random() % 60;
        const std::string shown = printable(text, limit);
        ASSERT_LE(shown.size(), limit);
        ASSERT_TRUE(is_valid_utf8(shown));
        ASSERT_EQ(shown.find('\n'), std::string::npos);
    }
}

}  // namespace
}  // namespace tollgate
