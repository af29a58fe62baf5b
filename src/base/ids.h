// Public ids: a sequence number behind a keyed permutation, so that an id needs no index to be
// found and tells nobody how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate {

constexpr std::size_t kIdBodySize = 13;   // base-32 characters of 64 bits
constexpr std::size_t kMaxIdPrefix = 16;  // bytes; a longer one stops the process

// `prefix`, then 13 characters of lower-case Crockford base 32 ("as_" -> "as_5zj0…"). The same
// arguments give the same id; another prefix or secret gives an unrelated one. Four SHA-256
// rounds; not a signature: who decodes must still check that the record is the caller's.
std::string encode_id(std::string_view prefix, std::uint64_t seq, std::uint64_t secret);

// The sequence number, or nullopt for any text that encode_id cannot have written (other prefix,
// length, letter case or alphabet). An id of another secret decodes to an unrelated number.
std::optional<std::uint64_t> decode_id(std::string_view prefix, std::string_view id,
                                       std::uint64_t secret);

}  // namespace tollgate
