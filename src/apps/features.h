// Encoder inputs of a traffic file, event by event: for export, calibration and evaluation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "decision/buckets.h"
#include "decision/encoder_text.h"
#include "decision/pack.h"
#include "decision/rules.h"

namespace tollgate::apps {

struct FeatureSpan {
    std::optional<EventTime> from;   // earlier events fill the windows only
    std::optional<EventTime> until;  // the first event at or after it ends the run
};

// Valid during the call it is handed to.
struct FeatureRow {
    std::string event_id;
    std::string account_id;
    double at_s = 0.0;  // UTC seconds
    EventTime at;
    Label label = Label::kNone;  // the final truth
    EncoderInput input;
    const EvalInput* rules = nullptr;  // fields and windows, for evaluate_rules()
};

// Runs the events of `path` in order through the pack's windows, each with its outcome (known to
// windows from its known_at on), and hands those of the span to `f`; its error ends the run. The
// number of events read.
Result<std::uint64_t> for_each_feature_row(const PolicyPack& pack, const std::string& path,
                                           const FeatureSpan& span, bool quiet,
                                           const std::function<Status(const FeatureRow&)>& f);

// MODEL/buckets.json; a model without one has no fields.
Result<Buckets> read_buckets(const std::string& model);

}  // namespace tollgate::apps
