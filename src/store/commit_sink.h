// Where the commit thread's groups go: RocksDB, behind the one place that fault switches act on.
#pragma once

#include <rocksdb/write_batch.h>

#include <chrono>
#include <optional>

#include "base/faults.h"
#include "base/result.h"
#include "store/close_signal.h"
#include "store/rocks.h"
#include "store/seams.h"

namespace tollgate::store {

// Commit thread only.
class CommitSink {
  public:
    explicit CommitSink(Rocks& rocks, const FaultSwitches& faults, const Seams* seams,
                        const CloseSignal& closing)
        : rocks_(rocks), faults_(faults), seams_(seams), closing_(closing) {}

    // One attempt to write all of `batch`. An error means that it is not confirmed (part of it may
    // be in the log all the same: the same batch must be written again). Blocks as long as the
    // switches say, or until the close's deadline.
    Status write(rocksdb::WriteBatch& batch, bool sync);

  private:
    Status apply_switches();
    Status write_to_rocks(rocksdb::WriteBatch& batch, bool sync);

    Rocks& rocks_;
    const FaultSwitches& faults_;
    const Seams* seams_;  // may be null
    const CloseSignal& closing_;
    std::optional<std::chrono::steady_clock::time_point> resumed_at_;
};

}  // namespace tollgate::store
