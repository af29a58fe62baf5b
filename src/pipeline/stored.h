// What the pipeline puts into the store's families beside the log, as bytes and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "decision/windows.h"

namespace tollgate::pipeline {

// kEvents: an event id's place in the log and the digest of its canonical event (idempotency
// compares it).
struct KnownEvent {
    std::uint64_t seq = 0;
    std::uint64_t arrival = 0;
    EventTime at;
    Digest digest{};
};
std::string to_bytes(const KnownEvent& known);
std::optional<KnownEvent> parse_known_event(std::string_view bytes);

// kKeys: a window key's rows, and the first arrival number that may not be in the log yet when they
// were written.
struct KeyBlob {
    std::uint64_t floor = 0;
    std::string_view rows;
};
std::string key_name(const WindowStore::KeyRef& key);
std::optional<WindowStore::KeyRef> parse_key_name(std::string_view name);
std::string to_bytes(std::uint64_t floor, std::string_view rows);
KeyBlob parse_key_blob(std::string_view bytes);  // an empty `rows` when malformed

// kMeta "snapshot": recovery loads the keys and replays the log from `seq`.
struct SnapshotMark {
    std::uint64_t seq = 0;  // every log record up to it is in the keys' blobs
    std::string signature;  // of the plan the rows were written with
};
std::string to_bytes(const SnapshotMark& mark);
std::optional<SnapshotMark> parse_snapshot_mark(std::string_view bytes);

// kOutcomes: 'e' of an event that came, 'p' parked.
std::string outcome_key(char kind, const Outcome& outcome);

std::string be64_key(std::uint64_t number);  // sorts as the number

}  // namespace tollgate::pipeline
