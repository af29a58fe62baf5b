// Building and reading the blocks of a hot key.
#include "decision/key_blocks.h"

#include <algorithm>

namespace tollgate {

void KeyBlocks::update(const std::uint64_t* rows, std::size_t count, std::size_t words,
                       std::size_t changed) {
    if (count < kFrom || words <= kFirstSlot) {
        cells_.clear();
        blocks_ = 0;
        return;
    }
    const std::size_t slots = words - kFirstSlot;
    blocks_ = std::min(blocks_, changed / kRows);
    const std::size_t whole = count / kRows;
    cells_.resize(whole * slots);
    for (; blocks_ < whole; ++blocks_) {
        for (std::size_t slot = 0; slot < slots; ++slot) {
            RowAggregate block;
            const std::uint64_t* at = rows + blocks_ * kRows * words + kFirstSlot + slot;
            for (std::size_t i = 0; i < kRows; ++i, at += words) {
                block.add(static_cast<std::int64_t>(*at));
            }
            Cell& cell = cells_[blocks_ * slots + slot];
            cell = {.sum = block.sum, .known = block.known, .min = block.min, .max = block.max};
            if (blocks_ > 0) {
                const Cell& before = cells_[(blocks_ - 1) * slots + slot];
                cell.sum += before.sum;
                cell.known += before.known;
            }
        }
    }
}

RowAggregate KeyBlocks::aggregate(const std::uint64_t* rows, std::size_t words, std::size_t begin,
                                  std::size_t end, std::size_t word, bool extremes) const {
    RowAggregate out;
    const auto scan = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
            out.add(static_cast<std::int64_t>(rows[i * words + word]));
        }
    };
    const std::size_t first = (begin + kRows - 1) / kRows;
    const std::size_t last = std::min(end / kRows, blocks_);
    if (last <= first) {
        scan(begin, end);
        return out;
    }
    scan(begin, first * kRows);
    scan(last * kRows, end);
    const std::size_t slots = words - kFirstSlot;
    const Cell* cells = cells_.data() + (word - kFirstSlot);
    const Cell& newest = cells[(last - 1) * slots];
    out.sum += newest.sum;
    out.known += newest.known;
    if (first > 0) {
        out.sum -= cells[(first - 1) * slots].sum;
        out.known -= cells[(first - 1) * slots].known;
    }
    for (std::size_t i = first; extremes && i < last; ++i) {
        out.min = std::min(out.min, cells[i * slots].min);
        out.max = std::max(out.max, cells[i * slots].max);
    }
    return out;
}

}  // namespace tollgate
