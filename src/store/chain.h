// The digest chain of a tenant's log and the bytes of a stored log value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace tollgate::store {

// SHA-256(previous || SHA-256(record)). Allocates nothing.
Digest chain_next(const Digest& previous, std::string_view record);

// A stored log value: the chain's digest, then the record.
std::string encode_log_value(const Digest& chain, std::string_view record);

struct LogValue {
    Digest chain{};
    std::string_view record;  // into the bytes given
};
// nullopt when the bytes are shorter than a digest.
std::optional<LogValue> decode_log_value(std::string_view bytes);

// What is kept of a log whose beginning was dropped: the first sequence number left and the chain's
// value before it.
struct Cut {
    std::uint64_t first_seq = 1;
    Digest chain{};  // at first_seq - 1
};
// The name of the cut in the tenant's kMeta (see kReservedMeta).
std::string_view cut_name();
std::string encode_cut(const Cut& cut);
std::optional<Cut> decode_cut(std::string_view bytes);

}  // namespace tollgate::store
