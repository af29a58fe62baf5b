// RocksDB's own log lines: warnings and errors become log events, and what recovery said of a
// damaged file is kept.
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>
#include <mutex>
#include <string>

namespace tollgate::store {

// Thread-safe.
class RocksLog : public rocksdb::Logger {
  public:
    RocksLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

    using rocksdb::Logger::Logv;
    void Logv(const char* format, va_list arguments) override;
    void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;

    // The first line about bytes dropped from a log file, without its folder; empty when none was.
    std::string damage() const;

  private:
    mutable std::mutex mutex_;
    std::string damage_;  // guarded by mutex_
};

}  // namespace tollgate::store
