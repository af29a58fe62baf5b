// Requests to the service and its logits back as probabilities.
#include "pipeline/encoder_seam.h"

#include <utility>

namespace tollgate::pipeline {

Result<ModelProfile> load_profile(const std::string& folder) {
    ModelProfile out;
    TG_TRY(const auto buckets, model_file(folder, "buckets.json"));
    TG_TRY(const auto calibration, model_file(folder, "calibration.json"));
    if (buckets) {
        Result<Buckets> read = Buckets::parse(*buckets);
        if (!read) {
            return Error{read.error().fault, folder + "/" + read.error().message};
        }
        out.buckets = *std::move(read);
    }
    if (calibration) {
        Result<Calibration> read = parse_calibration(*calibration);
        if (!read) {
            return Error{read.error().fault, folder + "/" + read.error().message};
        }
        out.calibration = *std::move(read);
    }
    TG_TRY(out.digest, model_digest(folder));
    return out;
}

Result<std::unique_ptr<EncoderSeam>> EncoderSeam::open(const EncoderSeamOptions& options,
                                                       const kernels::KernelTable& table,
                                                       LaneGate& gate, FaultSwitches& faults,
                                                       Metrics& metrics) {
    std::unique_ptr<EncoderSeam> out(new EncoderSeam());
    TG_TRY(out->profile_, load_profile(options.folder));
    out->profile_.kernels = std::string(table.name);
    out->calibration_ = out->profile_.calibration.value_or(Calibration{});
    TG_TRY(ScoringModel model, ScoringModel::load(options.folder, table, options.encoder));
    out->model_ = std::make_unique<ScoringModel>(std::move(model));
    out->service_ =
        std::make_unique<EncoderService>(*out->model_, options.service, gate, faults, metrics);
    return out;
}

EncoderSeam::~EncoderSeam() = default;

std::size_t EncoderSeam::bytes() const {
    return model_->encoder->weight_bytes() + service_->bytes();
}

ModelSeam::Accepted EncoderSeam::submit(ScoreRequest request,
                                        std::function<void(const ScoreAnswer&)> done) {
    EncodeRequest job{.ticket = request.ticket,
                      .text = std::move(request.text),
                      .deadline = request.deadline,
                      .done = [this, done = std::move(done)](const EncodeAnswer& answer) {
                          done({.ticket = answer.ticket,
                                .ok = answer.outcome == EncodeAnswer::Outcome::kScored,
                                .probability = calibration_.probability(answer.text.logit),
                                .tokens = answer.text.tokens,
                                .cut = answer.text.cut,
                                .queue_us = answer.queue_us,
                                .tokenize_us = answer.tokenize_us,
                                .encoder_us = answer.encoder_us});
                      }};
    switch (service_->submit(job)) {
        case EncoderService::Accepted::kTaken:
            return Accepted::kTaken;
        case EncoderService::Accepted::kOverloaded:
            return Accepted::kOverloaded;
        case EncoderService::Accepted::kUnavailable:
            break;
    }
    return Accepted::kUnavailable;
}

}  // namespace tollgate::pipeline
