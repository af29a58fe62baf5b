// Reads the oracle and compares window values with it, on one thread or many.
#include "apps/windows_verify.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <charconv>
#include <cmath>
#include <thread>

#include "apps/cli.h"
#include "apps/line_reader.h"
#include "apps/open_pack.h"
#include "base/hash.h"

namespace tollgate::apps {

namespace {

constexpr std::array<std::string_view, kOracleCells + 1> kColumns{
    "TRANSACTION_ID",
    "CUSTOMER_ID_NB_TX_1DAY_WINDOW",
    "CUSTOMER_ID_AVG_AMOUNT_1DAY_WINDOW",
    "CUSTOMER_ID_NB_TX_7DAY_WINDOW",
    "CUSTOMER_ID_AVG_AMOUNT_7DAY_WINDOW",
    "CUSTOMER_ID_NB_TX_30DAY_WINDOW",
    "CUSTOMER_ID_AVG_AMOUNT_30DAY_WINDOW",
    "TERMINAL_ID_NB_TX_1DAY_WINDOW",
    "TERMINAL_ID_RISK_1DAY_WINDOW",
    "TERMINAL_ID_NB_TX_7DAY_WINDOW",
    "TERMINAL_ID_RISK_7DAY_WINDOW",
    "TERMINAL_ID_NB_TX_30DAY_WINDOW",
    "TERMINAL_ID_RISK_30DAY_WINDOW"};
constexpr std::array<int, 3> kSpanDays{1, 7, 30};
constexpr int kTerminalDelayDays = 7;

std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> out;
    for (;;) {
        const std::size_t comma = line.find(',');
        out.push_back(line.substr(0, comma));
        if (comma == std::string_view::npos) {
            return out;
        }
        line.remove_prefix(comma + 1);
    }
}

// Where each of kColumns is in the header.
Result<std::array<std::size_t, kOracleCells + 1>> places(std::string_view header) {
    const auto names = split(header);
    std::array<std::size_t, kOracleCells + 1> out{};
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
        const auto at = std::find(names.begin(), names.end(), kColumns[i]);
        if (at == names.end()) {
            return Error{Fault::kBadInput, "column " + std::string(kColumns[i]) + " is missing"};
        }
        out[i] = static_cast<std::size_t>(at - names.begin());
    }
    return out;
}

bool parse_oracle_row(std::string_view line, const std::array<std::size_t, kOracleCells + 1>& where,
                      OracleRow& row) {
    const auto fields = split(line);
    const auto read = [&fields](std::size_t at, auto& out) {
        if (at >= fields.size()) {
            return false;
        }
        const std::string_view text = fields[at];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
        return error == std::errc{} && end == text.data() + text.size();
    };
    if (!read(where[0], row.id)) {
        return false;
    }
    for (std::size_t i = 0; i < kOracleCells; ++i) {
        if (!read(where[i + 1], row.cells[i]) || !std::isfinite(row.cells[i])) {
            return false;
        }
    }
    return true;
}

double plain(const Value& value) {
    const bool number = value.kind == ValueKind::kNumber || value.kind == ValueKind::kMoney;
    if (!number) {
        return std::nan("");
    }
    // Money is in minor units; the oracle's amounts are in dollars.
    return to_double(value.number) / (value.kind == ValueKind::kMoney ? 100.0 : 1.0);
}

}  // namespace

Result<std::vector<OracleRow>> read_oracle(const std::string& path) {
    TG_TRY(const auto lines, LineReader::open(path));
    std::string_view line;
    TG_TRY(const bool any, lines->next(line));
    auto where = any ? places(line)
                     : Result<std::array<std::size_t, kOracleCells + 1>>(
                           Error{Fault::kBadInput, "the file is empty"});
    if (!where) {
        return Error{where.error().fault, path + ":1: " + where.error().message};
    }
    std::vector<OracleRow> rows;
    for (;;) {
        TG_TRY(const bool more, lines->next(line));
        if (!more) {
            break;
        }
        OracleRow row;
        if (!parse_oracle_row(line, *where, row)) {
            return Error{Fault::kBadInput, path + ":" + std::to_string(lines->line_number()) +
                                               ": not a row of finite numbers"};
        }
        rows.push_back(row);
    }
    if (rows.empty()) {
        return Error{Fault::kBadInput, path + ": no rows, nothing would be verified"};
    }
    std::sort(rows.begin(), rows.end(),
              [](const OracleRow& a, const OracleRow& b) { return a.id < b.id; });
    return rows;
}

Result<std::array<WindowId, kOracleCells>> oracle_windows(const PolicyPack& pack) {
    const WindowPlan& plan = pack.rules->plan;
    std::array<WindowId, kOracleCells> out{};
    for (std::size_t cell = 0; cell < kOracleCells; ++cell) {
        const bool customer = cell < kOracleCells / 2;
        const bool count = cell % 2 == 0;
        const Micros span = std::chrono::days(kSpanDays[cell / 2 % kSpanDays.size()]);
        const Micros delay = std::chrono::days(customer ? 0 : kTerminalDelayDays);
        const WindowFn fn = count ? WindowFn::kCount : customer ? WindowFn::kAvg : WindowFn::kShare;
        const std::string_view key = customer ? "account_id" : "counterparty.id";
        const auto found =
            std::find_if(plan.windows.begin(), plan.windows.end(), [&](const WindowDef& window) {
                return window.fn == fn && window.span == span && window.delay == delay &&
                       plan.keys[static_cast<std::size_t>(window.key)].name == key &&
                       window.where == nullptr && window.last_n == 0 &&
                       (!customer || window.include_current) &&
                       (fn != WindowFn::kShare || window.share_of == Label::kFraud);
            });
        if (found == plan.windows.end()) {
            return Error{Fault::kBadInput,
                         "the pack has no window that computes " + std::string(kColumns[cell + 1])};
        }
        out[cell] = WindowId{static_cast<std::uint16_t>(found - plan.windows.begin())};
    }
    return out;
}

bool same_cell(std::size_t cell, double expected, double found) {
    if (cell % 2 == 0) {
        return expected == found;
    }
    const double apart = std::abs(expected - found);
    return apart <= 1e-9 || apart <= 1e-6 * std::abs(expected);
}

std::uint32_t mismatches(const OracleRow& row, const std::array<WindowId, kOracleCells>& windows,
                         const WindowValues& values) {
    std::uint32_t wrong = 0;
    for (std::size_t cell = 0; cell < kOracleCells; ++cell) {
        const Value& value = values.values[static_cast<std::size_t>(windows[cell])];
        wrong += same_cell(cell, row.cells[cell], plain(value)) ? 0U : 1U;
    }
    return wrong;
}

const OracleRow* VerifyInput::expected(std::int64_t id) const {
    const auto at =
        std::lower_bound(oracle.begin(), oracle.end(), id,
                         [](const OracleRow& row, std::int64_t wanted) { return row.id < wanted; });
    return at != oracle.end() && at->id == id ? &*at : nullptr;
}

Result<VerifyInput> read_verify_input(const VerifyOptions& options) {
    VerifyInput input;
    TG_TRY(input.pack, open_pack(options.policy, "handbook"));
    TG_TRY(input.windows, oracle_windows(*input.pack));
    TG_TRY(input.oracle, read_oracle(options.oracle));
    TG_TRY(input.rows, read_handbook(options.input));
    std::size_t last = 0;
    std::size_t found = 0;
    for (std::size_t i = 0; i < input.rows.size(); ++i) {
        if (input.expected(input.rows[i].id) != nullptr) {
            last = i + 1;
            ++found;
        }
    }
    if (found != input.oracle.size()) {
        return Error{Fault::kBadInput, options.oracle + ": " +
                                           std::to_string(input.oracle.size() - found) +
                                           " of its rows are not in " + options.input};
    }
    input.rows.resize(last);
    return input;
}

namespace {

constexpr std::int64_t kStepSeconds = 3'600;

// The threads' common state. A thread owns its customers; the terminals' windows are delayed by
// days, so that what other threads record within the hour cannot show in them.
struct Shared {
    const VerifyInput& input;
    std::uint64_t threads;
    WindowStore windows;
    std::barrier<> hour;
    std::atomic<std::uint64_t> done{0};  // rows; relaxed, for progress alone
};

std::size_t end_of_hour(const std::vector<HandbookRow>& rows, std::size_t from) {
    const std::int64_t hour = rows[from].at_s / kStepSeconds;
    std::size_t to = from;
    while (to < rows.size() && rows[to].at_s / kStepSeconds == hour) {
        ++to;
    }
    return to;
}

VerifyResult verify_share(Shared& shared, std::uint64_t thread, ProgressBar* bar) {
    const VerifyInput& input = shared.input;
    EventRow row(*input.pack);
    VerifyResult out;
    for (std::size_t from = 0; from < input.rows.size();) {
        const std::size_t to = end_of_hour(input.rows, from);
        for (std::size_t i = from; i < to; ++i) {
            const HandbookRow& source = input.rows[i];
            if (static_cast<std::uint64_t>(source.customer) % shared.threads != thread) {
                continue;
            }
            const Event event = handbook_event(source);
            const Outcome outcome = handbook_outcome(source);
            row.set(event);
            const OracleRow* expected = input.expected(source.id);
            if (expected == nullptr) {
                (void)row.assess(shared.windows, i + 1, RecordMode::kLoad, outcome.label,
                                 outcome.known_at);
            } else {
                const WindowValues& values = row.assess(shared.windows, i + 1, RecordMode::kRecord);
                out.wrong += mismatches(*expected, input.windows, values);
                out.cells += kOracleCells;
                const Status labelled =
                    row.label(shared.windows, i + 1, outcome.label, outcome.known_at);
                out.wrong += labelled ? 0U : 1U;
            }
            ++out.events;
        }
        const std::uint64_t all =
            shared.done.fetch_add(to - from, std::memory_order_relaxed) / shared.threads;
        if (bar != nullptr) {
            bar->show(static_cast<double>(all) / static_cast<double>(input.rows.size()), all,
                      "events");
        }
        shared.hour.arrive_and_wait();
        from = to;
    }
    return out;
}

}  // namespace

VerifyResult verify_in_memory(const VerifyInput& input, const VerifyOptions& options) {
    Shared shared{.input = input,
                  .threads = options.threads,
                  .windows = WindowStore(input.pack->rules->plan, WindowLimits{}),
                  .hour = std::barrier<>(static_cast<std::ptrdiff_t>(options.threads))};
    std::vector<VerifyResult> parts(options.threads);
    ProgressBar bar("verify", options.quiet);
    {
        std::vector<std::jthread> others;
        for (std::uint64_t t = 1; t < options.threads; ++t) {
            others.emplace_back(
                [&shared, &parts, t] { parts[t] = verify_share(shared, t, nullptr); });
        }
        parts[0] = verify_share(shared, 0, &bar);
    }
    VerifyResult out;
    for (const VerifyResult& part : parts) {
        out.cells += part.cells;
        out.wrong += part.wrong;
        out.events += part.events;
    }
    return out;
}

}  // namespace tollgate::apps
