// ModelSeam: where a model's vote joins a decision. Without one the rules decide; EncoderSeam
// implements it, tests have models of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "decision/buckets.h"
#include "decision/event.h"
#include "pipeline/calibration.h"

namespace tollgate::pipeline {

struct ScoreRequest {
    std::string tenant;
    std::uint64_t ticket = 0;     // the pipeline's name for this request
    std::string text;             // the event as the encoder sees it
    Steady::time_point deadline;  // the model's own timeout; a later answer is recorded as late
};
struct ScoreAnswer {
    std::uint64_t ticket = 0;
    bool ok = false;           // false: the model failed
    float probability = 0.0F;  // calibrated, 0..1
    std::uint32_t tokens = 0;  // of the text, as scored
    std::uint32_t cut = 0;     // that the model had no room for
    std::int64_t queue_us = 0;
    std::int64_t tokenize_us = 0;
    std::int64_t encoder_us = 0;
};

// What a model folder says beside its weights.
struct ModelProfile {
    std::string digest;   // of every file that decides a score: a decision's provenance
    std::string kernels;  // the table it runs on
    Buckets buckets;      // what encoder.j2's `bucket` makes words by
    std::optional<Calibration> calibration;  // its knots go before the pack's
    BandRules bands(const BandRules& pack) const {
        return calibration ? calibration->bands(pack) : pack;
    }
};

// Thread: submit() on the io thread, never blocks; the answer comes through `done` on any thread,
// at most once, and may never come (the pipeline's timer covers that).
class ModelSeam {
  public:
    enum class Accepted : std::uint8_t { kTaken, kUnavailable, kOverloaded };

    virtual ~ModelSeam() = default;
    // Other than kTaken: the rules decide at once, with that cause.
    virtual Accepted submit(ScoreRequest request, std::function<void(const ScoreAnswer&)> done) = 0;
    // The pipeline's timer for a request went off before its answer came.
    virtual void missed() {}
    virtual const ModelProfile& profile() const = 0;
    // "ready", or why it is not asked; for /readyz. Any thread.
    virtual std::string_view state() const { return "ready"; }
};

}  // namespace tollgate::pipeline
