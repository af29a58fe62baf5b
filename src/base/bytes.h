// Little byte codec for stored values: fixed-width little endian, varints, length-prefixed strings;
// big endian where the bytes are a sort key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tollgate {

class ByteWriter {
  public:
    explicit ByteWriter(std::string& out) : out_(out) {}
    void u8(std::uint8_t v);
    void u16(std::uint16_t v);
    void u32(std::uint32_t v);
    void u64(std::uint64_t v);
    void i64(std::int64_t v);
    void varint(std::uint64_t v);    // LEB128, 1..10 bytes
    void bytes(std::string_view v);  // varint length, then the bytes
    void be64(std::uint64_t v);      // big endian: sorts as the number

  private:
    std::string& out_;
};

// Reads what ByteWriter wrote. Every read past the end or malformed varint makes the reader fail
// for good: values read after that are zero or empty, and ok() is false. Never reads out of bounds,
// never allocates.
class ByteReader {
  public:
    explicit ByteReader(std::string_view in) : in_(in) {}
    std::uint8_t u8();
    std::uint16_t u16();
    std::uint32_t u32();
    std::uint64_t u64();
    std::int64_t i64();
    std::uint64_t varint();
    std::string_view bytes();
    std::uint64_t be64();
    std::string_view raw(std::size_t size);
    bool ok() const { return ok_; }
    bool at_end() const { return in_.empty(); }

  private:
    std::string_view in_;
    bool ok_ = true;
};

}  // namespace tollgate
