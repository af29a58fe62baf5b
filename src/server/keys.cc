// Making, finding and revoking API keys.
#include "server/keys.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "text/json_writer.h"
#include "text/utf8.h"

namespace tollgate::server {
namespace {

constexpr std::size_t kTokenSize = 46;  // "tg_" and 32 bytes in base64url without padding
constexpr std::array<std::pair<std::string_view, Scope>, 4> kScopes{{{"assess", Scope::kAssess},
                                                                     {"chat", Scope::kChat},
                                                                     {"read", Scope::kRead},
                                                                     {"admin", Scope::kAdmin}}};

std::string base64url(std::string_view bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char c : bytes) {
        bits = (bits << 8U) | static_cast<std::uint8_t>(c);
        count += 8;
        while (count >= 6) {
            count -= 6;
            out += kDigits[(bits >> static_cast<unsigned>(count)) & 63U];
        }
    }
    if (count > 0) {
        out += kDigits[(bits << static_cast<unsigned>(6 - count)) & 63U];
    }
    return out;
}

std::uint64_t first_bytes(const Digest& digest) {
    std::uint64_t out = 0;
    std::memcpy(&out, digest.data(), sizeof out);
    return out;
}

std::string_view bytes_of(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool plain_name(std::string_view text) {
    const auto alnum = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !text.empty() && text.size() <= 64 && alnum(text.front()) &&
           std::all_of(text.begin(), text.end(),
                       [alnum](char c) { return alnum(c) || c == '_' || c == '.' || c == '-'; });
}

Status check_name(std::string_view what, std::string_view text) {
    if (!plain_name(text)) {
        return Error{
            Fault::kBadInput,
            std::string(what) + " is \"" + printable(text, 80) +
                "\"; 1 to 64 letters, digits, _ . - are allowed, the first a letter or digit"};
    }
    return ok();
}

// Held while a key file is changed, so that two commands do not lose each other's key.
class FileLock {
  public:
    explicit FileLock(const std::string& path)
        : fd_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
        held_ = fd_ >= 0 && ::flock(fd_, LOCK_EX) == 0;
    }
    ~FileLock() {
        if (fd_ >= 0) {
            (void)::close(fd_);
        }
    }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    bool held() const { return held_; }

  private:
    int fd_;
    bool held_ = false;
};

void write_time(JsonWriter& json, std::string_view name, const std::optional<EventTime>& time) {
    json.key(name);
    if (time) {
        json.string(format_rfc3339(*time));
    } else {
        json.null();
    }
}

}  // namespace

Result<Scopes> parse_scopes(std::string_view text) {
    Scopes out = 0;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view name = text.substr(0, comma);
        const auto* found = std::find_if(kScopes.begin(), kScopes.end(),
                                         [name](const auto& scope) { return scope.first == name; });
        if (found == kScopes.end() || has_scope(out, found->second)) {
            return Error{Fault::kBadInput,
                         "scopes has \"" + printable(name, 40) +
                             "\"; each of assess, chat, read, admin may be named once"};
        }
        out = static_cast<Scopes>(out | static_cast<Scopes>(found->second));
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    if (out == 0) {
        return Error{Fault::kBadInput, "scopes is empty; name some of assess, chat, read, admin"};
    }
    return out;
}

std::string to_text(Scopes scopes) {
    std::string out;
    for (const auto& [name, scope] : kScopes) {
        if (has_scope(scopes, scope)) {
            out += out.empty() ? "" : ",";
            out += name;
        }
    }
    return out;
}

KeyTable::KeyTable(std::vector<Key> keys) : keys_(std::move(keys)) {
    by_digest_.reserve(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        by_digest_.emplace(first_bytes(keys_[i].sha256), i);
    }
}

const Key* KeyTable::find(std::string_view token, EventTime now) const {
    if (token.size() != kTokenSize || !token.starts_with("tg_")) {
        return nullptr;
    }
    const Digest digest = sha256(token);
    const auto found = by_digest_.find(first_bytes(digest));
    if (found == by_digest_.end()) {
        return nullptr;
    }
    const Key& key = keys_[found->second];
    const bool same = equal_constant_time(bytes_of(key.sha256), bytes_of(digest));
    return same && key.live(now) ? &key : nullptr;
}

std::string key_file(std::string_view data_dir) {
    return std::string(data_dir) + "/keys.json";
}

Result<CreatedKey> create_key(const std::string& data_dir, const NewKey& wanted, EventTime now) {
    const std::string name = wanted.name.empty() ? wanted.tenant : wanted.name;
    TG_TRY([[maybe_unused]] const auto tenant_ok, check_name("tenant", wanted.tenant));
    TG_TRY([[maybe_unused]] const auto name_ok, check_name("name", name));
    if (wanted.scopes == 0) {
        return Error{Fault::kBadInput, "scopes is empty; name some of assess, chat, read, admin"};
    }
    if (wanted.expires && *wanted.expires <= now) {
        return Error{Fault::kBadInput, "expires is not in the future"};
    }
    const std::string path = key_file(data_dir);
    std::error_code code;
    if (std::filesystem::create_directories(data_dir, code)) {  // keys may come before the server
        std::filesystem::permissions(data_dir, std::filesystem::perms::owner_all, code);
    }
    const FileLock lock(path + ".lock");
    if (!lock.held()) {
        return Error{Fault::kInternal, "cannot lock " + path + ".lock"};
    }
    TG_TRY(std::vector<Key> keys, load_keys(path));
    if (keys.size() >= KeyTable::kMaxKeys) {
        return Error{Fault::kTooLarge, "the key file holds 10000 keys, as many as it may"};
    }
    const auto live = std::count_if(keys.begin(), keys.end(), [&](const Key& key) {
        return key.tenant == wanted.tenant && key.name == name && key.live(now);
    });
    if (live >= 2) {
        return Error{Fault::kConflict, "two keys named " + name + " of tenant " + wanted.tenant +
                                           " are live; revoke one first"};
    }
    CreatedKey out;
    out.token = "tg_" + base64url(random_bytes(32));
    out.key = Key{"k_" + to_hex(random_bytes(8)),
                  name,
                  wanted.tenant,
                  wanted.scopes,
                  sha256(out.token),
                  now,
                  wanted.expires,
                  std::nullopt};
    keys.push_back(out.key);
    TG_TRY([[maybe_unused]] const auto saved, save_keys(path, keys));
    return out;
}

Status revoke_key(const std::string& data_dir, std::string_view id, EventTime now) {
    const std::string path = key_file(data_dir);
    const FileLock lock(path + ".lock");
    if (!lock.held()) {
        return Error{Fault::kInternal, "cannot lock " + path + ".lock"};
    }
    TG_TRY(std::vector<Key> keys, load_keys(path));
    const auto found =
        std::find_if(keys.begin(), keys.end(), [id](const Key& key) { return key.id == id; });
    if (found == keys.end()) {
        return Error{Fault::kNotFound, "no key has the id " + printable(id, 40)};
    }
    if (!found->revoked) {
        found->revoked = now;
    }
    return save_keys(path, keys);
}

std::string keys_json(const std::vector<Key>& keys, EventTime now) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    json.key("keys");
    json.begin_array();
    for (const Key& key : keys) {
        json.begin_object();
        json.key("id");
        json.string(key.id);
        json.key("name");
        json.string(key.name);
        json.key("tenant");
        json.string(key.tenant);
        json.key("scopes");
        json.string(to_text(key.scopes));
        write_time(json, "created", key.created);
        write_time(json, "expires", key.expires);
        write_time(json, "revoked", key.revoked);
        json.key("live");
        json.boolean(key.live(now));
        json.end_object();
    }
    json.end_array();
    json.end_object();
    return out;
}

}  // namespace tollgate::server
