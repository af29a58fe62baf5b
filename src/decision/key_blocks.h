// KeyBlocks: running sums and extremes over blocks of a key's rows, so that a hot key's sum() does
// not visit every row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decision/number.h"

namespace tollgate {

// What sum, avg, min and max need of a range of rows; unknown words (INT64_MIN) are left out.
struct RowAggregate {
    Int128 sum = 0;
    std::int64_t known = 0;
    std::int64_t min = INT64_MAX;
    std::int64_t max = INT64_MIN;

    void add(std::int64_t word) {
        if (word != INT64_MIN) {
            sum += word;
            ++known;
            min = word < min ? word : min;
            max = word > max ? word : max;
        }
    }
};

// Blocks of 64 rows over an array of `words` 64-bit words a row, of which the first 4 are no slots.
// Keys with fewer than 512 rows have none. Exact: integer sums, the same as row by row.
class KeyBlocks {
  public:
    static constexpr std::size_t kRows = 64;
    static constexpr std::size_t kFrom = 512;  // rows; a scan of fewer costs under a microsecond
    static constexpr std::size_t kFirstSlot = 4;

    // The rows before `changed` are as they were. Cost: those after it, once.
    void update(const std::uint64_t* rows, std::size_t count, std::size_t words,
                std::size_t changed);
    // Of rows [begin, end) of the array last given to update(). Cost: O(1) for the sum, and one
    // step a block for min and max.
    RowAggregate aggregate(const std::uint64_t* rows, std::size_t words, std::size_t begin,
                           std::size_t end, std::size_t word, bool extremes) const;
    void reserve(std::size_t rows, std::size_t words) {
        if (rows >= kFrom && words > kFirstSlot) {
            cells_.reserve(rows / kRows * (words - kFirstSlot));
        }
    }
    std::size_t bytes() const { return cells_.capacity() * sizeof(Cell); }

  private:
    struct Cell {
        Int128 sum = 0;  // of this block and all before it
        std::int64_t known = 0;
        std::int64_t min = 0;  // of this block
        std::int64_t max = 0;
    };
    std::vector<Cell> cells_;  // block by block, a cell a slot word
    std::size_t blocks_ = 0;
};

}  // namespace tollgate
