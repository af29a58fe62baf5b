// Simulator: a stream of labelled payments, transfers and applications, equal for equal seeds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace tollgate::pipeline {

// What `tollgate simulate` takes. docs/simulator.md says what each scenario is.
struct SimulateOptions {
    std::uint64_t seed = 1;
    std::uint64_t events = 100'000;  // lines, exactly; 1 .. 200,000,000
    EventTime start{std::chrono::sys_days{std::chrono::year{2026} / 11 / 1}};
    int days = 30;                    // 1 .. 3,660
    std::uint32_t customers = 5'000;  // 100 .. 10,000,000
    std::uint32_t terminals = 2'000;  // 100 .. 1,000,000
    double fraud_share = 0.01;        // of the lines; 0 .. 0.3
    bool with_outcomes = true;        // false: every outcome is null
};

// Errors: kBadInput naming the option, its value and its range. The run must begin at a whole
// millisecond, not before 1970, and end before 2199.
Status validate(const SimulateOptions& options);

// Yields the lines of one run in order of occurred_at. Same options, same bytes, on every machine:
// integer arithmetic only, no std:: distribution.
//
// Memory: a minute of background and the campaigns under way (kMaxPending events, about 100 MB, at
// the very most); it does not grow with customers or terminals. Not thread-safe.
class Simulator {
  public:
    // No new campaign begins while that many events wait for their time.
    static constexpr std::size_t kMaxPending = 1'000'000;

    // TG_CHECK: the options are valid.
    explicit Simulator(const SimulateOptions& options);
    ~Simulator();
    Simulator(Simulator&&) noexcept;
    Simulator& operator=(Simulator&&) noexcept;

    // Replaces `json_line` by the next line, without a line end; false, and it is empty, after
    // the last one. Allocates nothing per line once the string and the queues have grown.
    bool next(std::string& json_line);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate::pipeline
