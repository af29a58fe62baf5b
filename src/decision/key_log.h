// KeyLog: the stored events of one window key as fixed-size rows in order of (time, arrival), and
// their labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "decision/event.h"
#include "decision/key_blocks.h"

namespace tollgate {

// Row words: 0 time (UTC us), 1 arrival, 2 event id hash, 3 label word, then the layout's slots.
// Label word: bits 0..1 the label, bit 2 "more labels in the side list", the rest known_at (us).
constexpr std::size_t kRowTime = 0;
constexpr std::size_t kRowArrival = 1;
constexpr std::size_t kRowId = 2;
constexpr std::size_t kRowLabel = 3;

// Not thread-safe: the shard's lock guards it. Rows lie in one array; expired ones are cut off the
// front and the space is reclaimed when it is half of the array, so that a row costs O(1) over its
// life. A late row is inserted in its place.
class KeyLog {
  public:
    static constexpr std::size_t kMaxLabels = 8;  // of one event

    std::size_t size() const {
        return words_per_row_ == 0 ? 0 : words_.size() / words_per_row_ - first_;
    }
    const std::uint64_t* row(std::size_t index) const {
        return words_.data() + (first_ + index) * words_per_row_;
    }
    std::int64_t time(std::size_t index) const {
        return static_cast<std::int64_t>(row(index)[kRowTime]);
    }
    // Index of the first row later than `time`.
    std::size_t first_after(std::int64_t time) const noexcept;
    // Index of the first row that does not come before (time, arrival).
    std::size_t first_not_before(std::int64_t time, std::uint64_t arrival) const noexcept;

    // False when a row of that time and arrival is there already.
    bool insert(const std::uint64_t* row, std::size_t words);
    // Takes a row out again; false when it is not there.
    bool erase(std::int64_t time, std::uint64_t arrival);
    bool has_arrival_from(std::uint64_t arrival) const noexcept;
    void reserve(std::size_t rows, std::size_t words);
    // Rows [begin, end)'s sum, count, min and max of one slot word. Cost: O(1) for the sum of a hot
    // key, else O(rows); one step per 64 rows with `extremes`.
    RowAggregate aggregate(std::size_t begin, std::size_t end, std::size_t word,
                           bool extremes) const {
        return blocks_.aggregate(words_.data(), words_per_row_, first_ + begin, first_ + end, word,
                                 extremes);
    }

    // Drops rows with time < oldest; how many.
    std::size_t trim(std::int64_t oldest);

    // The label known at `now`: of several the one with the latest known_at, of equal ones the last
    // that came.
    Label label_at(const std::uint64_t* row, std::int64_t now) const noexcept;
    // kNotFound without such a row, kTooLarge past kMaxLabels. A label that is there already
    // changes nothing.
    Status add_label(std::int64_t time, std::uint64_t arrival, Label label, std::int64_t known_at);
    struct KnownLabel {
        std::int64_t known_at = 0;
        Label label = Label::kNone;
        friend bool operator==(const KnownLabel&, const KnownLabel&) = default;
        friend bool operator<(const KnownLabel& a, const KnownLabel& b) {
            return a.known_at != b.known_at ? a.known_at < b.known_at : a.label < b.label;
        }
    };
    std::vector<KnownLabel> labels_of(const std::uint64_t* row) const;

    // Past its bound of events a row was dropped: windows that could hold it are unknown for events
    // before this time.
    std::int64_t overflow_until() const { return overflow_until_; }
    void set_overflow_until(std::int64_t time) {
        overflow_until_ = time > overflow_until_ ? time : overflow_until_;
    }

    std::size_t bytes() const;
    // The time of the newest row in bytes that save() wrote, INT64_MIN when there is none or they
    // do not parse (not checked further).
    static std::int64_t newest_time(std::string_view blob);
    // Versioned, checksummed bytes and back. load() merges into what is there, leaving out rows
    // with arrival >= before; kCorrupt, and nothing changed, when the bytes are not what save()
    // wrote for rows of `words` words.
    void save(std::string& out) const;
    Status load(std::string_view blob, std::size_t words, std::uint64_t before);

  private:
    struct MoreLabels {
        std::uint64_t arrival = 0;
        KnownLabel known;
    };
    std::uint64_t* mutable_row(std::size_t index) {
        return words_.data() + (first_ + index) * words_per_row_;
    }
    std::size_t find(std::int64_t time, std::uint64_t arrival) const noexcept;

    void rows_changed(std::size_t from) {
        blocks_.update(words_.data(), words_per_row_ == 0 ? 0 : words_.size() / words_per_row_,
                       words_per_row_, from);
    }

    std::vector<std::uint64_t> words_;
    KeyBlocks blocks_;
    std::size_t words_per_row_ = 0;
    std::int64_t overflow_until_ = INT64_MIN;
    std::size_t first_ = 0;         // rows cut off the front
    std::vector<MoreLabels> more_;  // in order of arrival, then as they came
};

}  // namespace tollgate
