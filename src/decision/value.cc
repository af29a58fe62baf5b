// String keys: 15 bytes in place and the length in the last byte, or 120 bits of SHA-256 and a
// mark.
#include "decision/value.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"

namespace tollgate {
namespace {

static_assert(std::endian::native == std::endian::little, "keys are stored as little-endian words");
constexpr std::size_t kInPlace = 15;
constexpr std::uint8_t kHashed = 0xFF;  // in the last byte, where a short key has its length

}  // namespace

StringKey make_string_key(std::string_view text) noexcept {
    std::array<std::uint8_t, 16> bytes{};
    if (text.size() <= kInPlace) {
        std::copy(text.begin(), text.end(), bytes.begin());
        bytes[kInPlace] = static_cast<std::uint8_t>(text.size());
    } else {
        const Digest digest = sha256(text);
        std::copy(digest.begin(), digest.begin() + kInPlace, bytes.begin());
        bytes[kInPlace] = kHashed;
    }
    return std::bit_cast<StringKey>(bytes);
}

bool string_key_text(const StringKey& key, std::string_view& text) noexcept {
    const auto bytes = std::bit_cast<std::array<std::uint8_t, 16>>(key);
    text = {};
    if (bytes[kInPlace] > kInPlace) {
        return false;
    }
    // The words' object representation is the text itself: reading it through char is allowed.
    text = {reinterpret_cast<const char*>(key.words.data()), bytes[kInPlace]};
    return true;
}

}  // namespace tollgate
