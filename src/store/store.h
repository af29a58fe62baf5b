// The store: one append log per tenant and key-value views of it in RocksDB, written by one commit
// thread. It knows bytes and time, nothing of money. The only room that may include RocksDB.
//
// Metrics (seconds, commits; `le` as in base/metrics.h unless said):
//   tollgate_store_commit_seconds   histogram  from submit() to the confirmed write, one per commit
//   tollgate_store_group_size       histogram  commits in one RocksDB write; le 1 2 4 ... 256
//   tollgate_store_queue_depth      gauge      commits accepted and not yet confirmed
//   tollgate_store_failures_total   counter    write attempts that failed; each is tried again
//   tollgate_store_refused_total    counter    commits refused because the journal was full
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/faults.h"
#include "base/hash.h"
#include "base/metrics.h"
#include "base/result.h"

namespace tollgate::store {

// Column families. Every stored key is (varint length + tenant bytes) + key: no call can reach
// another tenant's data.
enum class Family : std::uint8_t {
    // be64(seq) -> chain digest (32 bytes) + canonical record; written through Commit::record only
    kLog,
    kReplies,   // be64(seq) -> the answer's body, byte for byte
    kEvents,    // event id -> where the event is (idempotency, outcomes)
    kKeys,      // window key -> its stored events (snapshots and cold keys)
    kAccounts,  // account id -> limit and block
    kOutcomes,  // parked outcomes of events that have not come yet
    kPersonal,  // be64(seq) -> personal values and their salts (erasable)
    kMeta,      // names of our own: snapshot marks, active policy, keys; none begins with a zero
                // byte (those are the store's, and scan() skips them)
};

struct Put {
    Family family = Family::kMeta;
    std::string key;
    std::string value;
    bool erase = false;  // delete `key`; `value` unused
};

// kOs: written to the operating system (survives kill -9); kFsync: and to the disk.
enum class Durability : std::uint8_t { kOs, kFsync };

struct Seams;  // store/seams.h

// One decision's (or outcome's, or change's) write: all of it or none. Commits reach the log in the
// order of submit().
struct Commit {
    std::string tenant;  // at most 255 bytes
    // > 0: append `record` to the tenant's log at seq, which must be last_seq + 1 in queue order (a
    // programmer's error otherwise). 0: `puts` only.
    std::uint64_t seq = 0;
    std::string record;  // canonical record
    std::vector<Put> puts;
    Durability durability = Durability::kOs;
    // Called once, on the commit thread, when the write is confirmed and can be read (and only
    // then). Must not block; may submit(). May be empty. What it captures must outlive the Store or
    // a flush().
    std::function<void()> done;
};

struct StoreOptions {
    std::string path;                        // folder, made if absent (unless read_only)
    std::size_t journal_capacity = 100'000;  // commits queued at the most (promise 3)
    std::size_t journal_bytes = std::size_t{512} << 20U;  // and their keys and values together
    std::size_t read_queue_capacity = 4096;
    std::size_t block_cache_bytes = 64U << 20;
    // Takes no lock and writes nothing: a view as of now, also of a folder in use. submit() and
    // post-open writes are refused.
    bool read_only = false;
    const Seams* seams = nullptr;  // tests only (store/seams.h); must outlive the Store
};

// What /readyz and /metrics say of the commit thread.
struct StoreHealth {
    std::size_t queued = 0;                    // commits not yet confirmed
    std::chrono::microseconds oldest_wait{0};  // age of the oldest of them
    bool failing = false;                      // the last write attempt failed
    std::string last_error;                    // for the operator
    std::uint64_t commits = 0;
    std::uint64_t batches = 0;  // RocksDB writes; commits / batches = group size
    std::uint64_t failures = 0;
};

struct LogEntry {
    std::uint64_t seq = 0;
    Digest chain{};           // SHA-256(chain of seq-1, zero for the first || SHA-256(record))
    std::string_view record;  // valid during the visit
};

// Thread-safe. Commit thread: takes what is queued as one group (bounded: 256 commits or 4 MiB),
// one WriteBatch with no_slowdown; a failed write (disk full, stall, I/O error) keeps the group and
// tries again every 20 ms for as long as it takes, so what was accepted is written once the store
// returns. A group that needs no fsync never waits for one: it ends before the first kFsync commit.
class Store {
  public:
    // kCorrupt / kInternal with the path and RocksDB's own words; kConflict, "in use by another
    // process", when the lock is held; kNotFound for a read-only open of no folder. A log torn at
    // its end (kill -9) opens; one damaged before its end is kCorrupt and names the file.
    static Result<std::unique_ptr<Store>> open(const StoreOptions& options, FaultSwitches& faults,
                                               Metrics& metrics);
    // Runs what post_read() took, drains the queue for at most 5 s, flushes, then says in the log
    // what was left.
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // False, and the commit untouched, when the journal is full or the store read-only. Never
    // blocks on the disk.
    bool submit(Commit& commit);
    // Waits until everything submitted so far is confirmed and its `done` has returned, or `wait`
    // has passed (kTimeout). Not from a `done`.
    Status flush(std::chrono::milliseconds wait);
    StoreHealth health() const;

    // Runs f once on the store's read thread, in order. False when the read queue is full.
    bool post_read(std::function<void()> f);

    // Blocking reads, any thread but io.
    Result<std::optional<std::string>> get(Family family, std::string_view tenant,
                                           std::string_view key) const;
    // Visits keys >= from (within the tenant) in order until visit returns false.
    Status scan(
        Family family, std::string_view tenant, std::string_view from,
        const std::function<bool(std::string_view key, std::string_view value)>& visit) const;
    // Visits the log from from_seq (or the first entry kept) on, in order. kCorrupt names the first
    // sequence number that is missing or malformed.
    Status read_log(std::string_view tenant, std::uint64_t from_seq,
                    const std::function<bool(const LogEntry&)>& visit) const;
    // 0: empty log. Confirmed writes only; from memory.
    Result<std::uint64_t> last_seq(std::string_view tenant) const;
    // That own anything in kLog or kMeta, in order of name.
    Result<std::vector<std::string>> tenants() const;

    // Synchronous write outside the queue for bulk import and snapshots (background threads), all
    // or none. `records` are appended to the tenant's log from first_seq on, which must be
    // last_seq + 1 with no record queued for that tenant (kConflict), nor submitted before this
    // returns (a programmer's error). Waits where RocksDB wants writers to slow down. With `wal`
    // false the write is durable only after sync_bulk() (import); until then a crash may lose it,
    // as a whole suffix. A commit or a bulk write with `wal` that follows does the sync_bulk()
    // itself, so that the log never has a hole.
    struct Bulk {
        std::string tenant;
        std::uint64_t first_seq = 0;
        std::vector<std::string> records;
        std::vector<Put> puts;
        bool wal = true;
    };
    Status write_bulk(const Bulk& bulk);
    Status sync_bulk();  // flushes memtables written without a write-ahead log

    // Recomputes the chain over [from_seq, last], from the first entry kept when that is later;
    // kCorrupt names the first sequence number that does not fit.
    Status verify_chain(std::string_view tenant, std::uint64_t from_seq) const;
    // Deletes log, replies and personal values below `seq` (retention); `seq` at most last_seq + 1.
    // The chain's value at seq-1 is kept. Background threads.
    Status drop_below(std::string_view tenant, std::uint64_t seq);
    // Bytes on disk, for /metrics. Reads the folder: background threads.
    std::uint64_t disk_bytes() const;

  private:
    struct Impl;
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate::store
