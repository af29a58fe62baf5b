// Hashes: SHA-256 for identities and chains, XXH3 for hash tables (never an identity).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tollgate {

using Digest = std::array<std::uint8_t, 32>;

// One-shot SHA-256 (FIPS 180-4) through OpenSSL. Allocates nothing after the first call on a
// thread.
Digest sha256(std::string_view bytes);

// Streaming SHA-256.
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    void update(std::string_view bytes);
    Digest finish();  // the object may be reused after it: it starts anew

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Lower-case hexadecimal.
std::string to_hex(const Digest& digest);
std::string to_hex(std::string_view bytes);

// Table hash, seedable; the same bytes and seed give the same value on every machine.
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);

// `size` bytes from the operating system's generator (getrandom); stops the process if there is
// none.
std::string random_bytes(std::size_t size);

// True when equal; time depends on the lengths alone.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace tollgate
