// The retryable file system: thin wrappers of the files that are written.
#include "store/retry_files.h"

#include <utility>

namespace tollgate::store {

namespace {

using rocksdb::DataVerificationInfo;
using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;
using FaultFn = std::function<IOStatus(const std::string& file, FileOp op)>;

IOStatus retryable(IOStatus status) {
    if (status.IsNoSpace()) {
        // As an error of its own kind RocksDB would look for room by itself, every 5 s, and refuse
        // Resume() meanwhile.
        status = IOStatus::IOError(status.ToString());
    }
    if (!status.ok() && status.IsIOError()) {
        status.SetRetryable(true);
    }
    return status;
}

// One file; RocksDB serialises the writes to it.
class RetryFile : public rocksdb::FSWritableFileOwnerWrapper {
  public:
    RetryFile(std::unique_ptr<FSWritableFile> target, std::string name, const FaultFn* fault)
        : FSWritableFileOwnerWrapper(std::move(target)), name_(std::move(name)), fault_(fault) {}

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
        IOStatus status = check(FileOp::kAppend);
        return status.ok() ? retryable(target()->Append(data, options, debug)) : status;
    }
    IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo& info,
                    IODebugContext* debug) override {
        IOStatus status = check(FileOp::kAppend);
        return status.ok() ? retryable(target()->Append(data, options, info, debug)) : status;
    }
    IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
        return retryable(target()->Flush(options, debug));
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
        IOStatus status = check(FileOp::kSync);
        return status.ok() ? retryable(target()->Sync(options, debug)) : status;
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        IOStatus status = check(FileOp::kSync);
        return status.ok() ? retryable(target()->Fsync(options, debug)) : status;
    }
    IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
        return retryable(target()->Close(options, debug));
    }

  private:
    IOStatus check(FileOp op) { return *fault_ ? retryable((*fault_)(name_, op)) : IOStatus::OK(); }

    const std::string name_;
    const FaultFn* fault_;  // of the file system, which outlives its files
};

// Thread-safe: keeps no state of its own.
class RetryFiles : public rocksdb::FileSystemWrapper {
  public:
    RetryFiles(const std::shared_ptr<rocksdb::FileSystem>& base, FaultFn fault)
        : FileSystemWrapper(base), fault_(std::move(fault)) {}

    const char* Name() const override { return "TollgateRetryFiles"; }

    IOStatus NewWritableFile(const std::string& file, const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result,
                             IODebugContext* debug) override {
        return wrap(file, target()->NewWritableFile(file, options, result, debug), result);
    }
    IOStatus ReopenWritableFile(const std::string& file, const FileOptions& options,
                                std::unique_ptr<FSWritableFile>* result,
                                IODebugContext* debug) override {
        return wrap(file, target()->ReopenWritableFile(file, options, result, debug), result);
    }

  private:
    IOStatus wrap(const std::string& file, IOStatus made, std::unique_ptr<FSWritableFile>* result) {
        if (made.ok()) {
            *result = std::make_unique<RetryFile>(std::move(*result), file, &fault_);
        }
        return retryable(std::move(made));
    }

    const FaultFn fault_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> make_retry_files(
    const std::shared_ptr<rocksdb::FileSystem>& base,
    std::function<rocksdb::IOStatus(const std::string& file, FileOp op)> fault) {
    return std::make_shared<RetryFiles>(base, std::move(fault));
}

}  // namespace tollgate::store
