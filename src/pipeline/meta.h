// A tenant's stored names: its secret, packs, active policy, clock and snapshot mark.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pipeline/pipeline.h"
#include "store/store.h"

namespace tollgate::pipeline {

constexpr std::string_view kMetaSecret = "secret";
constexpr std::string_view kMetaPack = "pack:";     // + hash -> encode_pack()
constexpr std::string_view kMetaActive = "active";  // the two hashes below
constexpr std::string_view kMetaClock = "clock";    // StreamClock::encode()
constexpr std::string_view kMetaSnapshot = "snapshot";

struct ActivePolicy {
    std::string current;
    std::string previous;  // empty: none
};
std::string to_bytes(const ActivePolicy& active);
Result<std::optional<ActivePolicy>> read_active(const store::Store& store, std::string_view tenant);

// Every pack the tenant ever activated, compiled. kCorrupt names one that no longer compiles.
Result<std::map<std::string, PackPtr>> load_stored_packs(const store::Store& store,
                                                         std::string_view tenant);

}  // namespace tollgate::pipeline
