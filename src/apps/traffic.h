// Traffic: events with their later truth, from our JSONL files or the Fraud-Detection-Handbook's
// CSV, plain or .zst.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "decision/event.h"

namespace tollgate::apps {

struct TrafficItem {
    std::string event_json;    // the body of POST /v1/assessments
    std::string outcome_json;  // empty: none
    std::string scenario;
    std::string event_id;
    std::string account_id;
    EventTime at;
    Label label = Label::kNone;
    EventTime known_at{};
};

struct HandbookRow {
    std::int64_t id = 0;
    std::int64_t at_s = 0;  // UTC seconds
    std::int32_t customer = 0;
    std::int32_t terminal = 0;
    std::int64_t cents = 0;
    bool fraud = false;
};
// The whole CSV, sorted by (time, id); amounts like 85.64999999999999 are rounded to cents, half to
// even.
Result<std::vector<HandbookRow>> read_handbook(const std::string& path);
TrafficItem handbook_item(const HandbookRow& row, std::int64_t label_delay_days = 7);
// The same as an Event, without JSON between (bench and verify).
Event handbook_event(const HandbookRow& row);
Outcome handbook_outcome(const HandbookRow& row, std::int64_t label_delay_days = 7);

// Items in file order (JSONL must be ordered by occurred_at; a CSV is sorted). `from` and `until`
// (empty: open) select by event time.
class TrafficReader {
  public:
    static Result<std::unique_ptr<TrafficReader>> open(const std::string& path);
    virtual ~TrafficReader() = default;
    // False at the end. Errors name file and line.
    virtual Result<bool> next(TrafficItem& item) = 0;
    virtual double progress() const = 0;  // 0..1, or negative when unknown
};

}  // namespace tollgate::apps
