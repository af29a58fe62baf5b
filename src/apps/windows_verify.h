// `tollgate windows verify`: the Handbook's window features recomputed and held against published
// values, cell by cell.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/event_row.h"
#include "apps/traffic.h"
#include "base/result.h"
#include "decision/pack.h"
#include "decision/windows.h"

namespace tollgate::apps {

constexpr std::size_t kOracleCells = 12;

// One row of the oracle: count and average amount of the customer over 1, 7 and 30 days, then count
// and risk of the terminal over 1, 7 and 30 days, delayed 7 days.
struct OracleRow {
    std::int64_t id = 0;
    std::array<double, kOracleCells> cells{};
};

// The oracle's rows by TRANSACTION_ID, from a CSV whose columns are found by name.
Result<std::vector<OracleRow>> read_oracle(const std::string& path);

// The pack's windows that are the oracle's columns, found by what they compute (function, key,
// span, delay), not by name. kBadInput names the first that the pack lacks.
Result<std::array<WindowId, kOracleCells>> oracle_windows(const PolicyPack& pack);

// Cells of `values` that are not the oracle's: counts exactly, averages and risks to 1e-6 relative
// or 1e-9 absolute.
std::uint32_t mismatches(const OracleRow& row, const std::array<WindowId, kOracleCells>& windows,
                         const WindowValues& values);
bool same_cell(std::size_t cell, double expected, double found);

struct VerifyOptions {
    std::string input;
    std::string oracle;
    std::uint64_t threads = 1;  // 1..64
    // 1-based row of the input at which the process kills itself; 0: never
    std::uint64_t crash_at = 0;
    std::string policy;  // empty: the embedded handbook pack
    // crash: where the temporary folder is made; empty: TMPDIR or /tmp
    std::string data;
    bool quiet = false;
};

struct VerifyResult {
    std::uint64_t cells = 0;
    std::uint64_t wrong = 0;
    std::uint64_t events = 0;
    std::uint64_t recovered = 0;  // crash: events found in the folder after the kill
};

// What every way of verifying works on; `rows` end with the last one that the oracle has.
struct VerifyInput {
    std::shared_ptr<const PolicyPack> pack;
    std::vector<HandbookRow> rows;  // by (time, id)
    std::vector<OracleRow> oracle;  // by id
    std::array<WindowId, kOracleCells> windows{};
    const OracleRow* expected(std::int64_t id) const;  // null: not in the oracle
};
Result<VerifyInput> read_verify_input(const VerifyOptions& options);

// One WindowStore, `threads` threads that share the customers among them, never more than an hour
// of event time apart.
VerifyResult verify_in_memory(const VerifyInput& input, const VerifyOptions& options);
// Through a data folder, in a child process that is killed at row `crash_at` and started again.
Result<VerifyResult> verify_with_crash(const VerifyInput& input, const VerifyOptions& options);

}  // namespace tollgate::apps
