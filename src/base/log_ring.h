// LogRing: fixed slots between the threads that log and the one that writes; lock-free, no memory
// of its own beyond the slots.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/log.h"

namespace tollgate {

// One event as bytes: what the caller's stack held, copied. Strings are cut to fit.
struct LogRecord {
    std::int64_t micros = 0;  // wall clock
    Level level = Level::kInfo;
    bool cut = false;        // something did not fit
    std::uint16_t used = 0;  // bytes of `data`
    std::array<char, 484> data{};

    void fill(std::int64_t now_micros, Level at, std::string_view event,
              std::initializer_list<Field> fields) noexcept;
    // Appends the JSON line without its end: {"t":…,"level":…,"event":…,fields…}. A double that is
    // not finite is written as a string; bytes that are no UTF-8 become U+FFFD.
    void format(std::string& out) const;
};

// A bounded queue for many producers and one consumer (Vyukov's sequence scheme, counted in turns
// so that zeroed memory is an empty queue). Slot i of lap n is free when its turn is 2n and full
// when it is 2n+1.
class LogRing {
  public:
    static constexpr std::size_t kSlots = 4096;  // 2 MiB: a second of 4,096 events/s

    // False when full; then nothing was copied. Never waits for another thread's copy to end.
    bool push(std::int64_t now_micros, Level level, std::string_view event,
              std::initializer_list<Field> fields) noexcept;
    // False when empty. One consumer at a time.
    bool pop(LogRecord& out) noexcept;

  private:
    struct Slot {
        std::atomic<std::uint64_t> turn{0};  // release by the one that is done, acquire by the next
        LogRecord record;
    };
    std::array<Slot, kSlots> slots_{};
    std::atomic<std::uint64_t> head_{0};  // next to push; relaxed, the slot's turn orders the data
    std::uint64_t tail_ = 0;              // next to pop; the consumer's own
};

}  // namespace tollgate
