// A scoring model for a command: the table, the weights, and what beside them says how to use it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "apps/features.h"
#include "base/lanes.h"
#include "engine/scoring_model.h"
#include "kernels/kernels.h"
#include "pipeline/encoder_seam.h"

namespace tollgate::apps {

struct ModelChoice {
    std::string folder;
    std::string kernels;  // empty: the best table
    std::string precision = "fp32";
};

struct OpenedModel {
    const kernels::KernelTable* table = nullptr;
    std::unique_ptr<ScoringModel> model;
    pipeline::ModelProfile profile;
};
Result<OpenedModel> open_model(const ModelChoice& choice);

// Scores texts one after the other, in batches. One thread.
class BatchScorer {
  public:
    explicit BatchScorer(const ScoringModel& model);
    // `done` is called for each text, in order, once its batch is full or at flush().
    void add(std::string_view text, std::function<void(const ScoredText&)> done);
    void flush();

  private:
    TileLane lane_;
    TextBatch batch_;
    std::vector<std::function<void(const ScoredText&)>> waiting_;
};

// Every event of the span through the pack's encoder.j2 and the model. One whose outcome never came
// counts as legitimate, as it does in a bank.
struct ScoredRow {
    double logit = 0.0;
    bool fraud = false;
};
Result<std::vector<ScoredRow>> score_traffic(const PolicyPack& pack, const OpenedModel& model,
                                             const std::string& input, const FeatureSpan& span,
                                             bool quiet);

}  // namespace tollgate::apps
