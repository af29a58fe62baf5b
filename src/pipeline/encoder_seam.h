// EncoderSeam: the encoder service behind the pipeline's model seam.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/faults.h"
#include "base/lanes.h"
#include "base/metrics.h"
#include "engine/encoder_service.h"
#include "pipeline/model_seam.h"

namespace tollgate::pipeline {

struct EncoderSeamOptions {
    std::string folder;
    EncoderOptions encoder;
    EncoderServiceOptions service;
};

// Owns the model and its service. Threads as ModelSeam says.
class EncoderSeam : public ModelSeam {
  public:
    // Loads the folder's weights, tokenizer, buckets and calibration, and warms up. Errors as
    // ScoringModel::load's; a folder without calibration.json is taken as it is (slope 1, bias 0).
    static Result<std::unique_ptr<EncoderSeam>> open(const EncoderSeamOptions& options,
                                                     const kernels::KernelTable& table,
                                                     LaneGate& gate, FaultSwitches& faults,
                                                     Metrics& metrics);
    ~EncoderSeam() override;

    Accepted submit(ScoreRequest request, std::function<void(const ScoreAnswer&)> done) override;
    void missed() override { service_->missed(); }
    const ModelProfile& profile() const override { return profile_; }
    std::string_view state() const override { return service_->state(); }

    const ScoringModel& model() const { return *model_; }
    std::size_t bytes() const;  // weights and arena

  private:
    EncoderSeam() = default;
    ModelProfile profile_;
    Calibration calibration_;
    std::unique_ptr<ScoringModel> model_;
    std::unique_ptr<EncoderService> service_;
};

// buckets.json and calibration.json of a model folder; absent ones are empty.
Result<ModelProfile> load_profile(const std::string& folder);

}  // namespace tollgate::pipeline
