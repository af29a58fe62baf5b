// WindowStore: each key's stored events in memory, and the window values read from them. Check and
// record are one step.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "decision/program.h"
#include "decision/window_def.h"

namespace tollgate {

struct WindowLimits {
    std::size_t memory_bytes = std::size_t{4}
                               << 30;  // over all keys; past it the coldest keys are to be spilled
    std::size_t max_events_per_key =
        1'000'000;  // past it the key's windows are unknown and flagged ("overflow")
    std::size_t max_scan_rows =
        131'072;  // rows an event's windows may visit (`where` counts 8-fold); the rest is unknown
    std::size_t shards = 64;  // power of two
};

constexpr std::size_t kMaxKeySpecs = 8;
constexpr std::size_t kMaxWindows = 200;
constexpr std::size_t kMaxKeeps = 32;

// Where an event's rows are: one key per KeySpec that the event has. Small and copyable; `bytes` is
// the key's text ("account_id" values length-prefixed), bounded by the ids' bounds.
struct EventKeys {
    struct Key {
        KeySpecId spec{};
        std::uint64_t hash = 0;
        std::string bytes;
    };
    std::array<Key, kMaxKeySpecs> keys;
    std::uint8_t count = 0;
};

// What came of one event's windows. Indexed by WindowId; reused between events, nothing is
// allocated after warm-up.
struct WindowValues {
    std::vector<Value> values;       // one per window; string values view into `strings`
    std::vector<std::int64_t> kept;  // micro-units per keep; INT64_MIN is unknown
    std::uint32_t cold_keys = 0;     // keys on disk that were not loaded: their windows are unknown
    std::uint32_t overflow_keys = 0;  // keys past max_events_per_key, windows past max_scan_rows
};

enum class RecordMode : std::uint8_t {
    kRecord,    // compute, then record
    kReadOnly,  // compute only (too late, or a preview)
    kPeek,      // compute only, as the key stands: no current event, whatever a window includes
    kLoad,      // record only (recovery, import): `kept` gives the named numbers of the time
    kImport,    // compute what kept numbers need and those, then record
};

struct WindowEvent {
    EventTime at;
    std::uint64_t arrival = 0;   // the tenant's arrival number: ties in time go by it
    std::uint64_t id_hash = 0;   // hash64(event_id)
    Label label = Label::kNone;  // kLoad: outcome already known, with its date
    EventTime label_known_at{};
};

// Memory and work of the store, per KeySpec and in all, for /metrics and `tollgate windows`.
struct WindowStats {
    struct PerKey {
        std::string name;
        std::uint64_t keys = 0;
        std::uint64_t resident = 0;
        std::uint64_t events = 0;
        std::uint64_t bytes = 0;
    };
    std::vector<PerKey> keys;
    std::uint64_t bytes = 0;
    std::uint64_t spilled_keys = 0;
};

// Thread-safe: a key lives in shard hash % shards; every call locks the shards it touches in
// ascending order. `plan` must outlive the store and may be replaced by one of the same signature
// through use_plan (a new pack's definitions).
class WindowStore {
  public:
    WindowStore(const WindowPlan& plan, const WindowLimits& limits);
    ~WindowStore();
    WindowStore(const WindowStore&) = delete;
    WindowStore& operator=(const WindowStore&) = delete;

    struct KeyRef {
        KeySpecId spec{};
        std::string bytes;
    };

    const WindowPlan& plan() const;

    // The keys of an event, from its field values (FieldId order).
    static void keys_of(const WindowPlan& plan, std::span<const Value> fields, EventKeys& out);

    // Computes every window of `plan` (same signature as the store's) and, with kRecord, records
    // the event, atomically over its keys: of two concurrent events of a key one sees the other.
    // `fields` is the event's row; `input.windows` is ignored. A keep is evaluated after all
    // windows. Windows of keys on disk are unknown and counted; the event is recorded all the same
    // and merged when the key is loaded. Late events are inserted at their own time.
    // Cost: windows without `where` over count/sum: O(log n); the rest O(events in the span), cut
    // off at max_scan_rows.
    void assess(const WindowPlan& plan, const EventKeys& keys, const WindowEvent& event,
                const EvalInput& input, RecordMode mode, WindowValues& out) noexcept;

    // Adds a known label to a recorded event. kNotFound when no row of that time and arrival is
    // there (expired or cold). Several labels of one event are kept; the one with the latest
    // known_at <= the reading time counts.
    Status apply_label(const EventKeys& keys, EventTime at, std::uint64_t arrival, Label label,
                       EventTime known_at);

    // Takes a recorded event out again: its decision could not be kept in any log.
    void forget_event(const EventKeys& keys, EventTime at, std::uint64_t arrival);

    // Drops rows older than `oldest_needed` from the next `keys` keys, round and round; a key
    // without rows is forgotten, and added to `gone` when it may have a blob on disk. Cost: about
    // 200 ns a key.
    void sweep(std::size_t keys, EventTime oldest_needed, std::vector<KeyRef>& gone);

    // --- disk ---
    // Keys of the event that are known to be on disk and not in memory. Cheap (one probe a key).
    void missing(const EventKeys& keys, std::vector<KeyRef>& out) const;
    // Puts a key's stored bytes back (merging rows recorded meanwhile). kCorrupt when they do not
    // parse. Rows with an arrival number >= `before` are left out (recovery: the log may not have
    // them).
    Status load_key(const KeyRef& key, std::string_view blob, std::uint64_t before = UINT64_MAX);
    // Says that a key exists on disk, without loading it (start-up): sweep() forgets it once the
    // blob's newest row has expired.
    void mark_on_disk(const KeyRef& key, std::string_view blob);
    // Visits keys changed since their last export (all of them when `all`) with their serialized
    // rows, an empty blob when the key has none left; returns after `max_keys`. What was visited
    // counts as clean; keys with rows of arrival >= floor, which recovery will leave out, are added
    // to `unsure` for put_back(). For snapshots, background thread.
    struct Unsure {
        std::uint64_t floor = UINT64_MAX;
        std::vector<KeyRef> keys;
    };
    std::size_t export_dirty(std::size_t max_keys, bool all,
                             const std::function<void(const KeyRef&, std::string_view blob)>& visit,
                             Unsure* unsure = nullptr);
    // Chooses the coldest clean keys until memory is below `target_bytes`, drops them from memory,
    // leaving a mark.
    std::size_t evict(std::size_t target_bytes);
    bool over_memory() const;
    // Keys on disk that got rows of their own in memory since the last call: a snapshot must load
    // them first, or it would miss those rows.
    void take_waiting(std::vector<KeyRef>& out);
    // What export_dirty() or take_waiting() gave could not be written or read: it is still due.
    void put_back(std::span<const KeyRef> keys);

    // Events up to this time (us) may be missing because the log no longer holds them: a window
    // that reaches back to it is unknown, never smaller. Any thread.
    void set_complete_from(std::int64_t time);

    // Makes room for `rows` more rows in every key, or for half as many as it has, and for `keys`
    // more keys of `rows` rows each: until they are used up, recording allocates nothing.
    void reserve(std::size_t keys, std::size_t rows);

    WindowStats stats() const;

    // SHA-256 over every resident row, ordered by (key spec, key bytes, time, event id hash):
    // labels and slots included, arrival numbers excluded. Equal sets of events give equal digests
    // whatever order they came in.
    Digest hash() const;
    // Rows of one key in order, for `tollgate windows show`.
    void visit_rows(
        const KeyRef& key,
        const std::function<void(std::span<const std::uint64_t> row, Label label)>& visit) const;

    // A place among a key's rows.
    struct Before {
        EventTime at;
        std::uint64_t arrival = 0;
    };
    // The newest `most` rows of the key that come before that place, newest first, each with the
    // label known at `before.at`. Nothing for a key that is not in memory. `visit` runs under the
    // shard's lock: it must not call back.
    void rows_before(const EventKeys::Key& key, const Before& before, std::size_t most,
                     const std::function<void(const std::uint64_t* row, Label label)>& visit) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Reads one slot of a stored row as a Value (used by `where` programs and by the window functions).
Value read_slot(const RowSlot& slot, const std::uint64_t* row) noexcept;
// Writes a value into a row's slot; unknown, error and out-of-range values are stored as unknown.
void write_slot(const RowSlot& slot, const Value& value, std::uint64_t* row) noexcept;

}  // namespace tollgate
