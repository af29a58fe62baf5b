// Calibration: from an encoder's logit to a probability, and where the bands lie; fitted on a
// labelled file, stored with the model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "decision/policy.h"

namespace tollgate::pipeline {

struct Calibration {
    // probability = 1 / (1 + exp(-(slope * logit + bias))). Source: Platt 1999.
    double slope = 1.0;
    double bias = 0.0;
    // Knots of the score (decision/policy.h): in place of the pack's p_low and p_high.
    double p_low = 0.3;
    double p_high = 0.7;
    // What it was fitted on, and how good it is there.
    std::uint64_t rows = 0;
    std::uint64_t frauds = 0;
    double ece = 0.0;  // 15 bins of equal mass
    double brier = 0.0;
    double ap = 0.0;
    double auc = 0.0;
    double grey_share = 0.0;  // of the file, between the knots
    std::string data_sha256;  // of the labelled file

    float probability(float logit) const;
    // The pack's bands with these knots.
    BandRules bands(const BandRules& pack) const;
};

struct CalibrationOptions {
    double grey_share = 0.02;
    double decline_precision = 0.9;
};

// Platt's fit by Newton steps with his smoothed targets, then the knots:
//   p_high  the lowest probability at and above which the file's precision reaches
//           decline_precision; above every probability when none does (nothing declines)
//   p_low   such that grey_share of the file lies in [p_low, p_high), by rank; equal probabilities
//           stay together on the side that makes the share smaller
// kBadInput without at least 20 frauds and 20 others.
Result<Calibration> fit_calibration(std::span<const double> logits,
                                    std::span<const std::uint8_t> fraud,
                                    const CalibrationOptions& options);

// kBadInput, with the value and the limit, when the model is outside of what the pack allows.
Status check_limits(const Calibration& calibration, const ModelRules& limits);

std::string to_json(const Calibration& calibration);  // calibration.json of a model folder
// kBadInput names the member and the range.
Result<Calibration> parse_calibration(std::string_view json);

}  // namespace tollgate::pipeline
