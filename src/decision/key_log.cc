// Rows, labels and the stored form of one window key.
#include "decision/key_log.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"

namespace tollgate {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint64_t kMoreBit = 4;
constexpr std::size_t kNone = SIZE_MAX;

std::uint64_t label_word(Label label, std::int64_t known_at) {
    return static_cast<std::uint64_t>(known_at) << 3U | static_cast<std::uint64_t>(label);
}
Label label_of(std::uint64_t word) {
    return static_cast<Label>(word & 3U);
}
std::int64_t known_at_of(std::uint64_t word) {
    return static_cast<std::int64_t>(word) >> 3U;
}

}  // namespace

std::size_t KeyLog::first_after(std::int64_t time) const noexcept {
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (this->time(middle) <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

std::size_t KeyLog::first_not_before(std::int64_t time, std::uint64_t arrival) const noexcept {
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const std::int64_t at = this->time(middle);
        if (at < time || (at == time && row(middle)[kRowArrival] < arrival)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

std::size_t KeyLog::find(std::int64_t time, std::uint64_t arrival) const noexcept {
    const std::size_t at = first_not_before(time, arrival);
    return at < size() && this->time(at) == time && row(at)[kRowArrival] == arrival ? at : kNone;
}

bool KeyLog::insert(const std::uint64_t* row, std::size_t words) {
    words_per_row_ = words;
    const auto time = static_cast<std::int64_t>(row[kRowTime]);
    const std::size_t count = size();
    if (count == 0 || this->time(count - 1) < time) {
        words_.insert(words_.end(), row, row + words);
        if (words_.size() >= KeyBlocks::kFrom * words) {
            rows_changed(first_ + count);
        }
        return true;
    }
    const std::size_t at = first_not_before(time, row[kRowArrival]);
    if (at < count && this->time(at) == time && this->row(at)[kRowArrival] == row[kRowArrival]) {
        return false;
    }
    words_.insert(words_.begin() + static_cast<std::ptrdiff_t>((first_ + at) * words), row,
                  row + words);
    rows_changed(first_ + at);
    return true;
}

bool KeyLog::erase(std::int64_t time, std::uint64_t arrival) {
    const std::size_t at = find(time, arrival);
    if (at == kNone) {
        return false;
    }
    std::erase_if(more_, [arrival](const MoreLabels& m) { return m.arrival == arrival; });
    const auto begin = words_.begin() + static_cast<std::ptrdiff_t>((first_ + at) * words_per_row_);
    words_.erase(begin, begin + static_cast<std::ptrdiff_t>(words_per_row_));
    rows_changed(first_ + at);
    return true;
}

bool KeyLog::has_arrival_from(std::uint64_t arrival) const noexcept {
    for (std::size_t i = size(); i > 0; --i) {  // the newest are the likeliest
        if (row(i - 1)[kRowArrival] >= arrival) {
            return true;
        }
    }
    return false;
}

void KeyLog::reserve(std::size_t rows, std::size_t words) {
    words_.reserve((first_ + rows) * words);
    blocks_.reserve(first_ + rows, words);
}

std::size_t KeyLog::trim(std::int64_t oldest) {
    const std::size_t dropped = first_after(oldest - 1);
    if (dropped == 0) {
        return 0;
    }
    if (!more_.empty()) {
        for (std::size_t i = 0; i < dropped; ++i) {
            if ((row(i)[kRowLabel] & kMoreBit) != 0) {
                std::erase_if(more_, [arrival = row(i)[kRowArrival]](const MoreLabels& m) {
                    return m.arrival == arrival;
                });
            }
        }
    }
    first_ += dropped;
    if (first_ * words_per_row_ * 2 >= words_.size()) {
        words_.erase(words_.begin(),
                     words_.begin() + static_cast<std::ptrdiff_t>(first_ * words_per_row_));
        first_ = 0;
        if (words_.capacity() > 4 * words_.size() + 64) {
            words_.shrink_to_fit();
        }
        rows_changed(0);
    }
    return dropped;
}

Label KeyLog::label_at(const std::uint64_t* row, std::int64_t now) const noexcept {
    const std::uint64_t word = row[kRowLabel];
    Label best = Label::kNone;
    std::int64_t best_at = INT64_MIN;
    if (label_of(word) != Label::kNone && known_at_of(word) <= now) {
        best = label_of(word);
        best_at = known_at_of(word);
    }
    if ((word & kMoreBit) != 0) {
        auto at = std::lower_bound(
            more_.begin(), more_.end(), row[kRowArrival],
            [](const MoreLabels& m, std::uint64_t arrival) { return m.arrival < arrival; });
        for (; at != more_.end() && at->arrival == row[kRowArrival]; ++at) {
            if (at->known.known_at <= now && at->known.known_at >= best_at) {
                best = at->known.label;
                best_at = at->known.known_at;
            }
        }
    }
    return best;
}

std::vector<KeyLog::KnownLabel> KeyLog::labels_of(const std::uint64_t* row) const {
    std::vector<KnownLabel> out;
    const std::uint64_t word = row[kRowLabel];
    if (label_of(word) != Label::kNone) {
        out.push_back({known_at_of(word), label_of(word)});
    }
    if ((word & kMoreBit) != 0) {
        for (const MoreLabels& more : more_) {
            if (more.arrival == row[kRowArrival]) {
                out.push_back(more.known);
            }
        }
    }
    return out;
}

Status KeyLog::add_label(std::int64_t time, std::uint64_t arrival, Label label,
                         std::int64_t known_at) {
    const std::size_t at = find(time, arrival);
    if (at == kNone) {
        return Error{Fault::kNotFound, "the event is in no window any more"};
    }
    std::uint64_t* row = mutable_row(at);
    if (label_of(row[kRowLabel]) == Label::kNone) {
        row[kRowLabel] = label_word(label, known_at);
        return ok();
    }
    const std::vector<KnownLabel> known = labels_of(row);
    const KnownLabel wanted{known_at, label};
    if (std::find(known.begin(), known.end(), wanted) != known.end()) {
        return ok();
    }
    if (known.size() >= kMaxLabels) {
        return Error{Fault::kTooLarge, "outcomes of one event: " + std::to_string(kMaxLabels) +
                                           " are kept, the bound"};
    }
    row[kRowLabel] |= kMoreBit;
    const auto place =
        std::upper_bound(more_.begin(), more_.end(), arrival,
                         [](std::uint64_t a, const MoreLabels& m) { return a < m.arrival; });
    more_.insert(place, {arrival, wanted});
    return ok();
}

std::size_t KeyLog::bytes() const {
    return words_.capacity() * sizeof(std::uint64_t) + more_.capacity() * sizeof(MoreLabels) +
           blocks_.bytes();
}

std::int64_t KeyLog::newest_time(std::string_view blob) {
    ByteReader reader(blob);
    const std::uint8_t version = reader.u8();
    const std::uint64_t width = reader.varint();
    const std::uint64_t rows = reader.varint();
    if (!reader.ok() || version != kVersion || rows == 0 || width < 4 || width > blob.size() ||
        rows > blob.size() / (width * sizeof(std::uint64_t))) {
        return INT64_MIN;
    }
    (void)reader.raw((rows - 1) * width * sizeof(std::uint64_t));
    const auto time = static_cast<std::int64_t>(reader.u64());
    return reader.ok() ? time : INT64_MIN;
}

void KeyLog::save(std::string& out) const {
    const std::size_t begin = out.size();
    ByteWriter writer(out);
    writer.u8(kVersion);
    writer.varint(words_per_row_);
    writer.varint(size());
    if (size() > 0) {
        for (const std::uint64_t* word = row(0); word != row(0) + size() * words_per_row_; ++word) {
            writer.u64(*word);
        }
    }
    writer.i64(overflow_until_);
    writer.varint(more_.size());
    for (const MoreLabels& more : more_) {
        writer.u64(more.arrival);
        writer.i64(more.known.known_at);
        writer.u8(static_cast<std::uint8_t>(more.known.label));
    }
    const std::uint64_t sum = hash64(std::string_view(out).substr(begin));
    ByteWriter(out).u64(sum);
}

Status KeyLog::load(std::string_view blob, std::size_t words, std::uint64_t before) {
    const Error corrupt{Fault::kCorrupt, "window rows: the stored bytes do not read back"};
    if (blob.size() < 8) {
        return corrupt;
    }
    ByteReader tail(blob.substr(blob.size() - 8));
    const std::string_view body = blob.substr(0, blob.size() - 8);
    if (tail.u64() != hash64(body)) {
        return corrupt;
    }
    ByteReader reader(body);
    const std::uint8_t version = reader.u8();
    const std::uint64_t width = reader.varint();
    const std::uint64_t rows = reader.varint();
    if (version != kVersion || (rows > 0 && width != words) ||
        rows > body.size() / (4 * sizeof(std::uint64_t))) {
        return corrupt;
    }
    KeyLog merged;
    std::vector<std::uint64_t> row(words);
    merged.reserve(static_cast<std::size_t>(rows) + size(), words);
    for (std::uint64_t i = 0; i < rows; ++i) {
        for (std::uint64_t& word : row) {
            word = reader.u64();
        }
        if (!reader.ok()) {
            return corrupt;
        }
        if (row[kRowArrival] < before) {
            (void)merged.insert(row.data(), words);
        }
    }
    merged.overflow_until_ = std::max(overflow_until_, reader.i64());
    const std::uint64_t labels = reader.varint();
    for (std::uint64_t i = 0; i < labels && reader.ok(); ++i) {
        MoreLabels more;
        more.arrival = reader.u64();
        more.known.known_at = reader.i64();
        more.known.label = static_cast<Label>(reader.u8() & 3U);
        if (more.arrival < before) {
            merged.more_.push_back(more);
        }
    }
    if (!reader.ok() || !reader.at_end() ||
        !std::is_sorted(
            merged.more_.begin(), merged.more_.end(),
            [](const MoreLabels& a, const MoreLabels& b) { return a.arrival < b.arrival; })) {
        return corrupt;
    }
    for (std::size_t i = 0; i < size(); ++i) {  // rows recorded while the key was on disk
        const std::uint64_t* mine = this->row(i);
        std::copy(mine, mine + words, row.begin());
        row[kRowLabel] = 0;
        (void)merged.insert(row.data(), words);
        for (const KnownLabel& known : labels_of(mine)) {
            (void)merged.add_label(static_cast<std::int64_t>(mine[kRowTime]), mine[kRowArrival],
                                   known.label, known.known_at);
        }
    }
    *this = std::move(merged);
    return ok();
}

}  // namespace tollgate
