// Structured log: one event name, typed fields, one line of JSON. Never a sentence, never a
// client's data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace tollgate {

enum class Level : std::uint8_t { kInfo, kWarn, kError };

struct Field {
    std::string_view key;
    std::variant<std::int64_t, double, std::string_view> value;
};

// Copies the fields into a bounded ring and returns; a writer thread (nice 10) formats them. Full
// ring: the event is counted in log_dropped() and lost. Never blocks, never allocates, never
// throws. Values longer than the slot are cut. Before start_log() and after stop_log() lines go
// straight to standard error.
void log_event(Level level, std::string_view event, std::initializer_list<Field> fields) noexcept;

// Starts the writer: `path` empty or "-" means standard error. Lines below `least` are dropped.
Status start_log(const std::string& path, Level least);
void stop_log() noexcept;  // writes what is queued, joins the thread
std::uint64_t log_dropped() noexcept;

}  // namespace tollgate
