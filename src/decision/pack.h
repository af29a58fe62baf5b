// PolicyPack: a policy folder, read, hashed, compiled whole and never changed after.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "decision/encoder_text.h"
#include "decision/lists.h"
#include "decision/policy.h"
#include "decision/rates.h"
#include "decision/rules.h"
#include "decision/schema.h"
#include "decision/zones.h"

namespace tollgate {

// Path inside the folder ("rules/card.rules", '/' separated) -> bytes.
using PackFiles = std::map<std::string, std::string>;

struct PackLimits {
    std::size_t max_files = 256;
    std::size_t max_file_bytes = std::size_t{64} << 20;  // lists are the large ones
    std::size_t max_total_bytes = std::size_t{256} << 20;
    std::size_t max_path_bytes = 200;
};

// Regular files only, two levels at most; names that begin with '.' are left out. kBadInput for a
// symbolic link, a file of no known kind or a name with odd characters, kTooLarge over a bound,
// kNotFound without a policy.toml.
Result<PackFiles> read_pack_folder(const std::string& path, const PackLimits& limits = {});

// 64 hexadecimal digits: SHA-256 over (length-prefixed path, length-prefixed content) in order of
// paths.
std::string pack_hash(const PackFiles& files);

// All files as one byte string and back (old packs are kept in the store).
std::string encode_pack(const PackFiles& files);
Result<PackFiles> decode_pack(std::string_view bytes, const PackLimits& limits = {});

// Immutable; any thread.
struct PolicyPack {
    PackFiles files;
    std::string hash;
    Policy policy;
    FieldTable fields{Schema{}};
    ListSet lists;
    std::unique_ptr<CompiledRules> rules;
    Rates rates;
    Zones zones;                                 // by FieldTable::zones()
    Zones policy_zone;                           // one: the pack's own time zone, index 0
    std::unique_ptr<const EncoderText> encoder;  // null: the pack has no encoder.j2
    std::vector<std::string> warnings;           // formatted diagnostics of level warning

    const Schema& schema() const { return policy.schema; }
};

// Compiles a pack whole. Findings of every level go to `out`; with an error among them there is no
// pack, and the Error's message is the first ones. List entries that expire before `now` are found;
// the default looks for none.
Result<std::unique_ptr<const PolicyPack>> load_pack(PackFiles files, std::vector<Diagnostic>& out,
                                                    EventTime now = {});

// What differs, one line each: "rule R017 changed", "window acct_n_10m added", "list vip: 3 added,
// 1 removed", "policy.toml timeouts.model_ms 15 -> 20". Empty when the packs are equal. For
// `tollgate policy diff`.
std::string diff_packs(const PolicyPack& before, const PolicyPack& after);

}  // namespace tollgate
