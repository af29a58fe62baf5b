// One write attempt: fault switches, RocksDB, and the way back from its error state.
#include "store/commit_sink.h"

namespace tollgate::store {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kFrozenLook{20};
// Resume() flushes memtables: on a disk that is still full it makes a file and fails, which is too
// much for every attempt.
constexpr milliseconds kResumeEvery{250};

}  // namespace

Status CommitSink::apply_switches() {
    while (faults_.store_frozen.load(std::memory_order_relaxed)) {
        if (!closing_.pause(kFrozenLook)) {
            return Error{Fault::kTimeout, "the store is frozen", "fault switch store_frozen"};
        }
    }
    const microseconds delay{faults_.store_delay_us.load(std::memory_order_relaxed)};
    if (delay.count() > 0 && !closing_.pause(delay)) {
        return Error{Fault::kTimeout, "the store is slow", "fault switch store_delay_us"};
    }
    if (faults_.store_full.load(std::memory_order_relaxed)) {
        return Error{Fault::kInternal, "write: the store failed",
                     "IO error: No space left on device (fault switch store_full)"};
    }
    if (seams_ != nullptr && seams_->before_write) {
        return seams_->before_write();
    }
    return ok();
}

Status CommitSink::write_to_rocks(rocksdb::WriteBatch& batch, bool sync) {
    TG_TRY(const auto flushed, rocks_.flush_if_unlogged());
    (void)flushed;
    rocksdb::WriteOptions options;
    options.sync = sync;
    options.no_slowdown = true;
    rocksdb::Status status = rocks_.db().Write(options, &batch);
    if (status.ok()) {
        resumed_at_.reset();
        return ok();
    }
    // Incomplete is no_slowdown's answer and passes by itself; anything else leaves RocksDB in an
    // error state that only Resume() ends.
    const auto now = std::chrono::steady_clock::now();
    if (!status.IsIncomplete() && (!resumed_at_ || now - *resumed_at_ >= kResumeEvery)) {
        resumed_at_ = now;
        if (rocks_.db().Resume().ok()) {
            status = rocks_.db().Write(options, &batch);
        }
    }
    if (!status.ok()) {
        return rocks_error("write", status);
    }
    return ok();
}

Status CommitSink::write(rocksdb::WriteBatch& batch, bool sync) {
    TG_TRY(const auto allowed, apply_switches());
    (void)allowed;
    return write_to_rocks(batch, sync);
}

}  // namespace tollgate::store
