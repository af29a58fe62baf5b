// The log's ring and the JSON line of one record.
#include "base/log_ring.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/time.h"
#include "base/utf8_char.h"

namespace tollgate {
namespace {

enum class Tag : char { kInteger = 'i', kDouble = 'd', kText = 's' };

// Appends to a record's bytes as long as they fit.
class Packer {
  public:
    explicit Packer(LogRecord& record) : record_(record) {}

    std::size_t room() const { return record_.data.size() - record_.used; }
    void put(const void* bytes, std::size_t size) {
        std::memcpy(record_.data.data() + record_.used, bytes, size);
        record_.used = static_cast<std::uint16_t>(record_.used + size);
    }
    // Two bytes of length, then as much of the text as fits; the caller has checked for the two.
    void text(std::string_view text) {
        std::size_t size = std::min(text.size(), room() - sizeof(std::uint16_t));
        if (size < text.size()) {
            record_.cut = true;
            // Not in the middle of a character: step back to its first byte.
            for (int back = 0; back < 3 && size > 0 && (text[size] & 0xC0) == 0x80; ++back) {
                --size;
            }
        }
        const auto kept = static_cast<std::uint16_t>(size);
        put(&kept, sizeof kept);
        put(text.data(), kept);
    }

  private:
    LogRecord& record_;
};

class Unpacker {
  public:
    explicit Unpacker(const LogRecord& record) : rest_(record.data.data(), record.used) {}
    bool at_end() const { return rest_.empty(); }
    template <class T>
    T get() {
        T value{};
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
        return value;
    }
    std::string_view text() {
        const auto size = get<std::uint16_t>();
        const std::string_view out = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return out;
    }

  private:
    std::string_view rest_;
};

void append_quoted(std::string& out, std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out.push_back('"');
    while (!text.empty()) {
        const auto byte = static_cast<unsigned char>(text.front());
        const std::size_t size = utf8_char_size(text);
        if (size == 0) {
            out.append("\xEF\xBF\xBD");
        } else if (byte < 0x20 || byte == 0x7F) {
            out.append("\\u00");
            out.push_back(kHex[byte >> 4U]);
            out.push_back(kHex[byte & 15U]);
        } else {
            if (byte == '"' || byte == '\\') {
                out.push_back('\\');
            }
            out.append(text.substr(0, size));
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    out.push_back('"');
}

template <class T>
void append_number(std::string& out, T value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    out.append(text.data(), end);
}

void append_double(std::string& out, double value) {
    if (std::isfinite(value)) {
        append_number(out, value);
    } else {
        append_quoted(out, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    }
}

constexpr std::string_view name_of(Level level) {
    switch (level) {
        case Level::kInfo:
            return "info";
        case Level::kWarn:
            return "warn";
        case Level::kError:
            return "error";
    }
    return "error";
}

}  // namespace

void LogRecord::fill(std::int64_t now_micros, Level at, std::string_view event,
                     std::initializer_list<Field> fields) noexcept {
    micros = now_micros;
    level = at;
    cut = false;
    used = 0;
    Packer out(*this);
    out.text(event);
    for (const Field& field : fields) {
        // Two lengths, the tag and a number: the least that a field needs beside its key.
        constexpr std::size_t kLeast = 2 * sizeof(std::uint16_t) + 1 + sizeof(double);
        if (out.room() < kLeast + field.key.size()) {
            cut = true;
            return;
        }
        out.text(field.key);
        const auto put_number = [&](Tag tag, const auto& value) {
            out.put(&tag, 1);
            out.put(&value, sizeof value);
        };
        if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
            put_number(Tag::kInteger, *integer);
        } else if (const auto* number = std::get_if<double>(&field.value)) {
            put_number(Tag::kDouble, *number);
        } else if (const auto* text = std::get_if<std::string_view>(&field.value)) {
            const Tag tag = Tag::kText;
            out.put(&tag, 1);
            out.text(*text);
        }
    }
}

void LogRecord::format(std::string& out) const {
    Unpacker in(*this);
    out.append("{\"t\":\"");
    append_rfc3339(out, from_micros(micros));
    out.append("\",\"level\":\"").append(name_of(level)).append("\",\"event\":");
    append_quoted(out, in.text());
    while (!in.at_end()) {
        out.push_back(',');
        append_quoted(out, in.text());
        out.push_back(':');
        switch (in.get<Tag>()) {
            case Tag::kInteger:
                append_number(out, in.get<std::int64_t>());
                break;
            case Tag::kDouble:
                append_double(out, in.get<double>());
                break;
            case Tag::kText:
                append_quoted(out, in.text());
                break;
        }
    }
    out.append(cut ? ",\"cut\":true}" : "}");
}

bool LogRing::push(std::int64_t now_micros, Level level, std::string_view event,
                   std::initializer_list<Field> fields) noexcept {
    std::uint64_t at = head_.load(std::memory_order_relaxed);
    while (true) {
        Slot& slot = slots_[at % kSlots];
        const std::uint64_t free = at / kSlots * 2;
        const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
        if (turn < free) {
            return false;  // still holds the record of the lap before
        }
        if (turn > free) {
            at = head_.load(std::memory_order_relaxed);  // another producer was faster
        } else if (head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
            slot.record.fill(now_micros, level, event, fields);
            slot.turn.store(free + 1, std::memory_order_release);
            return true;
        }
    }
}

bool LogRing::pop(LogRecord& out) noexcept {
    Slot& slot = slots_[tail_ % kSlots];
    const std::uint64_t full = tail_ / kSlots * 2 + 1;
    if (slot.turn.load(std::memory_order_acquire) != full) {
        return false;
    }
    out = slot.record;
    slot.turn.store(full + 1, std::memory_order_release);
    ++tail_;
    return true;
}

}  // namespace tollgate
