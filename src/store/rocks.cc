// Opening and closing RocksDB, and its errors in our words.
#include "store/rocks.h"

#include <rocksdb/options.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "store/retry_files.h"
#include "store/rocks_log.h"
#include "store/rocks_options.h"
#include "store/seams.h"

namespace tollgate::store {

namespace {

Error open_error(const std::string& path, const rocksdb::Status& status, const RocksLog& log) {
    const std::string words = status.ToString();
    if (words.find("/LOCK") != std::string::npos) {
        return Error{Fault::kConflict, "data folder '" + path + "' is in use by another process",
                     words};
    }
    if (status.IsCorruption()) {
        const std::string damage = log.damage();
        return Error{Fault::kCorrupt, "data folder '" + path + "' is damaged: " +
                                          (damage.empty() ? words : damage + " (" + words + ")")};
    }
    return Error{Fault::kInternal, "data folder '" + path + "' cannot be opened: " + words};
}

Status prepare_folder(const StoreOptions& options) {
    if (options.path.empty()) {
        return Error{Fault::kBadInput, "data folder: the path is empty"};
    }
    std::error_code code;
    if (options.read_only) {
        if (!std::filesystem::exists(std::filesystem::path(options.path) / "CURRENT", code)) {
            return Error{Fault::kNotFound, "data folder '" + options.path + "' holds no store"};
        }
        return ok();
    }
    const bool made = std::filesystem::create_directories(options.path, code);
    if (made) {  // events and personal values: nobody else's to read
        std::filesystem::permissions(options.path, std::filesystem::perms::owner_all, code);
    }
    if (code) {
        return Error{Fault::kInternal,
                     "data folder '" + options.path + "' cannot be made: " + code.message()};
    }
    return ok();
}

}  // namespace

Error rocks_error(std::string_view what, const rocksdb::Status& status) {
    const bool corrupt = status.IsCorruption();
    return Error{
        corrupt ? Fault::kCorrupt : Fault::kInternal,
        std::string(what) + (corrupt ? ": stored bytes are damaged" : ": the store failed"),
        status.ToString()};
}

Result<std::unique_ptr<Rocks>> Rocks::open(const StoreOptions& options) {
    const Seams none;
    const Seams& seams = options.seams == nullptr ? none : *options.seams;
    if (!seams.files) {
        TG_TRY(const auto folder, prepare_folder(options));
        (void)folder;
    }
    std::unique_ptr<Rocks> out(new Rocks());
    out->read_only_ = options.read_only;
    out->env_ = rocksdb::NewCompositeEnv(make_retry_files(
        seams.files ? seams.files : rocksdb::FileSystem::Default(), seams.file_fault));
    bound_background_threads(*out->env_);
    const auto log = std::make_shared<RocksLog>();
    auto database = database_options(options, out->env_.get(), log);
    database.wal_filter = &out->wal_order_;
    const auto families = family_options(options);
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    const rocksdb::Status status =
        options.read_only
            ? rocksdb::DB::OpenForReadOnly(database, options.path, families, &handles, &raw)
            : rocksdb::DB::Open(database, options.path, families, &handles, &raw);
    if (!status.ok()) {
        return open_error(options.path, status, *log);
    }
    out->db_.reset(raw);
    TG_CHECK(handles.size() == kFamilies + 1, "one handle a column family");
    out->db_->DestroyColumnFamilyHandle(handles.front());
    out->families_.assign(handles.begin() + 1, handles.end());
    return out;
}

Status Rocks::flush_memtables() {
    rocksdb::FlushOptions options;
    options.allow_write_stall = true;  // waits for its own work, not for compactions
    if (const auto status = db_->Flush(options, families_); !status.ok()) {
        return rocks_error("flush of the memtables", status);
    }
    return ok();
}

Status Rocks::flush_if_unlogged() {
    if (!unlogged_.exchange(false, std::memory_order_acq_rel)) {
        return ok();
    }
    auto flushed = flush_memtables();
    if (!flushed) {
        unlogged_.store(true, std::memory_order_release);
    }
    return flushed;
}

void Rocks::close(bool abandon) {
    if (!db_) {
        return;
    }
    if (!read_only_ && !abandon) {
        if (const auto flushed = flush_memtables(); !flushed) {
            log_event(Level::kError, "store_close_failed", {{"error", flushed.error().detail}});
        }
    }
    for (rocksdb::ColumnFamilyHandle* family : families_) {
        (void)db_->DestroyColumnFamilyHandle(family);
    }
    families_.clear();
    if (const auto status = db_->Close(); !status.ok()) {
        log_event(Level::kError, "store_close_failed", {{"error", status.ToString()}});
    }
    db_.reset();
}

Rocks::~Rocks() {
    close(false);
}

}  // namespace tollgate::store
