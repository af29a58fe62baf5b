// A four-round Feistel network on 64 bits (Luby and Rackoff 1988) with SHA-256 as round function.
#include "base/ids.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/hash.h"

namespace tollgate {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::uint32_t kRounds = 4;

struct Halves {
    std::uint32_t left;
    std::uint32_t right;
};

// The first four bytes of SHA-256(secret, round, half, prefix), all little endian.
class RoundFunction {
  public:
    RoundFunction(std::string_view prefix, std::uint64_t secret)
        : size_(kPrefixAt + prefix.size()) {
        TG_CHECK(prefix.size() <= kMaxIdPrefix, "an id prefix is at most 16 bytes");
        put(0, secret, 8);
        std::copy(prefix.begin(), prefix.end(), bytes_.begin() + kPrefixAt);
    }
    std::uint32_t operator()(std::uint32_t round, std::uint32_t half) {
        put(8, round, 4);
        put(12, half, 4);
        const Digest digest = sha256({bytes_.data(), size_});
        std::uint32_t out = 0;
        for (std::size_t i = 4; i-- > 0;) {
            out = out << 8U | digest[i];
        }
        return out;
    }

  private:
    static constexpr std::size_t kPrefixAt = 16;

    void put(std::size_t at, std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            bytes_[at + i] = static_cast<char>((value >> (8 * i)) & 0xFFU);
        }
    }

    std::array<char, kPrefixAt + kMaxIdPrefix> bytes_{};
    std::size_t size_;
};

Halves split(std::uint64_t v) {
    return {static_cast<std::uint32_t>(v >> 32U), static_cast<std::uint32_t>(v & 0xFFFFFFFFU)};
}
std::uint64_t join(Halves h) {
    return static_cast<std::uint64_t>(h.left) << 32U | h.right;
}

}  // namespace

std::string encode_id(std::string_view prefix, std::uint64_t seq, std::uint64_t secret) {
    RoundFunction mix(prefix, secret);
    Halves h = split(seq);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
        h = {h.right, h.left ^ mix(round, h.right)};
    }
    const std::uint64_t body = join(h);
    std::string out;
    out.reserve(prefix.size() + kIdBodySize);
    out.append(prefix);
    for (int shift = 60; shift >= 0; shift -= 5) {
        out.push_back(kAlphabet[(body >> static_cast<unsigned>(shift)) & 31U]);
    }
    return out;
}

std::optional<std::uint64_t> decode_id(std::string_view prefix, std::string_view id,
                                       std::uint64_t secret) {
    if (id.size() != prefix.size() + kIdBodySize || id.substr(0, prefix.size()) != prefix) {
        return std::nullopt;
    }
    id.remove_prefix(prefix.size());
    // 13 characters hold 65 bits: the first may only use four of its five.
    if (kAlphabet.find(id.front()) >= 16) {
        return std::nullopt;
    }
    std::uint64_t body = 0;
    for (const char c : id) {
        const std::size_t digit = kAlphabet.find(c);
        if (digit == std::string_view::npos) {
            return std::nullopt;
        }
        body = body << 5U | digit;
    }
    RoundFunction mix(prefix, secret);
    Halves h = split(body);
    for (std::uint32_t round = kRounds; round-- > 0;) {
        h = {h.right ^ mix(round, h.left), h.left};
    }
    return join(h);
}

}  // namespace tollgate
