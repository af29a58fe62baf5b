// The commit thread: the journal of accepted commits, their groups, the ends of all logs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/metrics.h"
#include "base/result.h"
#include "store/close_signal.h"
#include "store/commit_sink.h"
#include "store/store.h"

namespace tollgate::store {

// The end of one tenant's log.
struct Tail {
    std::uint64_t seq = 0;       // confirmed
    Digest chain{};              // at `seq`
    std::uint64_t accepted = 0;  // seq, or what is queued behind it
    bool bulk = false;           // a write_bulk() is appending
};

struct CommitterMetrics {
    explicit CommitterMetrics(Metrics& metrics);
    Histogram commit_seconds;
    Histogram group_size;
    Gauge queue_depth;
    Counter failures;
    Counter refused;
};

// Thread-safe. mutex_ guards everything said to be guarded; a tail's chain besides belongs to who
// appends to that log: the commit thread while records are queued, else write_bulk().
class Committer {
  public:
    struct Limits {
        std::size_t commits = 0;
        std::size_t bytes = 0;
    };

    Committer(Rocks& rocks, CommitSink& sink, const CloseSignal& closing, Limits limits,
              Metrics& metrics);
    ~Committer();
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    // Before start(), for every log that has a beginning.
    void set_tail(const std::string& tenant, std::uint64_t seq, const Digest& chain);
    void start();
    // Ends the thread once the journal is empty or the CloseSignal's deadline has passed; returns
    // how many commits were left.
    std::size_t stop();

    bool submit(Commit& commit);
    Status flush(std::chrono::milliseconds wait);
    StoreHealth health() const;
    std::uint64_t last_seq(std::string_view tenant) const;

    // Reserves the tenant's log for `count` entries from first_seq on and gives the chain before
    // them. kConflict when the log ends elsewhere or records are queued for it.
    Result<Digest> begin_bulk(const std::string& tenant, std::uint64_t first_seq,
                              std::uint64_t count);
    // Ends the reservation: at `seq` and `chain` when written, where it was otherwise.
    void end_bulk(const std::string& tenant, bool written, std::uint64_t seq, const Digest& chain);

  private:
    using Clock = std::chrono::steady_clock;
    struct Item {
        Commit commit;
        Tail* tail = nullptr;  // of a record's tenant; a map's nodes stay where they are
        Clock::time_point at;
        std::size_t bytes = 0;
    };
    using Group = std::vector<Item>;
    struct NewEnd {
        Tail* tail = nullptr;
        std::uint64_t seq = 0;
        Digest chain{};
    };

    void run();
    bool take_group(Group& group);
    void add_to_batch(const Item& item, std::vector<NewEnd>& ends, rocksdb::WriteBatch& batch);
    bool write_until_done(rocksdb::WriteBatch& batch, bool sync);
    void note_failure(const Error& error);
    void confirm(Group& group, const std::vector<NewEnd>& ends);

    Rocks& rocks_;
    CommitSink& sink_;
    const CloseSignal& closing_signal_;
    const Limits limits_;
    const CommitterMetrics metrics_;

    mutable std::mutex mutex_;  // guards all below but thread_
    std::condition_variable work_;
    std::condition_variable confirmed_more_;
    std::map<std::string, Tail, std::less<>> tails_;
    std::deque<Item> queue_;
    std::size_t queue_bytes_ = 0;     // with the group in flight
    std::size_t in_flight_ = 0;       // commits of the group being written
    Clock::time_point in_flight_at_;  // when the oldest of them was submitted
    std::uint64_t submitted_ = 0;
    std::uint64_t finished_ = 0;  // confirmed, and `done` has returned
    bool closing_ = false;
    bool failing_ = false;
    std::string last_error_;
    std::uint64_t commits_ = 0;
    std::uint64_t batches_ = 0;
    std::uint64_t failures_ = 0;

    std::thread thread_;
};

}  // namespace tollgate::store
