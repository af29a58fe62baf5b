// KeyLog's blocks against a look at every row, through late rows, trims and the stored form.
#include "decision/key_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace tollgate {
namespace {

constexpr std::size_t kWords = 7;

struct Rows {
    KeyLog log;
    std::vector<std::array<std::uint64_t, kWords>> model;  // in order of (time, arrival)

    void insert(std::int64_t time, std::uint64_t arrival, std::mt19937_64& random) {
        std::array<std::uint64_t, kWords> row{static_cast<std::uint64_t>(time), arrival, arrival};
        for (std::size_t word = 4; word < kWords; ++word) {
            const bool unknown = random() % 5 == 0;
            row[word] =
                unknown
                    ? static_cast<std::uint64_t>(INT64_MIN)
                    : static_cast<std::uint64_t>(static_cast<std::int64_t>(random() % 2001) - 1000);
        }
        ASSERT_TRUE(log.insert(row.data(), kWords));
        const auto place =
            std::upper_bound(model.begin(), model.end(), row, [](const auto& a, const auto& b) {
                return std::pair(a[kRowTime], a[kRowArrival]) <
                       std::pair(b[kRowTime], b[kRowArrival]);
            });
        model.insert(place, row);
    }

    void check(const KeyLog& of, std::size_t begin, std::size_t end) const {
        for (std::size_t word = 4; word < kWords; ++word) {
            RowAggregate wanted;
            for (std::size_t i = begin; i < end; ++i) {
                wanted.add(static_cast<std::int64_t>(model[i][word]));
            }
            const RowAggregate sums = of.aggregate(begin, end, word, false);
            ASSERT_TRUE(sums.sum == wanted.sum && sums.known == wanted.known)
                << "rows " << begin << ".." << end << " word " << word;
            const RowAggregate all = of.aggregate(begin, end, word, true);
            ASSERT_EQ(all.min, wanted.min) << "rows " << begin << ".." << end;
            ASSERT_EQ(all.max, wanted.max) << "rows " << begin << ".." << end;
        }
    }

    void check_some(const KeyLog& of, std::mt19937_64& random) const {
        ASSERT_EQ(of.size(), model.size());
        for (int i = 0; i < 8; ++i) {
            const std::size_t a = random() % (model.size() + 1);
            const std::size_t b = random() % (model.size() + 1);
            check(of, std::min(a, b), std::max(a, b));
        }
        check(of, 0, model.size());
    }
};

TEST(KeyLog, BlocksAddUpToTheRowsThroughLateRowsAndTrims) {
    std::mt19937_64 random(7);
    Rows rows;
    std::int64_t now = 1'000'000;
    for (std::uint64_t arrival = 1; arrival <= 6'000; ++arrival) {
        now += static_cast<std::int64_t>(random() % 3);
        const bool late = random() % 40 == 0;
        rows.insert(late ? now - static_cast<std::int64_t>(random() % 1'500) : now, arrival,
                    random);
        if (arrival % 97 == 0) {
            const std::int64_t oldest = now - 2'500;
            (void)rows.log.trim(oldest);
            std::erase_if(rows.model, [oldest](const auto& row) {
                return static_cast<std::int64_t>(row[kRowTime]) < oldest;
            });
        }
        if (arrival % 50 == 0) {
            rows.check_some(rows.log, random);
        }
    }
    EXPECT_GT(rows.model.size(), KeyBlocks::kFrom) << "else no blocks were made";
    std::string blob;
    rows.log.save(blob);
    EXPECT_EQ(KeyLog::newest_time(blob), static_cast<std::int64_t>(rows.model.back()[kRowTime]));
    KeyLog loaded;
    ASSERT_TRUE(loaded.load(blob, kWords, UINT64_MAX));
    rows.check_some(loaded, random);
}

TEST(KeyLog, NewestTimeOfBytesThatAreNoRows) {
    EXPECT_EQ(KeyLog::newest_time(""), INT64_MIN);
    EXPECT_EQ(KeyLog::newest_time(std::string(40, '\xff')), INT64_MIN);
    std::mt19937_64 random(3);
    for (int i = 0; i < 2'000; ++i) {
        std::string bytes(random() % 64, '\0');
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
        if (!bytes.empty()) {
            bytes[0] = 1;  // the version it looks for
        }
        (void)KeyLog::newest_time(bytes);  // in bounds: the sanitizers watch
    }
}

}  // namespace
}  // namespace tollgate
