// ModelSeam: where a model's vote joins a decision. Without one the rules decide; the encoder
// service implements it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"
#include "decision/event.h"

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
    std::int64_t queue_us = 0;
    std::int64_t tokenize_us = 0;
    std::int64_t encoder_us = 0;
};

// Thread: submit() on the io thread, never blocks; the answer comes through `done` on any thread,
// at most once, and may never come (the pipeline's timer covers that).
class ModelSeam {
  public:
    virtual ~ModelSeam() = default;
    // False when the model is unavailable or its queue is full: the rules decide at once.
    virtual bool submit(const ScoreRequest& request,
                        std::function<void(const ScoreAnswer&)> done) = 0;
    virtual std::string digest() const = 0;  // model digest for provenance
};

}  // namespace tollgate::pipeline
