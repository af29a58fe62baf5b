// The quality measures, each from one sort of the scores.
#include "pipeline/quality.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "base/check.h"

namespace tollgate::pipeline {
namespace {

using Scores = std::span<const double>;
using Marks = std::span<const std::uint8_t>;

void check_pair(Scores scores, Marks fraud) {
    TG_CHECK(scores.size() == fraud.size(), "one mark per score");
    for (const double score : scores) {
        TG_CHECK(!std::isnan(score), "scores are numbers");
    }
    for (const auto mark : fraud) {
        TG_CHECK(mark <= 1, "marks are 0 or 1");
    }
}

std::vector<std::size_t> sorted_from_top(Scores scores) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [scores](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    return order;
}

// Calls f(score, events, frauds) for each distinct score, the highest first.
template <class F>
void each_step(Scores scores, Marks fraud, F f) {
    const auto order = sorted_from_top(scores);
    for (std::size_t i = 0; i < order.size();) {
        const double score = scores[order[i]];
        std::uint64_t events = 0;
        std::uint64_t frauds = 0;
        // Scores are compared for identity: only the very same number is a tie.
        for (; i < order.size() && !(scores[order[i]] < score); ++i) {
            ++events;
            frauds += fraud[order[i]];
        }
        f(score, events, frauds);
    }
}

std::uint64_t count_frauds(Marks fraud) {
    return std::accumulate(fraud.begin(), fraud.end(), std::uint64_t{0});
}

double real(std::uint64_t n) {
    return static_cast<double>(n);
}

std::optional<double> ratio(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) {
        return std::nullopt;
    }
    return real(part) / real(whole);
}

}  // namespace

std::optional<double> auc_roc(Scores scores, Marks fraud) {
    check_pair(scores, fraud);
    const auto frauds = count_frauds(fraud);
    const auto legit = scores.size() - frauds;
    if (frauds == 0 || legit == 0) {
        return std::nullopt;
    }
    // Twice the number of (fraud, legit) pairs in the right order, ties once: exact below 2^53.
    double twice_right = 0.0;
    std::uint64_t frauds_above = 0;
    each_step(scores, fraud, [&](double, std::uint64_t events, std::uint64_t hits) {
        twice_right += real(events - hits) * real(2 * frauds_above + hits);
        frauds_above += hits;
    });
    return twice_right / (2.0 * real(frauds) * real(legit));
}

std::optional<double> average_precision(Scores scores, Marks fraud) {
    check_pair(scores, fraud);
    const auto frauds = count_frauds(fraud);
    if (frauds == 0) {
        return std::nullopt;
    }
    double sum = 0.0;
    std::uint64_t found = 0;
    std::uint64_t seen = 0;
    each_step(scores, fraud, [&](double, std::uint64_t events, std::uint64_t hits) {
        found += hits;
        seen += events;
        sum += real(hits) * real(found) / real(seen);
    });
    return sum / real(frauds);
}

std::optional<double> card_precision(std::span<const CardEvent> events, std::size_t k) {
    TG_CHECK(k >= 1, "k is at least 1");
    if (events.empty()) {
        return std::nullopt;
    }
    std::vector<CardEvent> sorted(events.begin(), events.end());
    for (const auto& event : sorted) {
        TG_CHECK(!std::isnan(event.score), "scores are numbers");
    }
    std::sort(sorted.begin(), sorted.end(), [](const CardEvent& a, const CardEvent& b) {
        return a.day != b.day ? a.day < b.day : a.customer < b.customer;
    });
    std::unordered_set<std::uint64_t> found;
    std::vector<CardEvent> cards;  // of one day: its customers with their highest score
    double sum = 0.0;
    std::uint64_t days = 0;
    for (std::size_t i = 0; i < sorted.size(); ++days) {
        const auto day = sorted[i].day;
        cards.clear();
        for (; i < sorted.size() && sorted[i].day == day; ++i) {
            if (!cards.empty() && cards.back().customer == sorted[i].customer) {
                cards.back().score = std::max(cards.back().score, sorted[i].score);
                cards.back().fraud = cards.back().fraud || sorted[i].fraud;
            } else if (!found.contains(sorted[i].customer)) {
                cards.push_back(sorted[i]);
            }
        }
        std::stable_sort(cards.begin(), cards.end(),
                         [](const CardEvent& a, const CardEvent& b) { return a.score > b.score; });
        std::uint64_t hits = 0;
        for (std::size_t c = 0; c < std::min(k, cards.size()); ++c) {
            if (cards[c].fraud) {
                ++hits;
                found.insert(cards[c].customer);
            }
        }
        sum += real(hits) / real(k);
    }
    return sum / real(days);
}

Confusion confusion_at(Scores scores, Marks fraud, double threshold) {
    check_pair(scores, fraud);
    Confusion c;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const bool flagged = scores[i] >= threshold;
        c.true_fraud += flagged && fraud[i] == 1 ? 1U : 0U;
        c.false_fraud += flagged && fraud[i] == 0 ? 1U : 0U;
        c.missed_fraud += !flagged && fraud[i] == 1 ? 1U : 0U;
        c.true_legit += !flagged && fraud[i] == 0 ? 1U : 0U;
    }
    return c;
}

std::optional<double> precision_of(const Confusion& c) {
    return ratio(c.true_fraud, c.true_fraud + c.false_fraud);
}

std::optional<double> recall_of(const Confusion& c) {
    return ratio(c.true_fraud, c.true_fraud + c.missed_fraud);
}

std::optional<double> f1_of(const Confusion& c) {
    return ratio(2 * c.true_fraud, 2 * c.true_fraud + c.false_fraud + c.missed_fraud);
}

double mcc_of(const Confusion& c) {
    const double tp = real(c.true_fraud);
    const double fp = real(c.false_fraud);
    const double fn = real(c.missed_fraud);
    const double tn = real(c.true_legit);
    // Two roots instead of one: the product of four counts may pass 2^53 by far.
    const double margins = std::sqrt((tp + fp) * (tp + fn)) * std::sqrt((tn + fp) * (tn + fn));
    return margins > 0.0 ? (tp * tn - fp * fn) / margins : 0.0;
}

std::optional<BestF1> best_f1(Scores scores, Marks fraud) {
    check_pair(scores, fraud);
    const auto frauds = count_frauds(fraud);
    if (frauds == 0) {
        return std::nullopt;
    }
    BestF1 best;
    best.f1 = -1.0;
    Confusion at{0, 0, frauds, scores.size() - frauds};
    each_step(scores, fraud, [&](double score, std::uint64_t events, std::uint64_t hits) {
        at.true_fraud += hits;
        at.missed_fraud -= hits;
        at.false_fraud += events - hits;
        at.true_legit -= events - hits;
        const double f1 = f1_of(at).value_or(0.0);
        if (f1 > best.f1) {
            best = {f1, score, at};
        }
    });
    return best;
}

std::optional<double> calibration_error(Scores probabilities, Marks fraud, std::size_t bins) {
    check_pair(probabilities, fraud);
    TG_CHECK(bins >= 1, "at least one bin");
    const auto n = probabilities.size();
    if (n == 0) {
        return std::nullopt;
    }
    // From the lowest probability: each event with the fraud rate of its ties.
    std::vector<std::array<double, 2>> sorted(n);
    auto end = n;
    each_step(probabilities, fraud, [&](double p, std::uint64_t events, std::uint64_t hits) {
        for (std::uint64_t i = 0; i < events; ++i) {
            sorted[--end] = {p, real(hits) / real(events)};
        }
    });
    double error = 0.0;
    std::size_t at = 0;
    for (std::size_t bin = 0; bin < std::min(bins, n); ++bin) {
        const auto size = n / bins + (bin < n % bins ? 1 : 0);
        double gap = 0.0;
        for (const auto stop = at + size; at < stop; ++at) {
            gap += sorted[at][0] - sorted[at][1];
        }
        error += std::abs(gap);
    }
    return error / real(n);
}

std::optional<double> brier_score(Scores probabilities, Marks fraud) {
    check_pair(probabilities, fraud);
    if (probabilities.empty()) {
        return std::nullopt;
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
        const double gap = probabilities[i] - fraud[i];
        sum += gap * gap;
    }
    return sum / real(probabilities.size());
}

std::optional<double> cohen_kappa(Marks first, Marks second) {
    TG_CHECK(first.size() == second.size(), "two verdicts per event");
    std::array<std::uint64_t, 256> by_first{};
    std::array<std::uint64_t, 256> by_second{};
    std::uint64_t agreed = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        ++by_first[first[i]];
        ++by_second[second[i]];
        agreed += first[i] == second[i] ? 1U : 0U;
    }
    const double n = real(first.size());
    double chance = 0.0;  // times n^2
    for (std::size_t v = 0; v < by_first.size(); ++v) {
        chance += real(by_first[v]) * real(by_second[v]);
    }
    const double room = n * n - chance;
    if (!(room > 0.0)) {
        return std::nullopt;
    }
    return (n * real(agreed) - chance) / room;
}

}  // namespace tollgate::pipeline
