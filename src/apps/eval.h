// `tollgate eval handbook`: encoder, rules and both on the Fraud-Detection-Handbook's test weeks,
// by its own protocol.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/open_model.h"
#include "base/result.h"
#include "decision/pack.h"
#include "pipeline/quality.h"

namespace tollgate::apps {

struct EvalOptions {
    std::string input;
    std::string split = "baseline";  // or "prequential"
    std::string models = "models/handbook";
    std::string profile = "accurate";
    std::string policy;  // empty: the embedded handbook pack
    std::string json;
    bool quiet = false;
};

struct EvalFigures {
    double auc = 0.0;
    double ap = 0.0;
    double cp100 = 0.0;
    double cp100_of_ceiling = 0.0;
    double f1 = 0.0;  // at the best threshold of the test week
};

// One test week's events and what each judge said of them.
struct EvalWeek {
    std::string fold;            // first day of its training week
    std::int64_t first_day = 0;  // days since 1970 of that day
    std::vector<OpenedModel> models;
    std::vector<std::string> names;
    std::vector<std::unique_ptr<BatchScorer>> scorers;
    std::vector<std::vector<double>> logits;  // by model
    std::vector<double> rules;                // severity of the decision, then hits
    std::vector<std::uint8_t> fraud;
    std::vector<std::int64_t> day;
    std::vector<std::uint64_t> customer;
};

EvalFigures figures_of(const EvalWeek& week, const std::vector<double>& scores);
// What model and rules say together: one minus the chance that neither is right.
std::vector<double> both_of(const EvalWeek& week, const std::vector<double>& logits);
double median(std::vector<double> values);

// Customers that are known as defrauded on the k-th day of a fold's test week: of its training
// week, and of the days after it but for the last seven. `frauds` has the defrauded customers by
// day.
class KnownCustomers {
  public:
    void add(std::int64_t day, std::uint64_t customer) { by_day_[day].insert(customer); }
    bool known(std::int64_t first_day, std::int64_t test_day, std::uint64_t customer) const;

  private:
    std::map<std::int64_t, std::set<std::uint64_t>> by_day_;
};

Status eval_handbook(const EvalOptions& options);

}  // namespace tollgate::apps
