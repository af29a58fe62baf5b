// The stored values' codec, byte by byte so that it is the same on every machine.
#include "base/bytes.h"

namespace tollgate {
namespace {

template <class T>
void put_little(std::string& out, T v) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        out.push_back(static_cast<char>((v >> (8 * i)) & 0xFFU));
    }
}

template <class T>
T get_little(std::string_view in) {
    T v = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        v = static_cast<T>(
            v | static_cast<T>(static_cast<T>(static_cast<unsigned char>(in[i])) << (8 * i)));
    }
    return v;
}

}  // namespace

void ByteWriter::u8(std::uint8_t v) {
    out_.push_back(static_cast<char>(v));
}
void ByteWriter::u16(std::uint16_t v) {
    put_little(out_, v);
}
void ByteWriter::u32(std::uint32_t v) {
    put_little(out_, v);
}
void ByteWriter::u64(std::uint64_t v) {
    put_little(out_, v);
}
void ByteWriter::i64(std::int64_t v) {
    put_little(out_, static_cast<std::uint64_t>(v));
}
void ByteWriter::varint(std::uint64_t v) {
    while (v >= 0x80U) {
        out_.push_back(static_cast<char>((v & 0x7FU) | 0x80U));
        v >>= 7U;
    }
    out_.push_back(static_cast<char>(v));
}
void ByteWriter::bytes(std::string_view v) {
    varint(v.size());
    out_.append(v);
}
void ByteWriter::be64(std::uint64_t v) {
    for (int shift = 56; shift >= 0; shift -= 8) {
        out_.push_back(static_cast<char>((v >> static_cast<unsigned>(shift)) & 0xFFU));
    }
}

std::string_view ByteReader::raw(std::size_t size) {
    if (!ok_ || size > in_.size()) {
        ok_ = false;
        in_ = {};
        return {};
    }
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
}
// A failed raw() is empty, and an empty view reads as 0.
std::uint8_t ByteReader::u8() {
    return get_little<std::uint8_t>(raw(1));
}
std::uint16_t ByteReader::u16() {
    return get_little<std::uint16_t>(raw(2));
}
std::uint32_t ByteReader::u32() {
    return get_little<std::uint32_t>(raw(4));
}
std::uint64_t ByteReader::u64() {
    return get_little<std::uint64_t>(raw(8));
}
std::int64_t ByteReader::i64() {
    return static_cast<std::int64_t>(u64());
}
std::uint64_t ByteReader::varint() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const std::uint64_t byte = u8();
        // The tenth byte holds one bit, and a last byte of zero would be a second spelling.
        if (!ok_ || (shift == 63 && byte > 1) || (shift > 0 && byte == 0)) {
            break;
        }
        v |= (byte & 0x7FU) << shift;
        if (byte < 0x80U) {
            return v;
        }
    }
    ok_ = false;
    in_ = {};
    return 0;
}
std::string_view ByteReader::bytes() {
    const std::uint64_t size = varint();
    return raw(size);
}
std::uint64_t ByteReader::be64() {
    std::uint64_t v = 0;
    for (const char c : raw(8)) {
        v = (v << 8U) | static_cast<unsigned char>(c);
    }
    return v;
}

}  // namespace tollgate
