// The hash of a tenant's record log: what two runs are compared by.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/store.h"

namespace tollgate::apps {

struct LogRange {
    std::uint64_t from = 1;  // sequence numbers, both ends included
    std::uint64_t to = UINT64_MAX;
};
struct LogHash {
    std::string hex;  // SHA-256 over the canonical records in order, each with its line feed
    std::uint64_t records = 0;
};
Result<LogHash> log_hash(const store::Store& store, const std::string& tenant,
                         const LogRange& range = {});

}  // namespace tollgate::apps
