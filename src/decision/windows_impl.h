// WindowStore::Impl: shards of keys. Private to windows.cc and windows_disk.cc.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "decision/key_log.h"
#include "decision/window_scan.h"
#include "decision/windows.h"

namespace tollgate {

struct WindowStore::Impl {
    struct Id {
        KeySpecId spec{};
        std::uint64_t hash = 0;
        std::string bytes;
    };
    struct IdView {
        KeySpecId spec{};
        std::uint64_t hash = 0;
        std::string_view bytes;
    };
    struct IdHash {
        using is_transparent = void;
        std::size_t operator()(const Id& id) const noexcept {
            return static_cast<std::size_t>(id.hash);
        }
        std::size_t operator()(const IdView& id) const noexcept {
            return static_cast<std::size_t>(id.hash);
        }
    };
    struct IdEqual {
        using is_transparent = void;
        template <class A, class B>
        bool operator()(const A& a, const B& b) const noexcept {
            return a.hash == b.hash && a.spec == b.spec &&
                   std::string_view(a.bytes) == std::string_view(b.bytes);
        }
    };
    struct Entry {
        KeyLog log;
        bool cold = false;          // its rows are on disk; `log` holds what was recorded meanwhile
        bool dirty = false;         // changed since its last export, and in Shard::dirty
        bool waiting = false;       // got rows while cold, and in Shard::waiting
        std::uint64_t touched = 0;  // of Impl::clock
        std::int64_t newest_on_disk = INT64_MAX;  // cold: time of its newest row there
        const Id* id = nullptr;
        // The map's node, the key's text and this struct.
        std::size_t overhead() const {
            return sizeof(Entry) + sizeof(Id) + id->bytes.capacity() + 48;
        }
    };
    struct Size {
        std::size_t bytes = 0;
        std::size_t rows = 0;
    };
    static Size size_of(const Entry& entry) { return {entry.log.bytes(), entry.log.size()}; }
    // Running totals of the keys of one KeySpec. Relaxed: for reports and the memory bound.
    struct Totals {
        std::atomic<std::uint64_t> keys{0}, cold{0}, rows{0}, bytes{0};
    };
    using Entries = std::unordered_map<Id, std::unique_ptr<Entry>, IdHash, IdEqual>;
    struct Shard {
        std::mutex mutex;  // guards everything below
        Entries entries;
        std::vector<Entry*> dirty;
        std::vector<Entry*> waiting;
        std::vector<Entries::node_type> spare;  // keys ready made, by reserve()
    };

    // Locks the shards of an event's keys in ascending order, each once.
    class ShardLocks {
      public:
        ShardLocks(Impl& impl, const EventKeys& keys);
        ~ShardLocks();
        ShardLocks(const ShardLocks&) = delete;
        ShardLocks& operator=(const ShardLocks&) = delete;

      private:
        Impl& impl_;
        std::array<std::size_t, kMaxKeySpecs> shards_{};
        std::size_t count_ = 0;
    };
    struct Touched;

    Impl(const WindowPlan& p, const WindowLimits& l) : plan(&p), limits(l), shards(l.shards) {}

    std::size_t shard_index(std::uint64_t hash) const {
        return static_cast<std::size_t>(hash >> 40U) & (limits.shards - 1);
    }
    Shard& shard_of(std::uint64_t hash) { return shards[shard_index(hash)]; }
    static std::uint64_t hash_of(const KeyRef& key) {
        return hash64(key.bytes, static_cast<std::uint64_t>(key.spec) + 1);
    }
    // The shard of the key is locked by the caller, for all that follow.
    Entry* find(const EventKeys::Key& key);
    Entry& find_or_make(const EventKeys::Key& key);
    void changed(Shard& shard, Entry& entry, Size before);
    void resized(const Entry& entry, Size before);
    void set_cold(Entry& entry, bool cold);
    void forget(Shard& shard, Entries::iterator at);
    bool expired(const Entry& entry, std::int64_t oldest) const;

    void touch(const EventKeys& keys, EventTime at, bool create, Touched& touched,
               WindowValues& out);
    void compute(const WindowPlan& p, const WindowEvent& event, const EvalInput& input,
                 const Touched& touched, RecordMode mode, WindowValues& out);
    void record(const WindowPlan& p, const EventKeys& keys, const WindowEvent& event,
                const Touched& touched, const WindowValues& values);

    const WindowPlan* plan;
    WindowLimits limits;
    std::vector<Shard> shards;
    std::array<Totals, kMaxKeySpecs> totals;
    std::size_t sweep_shard = 0;  // where sweep() goes on; its caller's thread
    std::size_t sweep_bucket = 0;
    std::atomic<std::uint64_t> bytes{
        0};  // relaxed: a running total for reports and the memory bound
    std::atomic<std::int64_t> complete_from{INT64_MIN};  // relaxed: set before the rows are used
    std::atomic<std::uint64_t> clock{1};  // relaxed: orders keys by last use, roughly
};

}  // namespace tollgate
