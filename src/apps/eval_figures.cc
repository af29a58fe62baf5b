// The figures of a test week.
#include <algorithm>
#include <cmath>

#include "apps/eval.h"

namespace tollgate::apps {

bool KnownCustomers::known(std::int64_t first_day, std::int64_t test_day,
                           std::uint64_t customer) const {
    // Test days begin 14 days after the training week did; a label is known seven days later.
    const std::int64_t last = test_day - 8;
    for (auto day = by_day_.lower_bound(first_day); day != by_day_.end() && day->first <= last;
         ++day) {
        if (day->second.contains(customer)) {
            return true;
        }
    }
    return false;
}

double median(std::vector<double> values) {
    TG_CHECK(!values.empty(), "a median of something");
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

EvalFigures figures_of(const EvalWeek& week, const std::vector<double>& scores) {
    const auto card = [&](const auto& score_at) {
        std::vector<pipeline::CardEvent> events;
        events.reserve(scores.size());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            events.push_back({.day = week.day[i],
                              .customer = week.customer[i],
                              .score = score_at(i),
                              .fraud = week.fraud[i] != 0});
        }
        return pipeline::card_precision(events, 100).value_or(0.0);
    };
    EvalFigures out;
    out.auc = pipeline::auc_roc(scores, week.fraud).value_or(0.0);
    out.ap = pipeline::average_precision(scores, week.fraud).value_or(0.0);
    out.cp100 = card([&](std::size_t i) { return scores[i]; });
    const double ceiling = card([&](std::size_t i) { return week.fraud[i] != 0 ? 1.0 : 0.0; });
    out.cp100_of_ceiling = ceiling > 0.0 ? out.cp100 / ceiling : 0.0;
    const auto best = pipeline::best_f1(scores, week.fraud);
    out.f1 = best ? best->f1 : 0.0;
    return out;
}

std::vector<double> both_of(const EvalWeek& week, const std::vector<double>& logits) {
    std::vector<double> out;
    out.reserve(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const double model = 1.0 / (1.0 + std::exp(-logits[i]));
        // A rule's word counts less than a sure score, and hits break ties.
        const double rules = week.rules[i] / 4.0;
        out.push_back(1.0 - (1.0 - model) * (1.0 - 0.5 * rules));
    }
    return out;
}

}  // namespace tollgate::apps
