// API keys: made, stored as hashes in DIR/keys.json, looked up in constant time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"

namespace tollgate::server {

enum class Scope : std::uint8_t { kAssess = 1, kChat = 2, kRead = 4, kAdmin = 8 };
using Scopes = std::uint8_t;  // a set of Scope

constexpr bool has_scope(Scopes scopes, Scope scope) {
    return (scopes & static_cast<Scopes>(scope)) != 0;
}
// "assess,read" -> set; kBadInput names an unknown or repeated scope and the allowed ones.
Result<Scopes> parse_scopes(std::string_view text);
std::string to_text(Scopes scopes);

struct Key {
    std::string id;      // "k_" + 16 hexadecimal digits; names the key in lists, logs and audits
    std::string name;    // chosen by the operator; two live keys of a name make a rotation
    std::string tenant;  // [A-Za-z0-9][A-Za-z0-9_.-]{0,63}
    Scopes scopes = 0;
    Digest sha256{};  // of the printed key; the key itself is kept nowhere
    EventTime created{};
    std::optional<EventTime> expires;
    std::optional<EventTime> revoked;
    bool live(EventTime now) const { return !revoked && (!expires || now < *expires); }
};

struct NewKey {
    std::string tenant;
    std::string name;  // empty: the tenant's name
    Scopes scopes = 0;
    std::optional<EventTime> expires;
};

// The keys of one file, immutable once loaded. At most 10,000.
class KeyTable {
  public:
    static constexpr std::size_t kMaxKeys = 10'000;

    KeyTable() = default;
    explicit KeyTable(std::vector<Key> keys);

    // The live key that `token` ("tg_" and 43 base64url characters) is; nullptr for none. The table
    // is entered by the token's SHA-256, of which all bytes are compared in constant time.
    const Key* find(std::string_view token, EventTime now) const;
    const std::vector<Key>& keys() const { return keys_; }

  private:
    std::vector<Key> keys_;
    std::unordered_map<std::uint64_t, std::size_t> by_digest_;  // first 8 bytes -> index
};

std::string key_file(std::string_view data_dir);  // DIR/keys.json

// An absent file is an empty table. kCorrupt names the file and what is wrong with it.
Result<std::vector<Key>> load_keys(const std::string& path);
// Writes beside, syncs, renames: a reader sees the old file or the new. Mode 0600.
Status save_keys(const std::string& path, const std::vector<Key>& keys);

// For `tollgate key`: each loads, changes and saves the file under a lock of its folder.
struct CreatedKey {
    Key key;
    std::string token;  // shown once
};
// kConflict when two live keys of that name exist; kTooLarge past kMaxKeys.
Result<CreatedKey> create_key(const std::string& data_dir, const NewKey& wanted, EventTime now);
// kNotFound when no key has that id.
Status revoke_key(const std::string& data_dir, std::string_view id, EventTime now);

// {"keys":[{"id","name","tenant","scopes","created","expires","revoked","live"}]}; no hashes.
std::string keys_json(const std::vector<Key>& keys, EventTime now);

}  // namespace tollgate::server
