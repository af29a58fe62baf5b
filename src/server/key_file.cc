// The file DIR/keys.json: read whole, written beside and renamed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/keys.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate::server {
namespace {

constexpr std::size_t kMaxFileBytes = 8U << 20;  // 10,000 keys of about 400 bytes, and room

Error corrupt(const std::string& path, const std::string& what) {
    return Error{Fault::kCorrupt, path + ": " + what};
}

std::optional<Digest> digest_of(std::string_view hex) {
    Digest out{};
    if (hex.size() != 2 * out.size()) {
        return std::nullopt;
    }
    const auto nibble = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    for (std::size_t i = 0; i < out.size(); ++i) {
        const int high = nibble(hex[2 * i]);
        const int low = nibble(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return out;
}

Result<std::string> text_member(const JsonValue& item, std::string_view name) {
    const auto value = item.find(name);
    if (!value || !value->is(JsonKind::kString)) {
        return Error{Fault::kCorrupt, "a key has no text \"" + std::string(name) + "\""};
    }
    return std::string(value->string());
}

Result<std::optional<EventTime>> time_member(const JsonValue& item, std::string_view name) {
    const auto value = item.find(name);
    if (!value || value->is(JsonKind::kNull)) {
        return std::optional<EventTime>();
    }
    if (!value->is(JsonKind::kString)) {
        return Error{Fault::kCorrupt, std::string(name) + " is no text"};
    }
    TG_TRY(const EventTime time, parse_rfc3339(name, value->string()));
    return std::optional<EventTime>(time);
}

Result<Key> key_of(const JsonValue& item) {
    if (!item.is(JsonKind::kObject)) {
        return Error{Fault::kCorrupt, "an entry is no object"};
    }
    Key key;
    TG_TRY(key.id, text_member(item, "id"));
    TG_TRY(key.name, text_member(item, "name"));
    TG_TRY(key.tenant, text_member(item, "tenant"));
    TG_TRY(const std::string scopes, text_member(item, "scopes"));
    TG_TRY(key.scopes, parse_scopes(scopes));
    TG_TRY(const std::string hex, text_member(item, "sha256"));
    const auto digest = digest_of(hex);
    if (!digest) {
        return Error{Fault::kCorrupt, "sha256 of key " + key.id + " is not 64 hexadecimal digits"};
    }
    key.sha256 = *digest;
    TG_TRY(const auto created, time_member(item, "created"));
    key.created = created.value_or(EventTime{});
    TG_TRY(key.expires, time_member(item, "expires"));
    TG_TRY(key.revoked, time_member(item, "revoked"));
    return key;
}

void write_key(JsonWriter& json, const Key& key) {
    const auto text = [&json](std::string_view name, std::string_view value) {
        json.key(name);
        json.string(value);
    };
    json.begin_object();
    text("id", key.id);
    text("name", key.name);
    text("tenant", key.tenant);
    text("scopes", to_text(key.scopes));
    text("sha256", to_hex(key.sha256));
    text("created", format_rfc3339(key.created));
    if (key.expires) {
        text("expires", format_rfc3339(*key.expires));
    }
    if (key.revoked) {
        text("revoked", format_rfc3339(*key.revoked));
    }
    json.end_object();
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

Error cannot(const std::string& what, const std::string& path) {
    return Error{Fault::kInternal, "cannot " + what + " " + path + ": " + std::strerror(errno)};
}

}  // namespace

Result<std::vector<Key>> load_keys(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        std::error_code code;
        if (std::filesystem::exists(path, code)) {
            return Error{Fault::kInternal, "cannot read " + path};
        }
        return std::vector<Key>();
    }
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    JsonDocument document({.max_bytes = kMaxFileBytes, .max_depth = 8, .max_members = 64});
    const auto root = document.parse(text);
    if (!root) {
        return corrupt(path, root.error().message);
    }
    const auto list = root->is(JsonKind::kObject) ? root->find("keys") : std::nullopt;
    if (!list || !list->is(JsonKind::kArray) || list->size() > KeyTable::kMaxKeys) {
        return corrupt(path, "{\"keys\": [...]} with at most 10000 entries is needed");
    }
    std::vector<Key> keys;
    std::optional<Error> fault;
    (void)list->each_item([&](const JsonValue& item) {
        auto key = key_of(item);
        if (!key) {
            fault = key.error();
            return false;
        }
        keys.push_back(*std::move(key));
        return true;
    });
    if (fault) {
        return corrupt(path, fault->message);
    }
    return keys;
}

Status save_keys(const std::string& path, const std::vector<Key>& keys) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.key("keys");
    json.begin_array();
    for (const Key& key : keys) {
        write_key(json, key);
    }
    json.end_array();
    json.end_object();
    text += '\n';

    const std::string beside = path + ".new";
    const int fd = ::open(beside.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        return cannot("write", beside);
    }
    // A file left by an older run keeps its mode through O_TRUNC; the secret's hash is for us
    // alone.
    const bool written = ::fchmod(fd, 0600) == 0 && write_all(fd, text) && ::fsync(fd) == 0;
    if (::close(fd) != 0 || !written || ::rename(beside.c_str(), path.c_str()) != 0) {
        return cannot("write", path);
    }
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const int dir =
        ::open(folder.empty() ? "." : folder.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (dir >= 0) {
        (void)::fsync(dir);
        (void)::close(dir);
    }
    return ok();
}

}  // namespace tollgate::server
