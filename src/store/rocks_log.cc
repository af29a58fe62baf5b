// RocksDB's own log lines, formatted into a bounded buffer.
#include "store/rocks_log.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "base/log.h"

namespace tollgate::store {

void RocksLog::Logv(const char* format, va_list arguments) {
    Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
}

void RocksLog::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
    if (level < rocksdb::InfoLogLevel::WARN_LEVEL || level >= rocksdb::InfoLogLevel::HEADER_LEVEL) {
        return;
    }
    std::array<char, 512> buffer{};  // longer lines are cut
    const int size = std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
    if (size <= 0) {
        return;
    }
    const std::string_view line(buffer.data());
    if (line.find("Error when reading ") == 0 && line.find(" dir NotFound") != line.npos) {
        return;  // a new folder: RocksDB looks for files of an earlier run before it makes them
    }
    if (const auto dropping = line.find(": dropping "); dropping != std::string_view::npos) {
        const auto slash = line.rfind('/', dropping);
        const std::scoped_lock lock(mutex_);
        if (damage_.empty()) {
            damage_ = line.substr(slash == std::string_view::npos ? 0 : slash + 1);
        }
    }
    log_event(level == rocksdb::InfoLogLevel::WARN_LEVEL ? Level::kWarn : Level::kError, "rocksdb",
              {{"line", line}});
}

std::string RocksLog::damage() const {
    const std::scoped_lock lock(mutex_);
    return damage_;
}

}  // namespace tollgate::store
