// A pack's files: read from a folder, hashed, kept as one byte string.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/bytes.h"
#include "base/hash.h"
#include "decision/describe.h"
#include "decision/pack.h"

namespace tollgate {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kVersion = 1;

Error bad(Fault fault, const std::string& what) {
    return {fault, "policy pack: " + what};
}

// "policy.toml" or "rules/card.rules": one or two parts of letters, digits, '.', '_' and '-', none
// beginning with '.'.
bool is_pack_path(std::string_view path, std::size_t most) {
    if (path.empty() || path.size() > most || std::count(path.begin(), path.end(), '/') > 1) {
        return false;
    }
    bool begins = true;
    for (const char c : path) {
        const bool word =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (begins ? !word : !(word || c == '.' || c == '-' || c == '/')) {
            return false;
        }
        begins = c == '/';
    }
    return !begins;
}

Status check_files(const PackFiles& files, const PackLimits& limits) {
    if (files.size() > limits.max_files) {
        return bad(Fault::kTooLarge, "more than " + std::to_string(limits.max_files) + " files");
    }
    std::size_t total = 0;
    for (const auto& [path, content] : files) {
        if (!is_pack_path(path, limits.max_path_bytes)) {
            return bad(Fault::kBadInput,
                       "path " + short_quote(path) +
                           " is not a file name or folder/name of letters, digits, '.', '_', '-'");
        }
        if (content.size() > limits.max_file_bytes) {
            return bad(Fault::kTooLarge,
                       short_quote(path) + " has " + std::to_string(content.size()) +
                           " bytes, allowed are 0 to " + std::to_string(limits.max_file_bytes));
        }
        total += content.size();
        if (total > limits.max_total_bytes) {
            return bad(Fault::kTooLarge,
                       "more than " + std::to_string(limits.max_total_bytes) + " bytes in all");
        }
    }
    return ok();
}

Result<std::string> read_file(const fs::path& path, std::size_t most) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error || size > most) {
        return error ? bad(Fault::kNotFound, "cannot read " + short_quote(path.filename().string()))
                     : bad(Fault::kTooLarge,
                           short_quote(path.filename().string()) + " has " + std::to_string(size) +
                               " bytes, allowed are 0 to " + std::to_string(most));
    }
    std::ifstream in(path, std::ios::binary);
    std::string content(static_cast<std::size_t>(size), '\0');
    in.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (!in || static_cast<std::size_t>(in.gcount()) != content.size()) {
        return bad(Fault::kNotFound, "cannot read " + short_quote(path.filename().string()));
    }
    return content;
}

Status read_into(PackFiles& files, const fs::path& folder, const std::string& prefix,
                 const PackLimits& limits) {
    std::error_code error;
    fs::directory_iterator at(folder, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (name.starts_with('.')) {
            continue;
        }
        const fs::file_status status = at->symlink_status(error);
        if (error) {
            break;
        }
        if (fs::is_directory(status) && prefix.empty()) {
            TG_TRY(const auto inner, read_into(files, at->path(), name + "/", limits));
            (void)inner;
            continue;
        }
        if (!fs::is_regular_file(status)) {
            return bad(Fault::kBadInput, short_quote(prefix + name) +
                                             " is not a regular file (links and deeper folders "
                                             "are refused)");
        }
        if (files.size() >= limits.max_files) {
            return bad(Fault::kTooLarge,
                       "more than " + std::to_string(limits.max_files) + " files");
        }
        TG_TRY(auto content, read_file(at->path(), limits.max_file_bytes));
        files.emplace(prefix + name, std::move(content));
    }
    if (error) {
        return bad(Fault::kNotFound, "cannot read the folder: " + error.message());
    }
    return check_files(files, limits);  // after each folder, so that the total is bounded as read
}

}  // namespace

Result<PackFiles> read_pack_folder(const std::string& path, const PackLimits& limits) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        return bad(Fault::kNotFound, "no folder " + path);
    }
    PackFiles files;
    TG_TRY(const auto read, read_into(files, path, "", limits));
    (void)read;
    if (!files.contains("policy.toml")) {
        return bad(Fault::kNotFound, "no policy.toml in " + path);
    }
    return files;
}

std::string pack_hash(const PackFiles& files) {
    Sha256 hash;
    std::string length;
    const auto add = [&](const std::string& bytes) {
        length.clear();
        ByteWriter(length).u64(bytes.size());
        hash.update(length);
        hash.update(bytes);
    };
    for (const auto& [path, content] : files) {
        add(path);
        add(content);
    }
    return to_hex(hash.finish());
}

std::string encode_pack(const PackFiles& files) {
    std::string bytes;
    ByteWriter out(bytes);
    out.u8(kVersion);
    out.varint(files.size());
    for (const auto& [path, content] : files) {
        out.bytes(path);
        out.bytes(content);
    }
    return bytes;
}

Result<PackFiles> decode_pack(std::string_view bytes, const PackLimits& limits) {
    ByteReader in(bytes);
    const std::uint8_t version = in.u8();
    const std::uint64_t count = in.varint();
    PackFiles files;
    for (std::uint64_t i = 0; i < count && i <= limits.max_files && in.ok(); ++i) {
        const std::string_view path = in.bytes();
        const std::string_view content = in.bytes();
        files.emplace(path, content);
    }
    if (version != kVersion || !in.ok() || !in.at_end() || files.size() != count) {
        return bad(Fault::kCorrupt, "the stored bytes are not readable");
    }
    TG_TRY(const auto checked, check_files(files, limits));
    (void)checked;
    return files;
}

}  // namespace tollgate
