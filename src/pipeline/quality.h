// Quality of scored labels: ranking, verdicts against a threshold, calibration, agreement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tollgate::pipeline {

// Pure functions, O(n log n) at most. `scores` and `fraud` run side by side: the same size, scores
// not NaN, fraud 1 for a fraud and 0 otherwise (TG_CHECK). nullopt where a measure is undefined.

// Probability that a fraud scores above a legitimate event, ties counting half (mid-ranks).
// nullopt: one of the classes is absent.
std::optional<double> auc_roc(std::span<const double> scores, std::span<const std::uint8_t> fraud);

// Sum over the distinct scores, from the top, of (recall step) * precision; no interpolation, equal
// scores are one step: scikit-learn's average_precision_score. nullopt: no fraud.
std::optional<double> average_precision(std::span<const double> scores,
                                        std::span<const std::uint8_t> fraud);

struct CardEvent {
    std::int64_t day = 0;
    std::uint64_t customer = 0;
    double score = 0.0;
    bool fraud = false;
};
// Card precision@k of the Fraud-Detection-Handbook (chapter 4, performance metrics): a day's
// customers, ranked by their highest score; the share of k with a fraud that day among the first k
// (divided by k also when there are fewer); a customer found that way is left out of the days
// after; the mean over the days that have events. Customers known beforehand are for the caller to
// leave out. Equal scores: the smaller customer number first. nullopt: no events. k >= 1.
std::optional<double> card_precision(std::span<const CardEvent> events, std::size_t k);

struct Confusion {
    std::uint64_t true_fraud = 0;
    std::uint64_t false_fraud = 0;
    std::uint64_t missed_fraud = 0;
    std::uint64_t true_legit = 0;
    friend bool operator==(const Confusion&, const Confusion&) = default;
};
// Flagged: score >= threshold.
Confusion confusion_at(std::span<const double> scores, std::span<const std::uint8_t> fraud,
                       double threshold);
std::optional<double> precision_of(const Confusion& c);  // nullopt: nothing flagged
std::optional<double> recall_of(const Confusion& c);     // nullopt: no fraud
// 2tp / (2tp + fp + fn); nullopt: no fraud and nothing flagged.
std::optional<double> f1_of(const Confusion& c);
// Matthews' correlation coefficient, 0 when a margin is empty (scikit-learn's choice).
double mcc_of(const Confusion& c);

struct BestF1 {
    double f1 = 0.0;
    double threshold = 0.0;  // the highest score that reaches it; flagged: score >= threshold
    Confusion at{};
};
// nullopt: no fraud.
std::optional<BestF1> best_f1(std::span<const double> scores, std::span<const std::uint8_t> fraud);

// Expected calibration error: events sorted by probability, cut into `bins` groups whose sizes
// differ by one at most (the first n % bins are the larger), sum of share * |mean probability -
// fraud rate|. Equal probabilities share their fraud rate, so the order of ties has no influence.
// nullopt: no events. bins >= 1.
std::optional<double> calibration_error(std::span<const double> probabilities,
                                        std::span<const std::uint8_t> fraud, std::size_t bins = 10);

// Mean of (probability - fraud)^2. nullopt: no events.
std::optional<double> brier_score(std::span<const double> probabilities,
                                  std::span<const std::uint8_t> fraud);

// Agreement of two judges beyond chance; any category numbers. nullopt: no events, or chance alone
// would make them agree always (both gave one and the same verdict to everything).
std::optional<double> cohen_kappa(std::span<const std::uint8_t> first,
                                  std::span<const std::uint8_t> second);

}  // namespace tollgate::pipeline
