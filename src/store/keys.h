// Stored keys: the tenant's length-prefixed name before every key, so that no key of one tenant can
// be read, written or scanned through another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tollgate::store {

inline constexpr std::size_t kMaxTenantBytes = 255;

// Names in kMeta that begin with this byte are the store's own: scans skip them, puts may not use
// them.
inline constexpr char kReservedMeta = '\0';

// kBadInput when the name is longer than kMaxTenantBytes.
Status check_tenant(std::string_view tenant);

// varint(length of tenant) + tenant: no prefix of one tenant is a prefix of another's, because the
// length comes first.
std::string tenant_prefix(std::string_view tenant);

// The first key behind every key of the tenant: the prefix plus one, as bytes. Always exists, for
// the length byte is never 0xff 0xff...
std::string tenant_end(std::string_view tenant);

// tenant_prefix(tenant) + key.
std::string full_key(std::string_view tenant, std::string_view key);

// be64(seq): a sequence number as the part of a key behind the tenant.
std::string sequence_bytes(std::uint64_t seq);

// tenant_prefix(tenant) + be64(seq).
std::string sequence_key(std::string_view tenant, std::uint64_t seq);

// The tenant that a stored key belongs to; nullopt when the bytes are no such key.
std::optional<std::string_view> tenant_of(std::string_view stored);

// The sequence number of `key` (without its tenant); nullopt unless it is exactly eight bytes.
std::optional<std::uint64_t> sequence_of(std::string_view key);

}  // namespace tollgate::store
