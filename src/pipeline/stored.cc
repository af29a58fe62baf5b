// Byte forms of the pipeline's own stored values.
#include "pipeline/stored.h"

#include <algorithm>

#include "base/bytes.h"

namespace tollgate::pipeline {

std::string to_bytes(const KnownEvent& known) {
    std::string out;
    out.reserve(56);
    ByteWriter writer(out);
    writer.u64(known.seq);
    writer.u64(known.arrival);
    writer.i64(to_micros(known.at));
    for (const std::uint8_t byte : known.digest) {
        writer.u8(byte);
    }
    return out;
}

std::optional<KnownEvent> parse_known_event(std::string_view bytes) {
    ByteReader reader(bytes);
    KnownEvent known;
    known.seq = reader.u64();
    known.arrival = reader.u64();
    known.at = from_micros(reader.i64());
    const std::string_view digest = reader.raw(known.digest.size());
    if (!reader.ok() || !reader.at_end()) {
        return std::nullopt;
    }
    std::copy(digest.begin(), digest.end(), known.digest.begin());
    return known;
}

std::string key_name(const WindowStore::KeyRef& key) {
    std::string name(1, static_cast<char>(key.spec));
    name += key.bytes;
    return name;
}

std::optional<WindowStore::KeyRef> parse_key_name(std::string_view name) {
    if (name.empty() || static_cast<std::uint8_t>(name[0]) >= kMaxKeySpecs) {
        return std::nullopt;
    }
    return WindowStore::KeyRef{.spec = static_cast<KeySpecId>(name[0]),
                               .bytes = std::string(name.substr(1))};
}

std::string to_bytes(std::uint64_t floor, std::string_view rows) {
    std::string out;
    out.reserve(rows.size() + 8);
    ByteWriter(out).u64(floor);
    out += rows;
    return out;
}

KeyBlob parse_key_blob(std::string_view bytes) {
    ByteReader reader(bytes);
    const std::uint64_t floor = reader.u64();
    return reader.ok() ? KeyBlob{.floor = floor, .rows = bytes.substr(8)} : KeyBlob{};
}

std::string to_bytes(const SnapshotMark& mark) {
    std::string out;
    ByteWriter writer(out);
    writer.u64(mark.seq);
    writer.bytes(mark.signature);
    return out;
}

std::optional<SnapshotMark> parse_snapshot_mark(std::string_view bytes) {
    ByteReader reader(bytes);
    SnapshotMark mark;
    mark.seq = reader.u64();
    mark.signature = std::string(reader.bytes());
    if (!reader.ok() || !reader.at_end()) {
        return std::nullopt;
    }
    return mark;
}

std::string outcome_key(char kind, const Outcome& outcome) {
    std::string key(1, kind);
    ByteWriter writer(key);
    writer.bytes(outcome.event_id);
    writer.bytes(outcome.outcome_id);
    return key;
}

std::string be64_key(std::uint64_t number) {
    std::string key;
    ByteWriter(key).be64(number);
    return key;
}

}  // namespace tollgate::pipeline
