// Tests of base/bytes.h: seeded round trips, every truncation, and malformed varints.
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <random>
#include <variant>
#include <vector>

namespace tollgate {
namespace {

enum class Kind { kU8, kU16, kU32, kU64, kI64, kVarint, kBytes, kBe64 };
struct Item {
    Kind kind;
    std::uint64_t number;
    std::string text;
};

Item random_item(std::mt19937_64& random) {
    // The shift makes small numbers as likely as large ones.
    Item item{static_cast<Kind>(random() % 8), random() >> (random() % 64), {}};
    item.text.assign(item.kind == Kind::kBytes ? random() % 200 : 0, static_cast<char>(random()));
    return item;
}

void write(ByteWriter& out, const Item& item) {
    switch (item.kind) {
        case Kind::kU8:
            return out.u8(static_cast<std::uint8_t>(item.number));
        case Kind::kU16:
            return out.u16(static_cast<std::uint16_t>(item.number));
        case Kind::kU32:
            return out.u32(static_cast<std::uint32_t>(item.number));
        case Kind::kU64:
            return out.u64(item.number);
        case Kind::kI64:
            return out.i64(static_cast<std::int64_t>(item.number));
        case Kind::kVarint:
            return out.varint(item.number);
        case Kind::kBytes:
            return out.bytes(item.text);
        case Kind::kBe64:
            return out.be64(item.number);
    }
}

bool matches(ByteReader& in, const Item& item) {
    switch (item.kind) {
        case Kind::kU8:
            return in.u8() == static_cast<std::uint8_t>(item.number);
        case Kind::kU16:
            return in.u16() == static_cast<std::uint16_t>(item.number);
        case Kind::kU32:
            return in.u32() == static_cast<std::uint32_t>(item.number);
        case Kind::kU64:
            return in.u64() == item.number;
        case Kind::kI64:
            return in.i64() == static_cast<std::int64_t>(item.number);
        case Kind::kVarint:
            return in.varint() == item.number;
        case Kind::kBytes:
            return in.bytes() == item.text;
        case Kind::kBe64:
            return in.be64() == item.number;
    }
    return false;
}

TEST(Bytes, WhatIsWrittenReadsBackAndNoTruncationPasses) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 200; ++round) {
        std::vector<Item> items;
        std::string bytes;
        ByteWriter out(bytes);
        for (std::size_t i = 0; i < 1 + random() % 12; ++i) {
            items.push_back(random_item(random));
            write(out, items.back());
        }
        ByteReader in(bytes);
        for (const Item& item : items) {
            ASSERT_TRUE(matches(in, item));
        }
        ASSERT_TRUE(in.ok() && in.at_end());
        for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
            // A heap copy of exactly that size, so that a sanitizer sees one byte too far.
            const std::vector<char> part(bytes.data(), bytes.data() + cut);
            ByteReader cut_in(std::string_view(part.data(), part.size()));
            for (const Item& item : items) {
                (void)matches(cut_in, item);
            }
            ASSERT_FALSE(cut_in.ok());
            ASSERT_EQ(cut_in.u64(), 0U);
            ASSERT_TRUE(cut_in.bytes().empty());
        }
    }
}

TEST(Bytes, LayoutIsLittleEndianAndBe64SortsAsTheNumber) {
    std::string bytes;
    ByteWriter out(bytes);
    out.u32(0x01020304);
    out.varint(300);
    out.be64(0x0102030405060708);
    EXPECT_EQ(bytes, std::string("\x04\x03\x02\x01\xAC\x02\x01\x02\x03\x04\x05\x06\x07\x08"));
    std::string low;
    std::string high;
    ByteWriter(low).be64(0x00FF);
    ByteWriter(high).be64(0x0100);
    EXPECT_LT(low, high);
}

TEST(Bytes, RefusesOverlongAndPaddedVarints) {
    const std::string ones(9, '\xFF');
    for (const std::string& bytes :
         {ones + "\x02", ones + "\xFF\x01", std::string("\x80\x00", 2), std::string("\x80")}) {
        ByteReader in(bytes);
        EXPECT_EQ(in.varint(), 0U);
        EXPECT_FALSE(in.ok());
    }
    const std::string largest = ones + "\x01";
    ByteReader in(largest);
    EXPECT_EQ(in.varint(), ~std::uint64_t{0});
    EXPECT_TRUE(in.ok());
}

}  // namespace
}  // namespace tollgate
