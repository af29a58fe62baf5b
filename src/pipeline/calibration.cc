// Platt's fit, the knots, and calibration.json.
#include "pipeline/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "pipeline/quality.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

namespace {

constexpr std::size_t kBins = 15;
constexpr std::uint64_t kFewest = 20;  // of each class; below, a fit means nothing

double sigmoid(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

struct Line {
    double slope = 1.0;
    double bias = 0.0;
};

struct Targets {
    double fraud = 1.0;
    double legit = 0.0;
};

double loss_of(const Line& line, std::span<const double> logits,
               std::span<const std::uint8_t> fraud, const Targets& targets) {
    double sum = 0.0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const double x = line.slope * logits[i] + line.bias;
        const double t = fraud[i] != 0 ? targets.fraud : targets.legit;
        // log(1 + e^x) - t x, without overflow
        sum += std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))) - t * x;
    }
    return sum;
}

// Newton with halved steps: the loss is convex in slope and bias.
Line fit_line(std::span<const double> logits, std::span<const std::uint8_t> fraud,
              const Targets& targets) {
    constexpr int kMostSteps = 100;
    Line line;
    double loss = loss_of(line, logits, fraud, targets);
    for (int step = 0; step < kMostSteps; ++step) {
        double ga = 0.0;
        double gb = 0.0;
        double haa = 1e-9;
        double hab = 0.0;
        double hbb = 1e-9;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            const double p = sigmoid(line.slope * logits[i] + line.bias);
            const double t = fraud[i] != 0 ? targets.fraud : targets.legit;
            const double w = p * (1.0 - p);
            ga += (p - t) * logits[i];
            gb += p - t;
            haa += w * logits[i] * logits[i];
            hab += w * logits[i];
            hbb += w;
        }
        const double determinant = haa * hbb - hab * hab;
        if (!(determinant > 0.0)) {
            break;
        }
        const double da = -(hbb * ga - hab * gb) / determinant;
        const double db = -(haa * gb - hab * ga) / determinant;
        double scale = 1.0;
        Line next;
        double next_loss = loss;
        for (; scale > 1e-10; scale /= 2.0) {
            next = {line.slope + scale * da, line.bias + scale * db};
            next_loss = loss_of(next, logits, fraud, targets);
            if (next_loss <= loss) {
                break;
            }
        }
        const bool settled = loss - next_loss < 1e-9 * (1.0 + std::fabs(loss));
        if (next_loss <= loss) {
            line = next;
            loss = next_loss;
        }
        if (settled) {
            break;
        }
    }
    return line;
}

struct Ranked {
    std::vector<double> probabilities;  // from the top
    std::vector<std::uint8_t> fraud;
};

Ranked ranked(std::span<const double> probabilities, std::span<const std::uint8_t> fraud) {
    std::vector<std::size_t> order(probabilities.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return probabilities[a] > probabilities[b];
    });
    Ranked out;
    out.probabilities.reserve(order.size());
    out.fraud.reserve(order.size());
    for (const std::size_t i : order) {
        out.probabilities.push_back(probabilities[i]);
        out.fraud.push_back(fraud[i]);
    }
    return out;
}

// Rows of the file above the decline knot, and the knot.
std::size_t find_high(const Ranked& file, double precision, double& p_high) {
    std::size_t above = 0;
    std::uint64_t frauds = 0;
    for (std::size_t i = 0; i < file.probabilities.size();) {
        const double p = file.probabilities[i];
        for (; i < file.probabilities.size() && file.probabilities[i] == p; ++i) {
            frauds += file.fraud[i];
        }
        if (static_cast<double>(frauds) >= precision * static_cast<double>(i) &&
            frauds >= kFewest / 2) {
            above = i;
            p_high = p;
        }
    }
    return above;
}

}  // namespace

float Calibration::probability(float logit) const {
    return static_cast<float>(sigmoid(slope * static_cast<double>(logit) + bias));
}

BandRules Calibration::bands(const BandRules& pack) const {
    BandRules out = pack;
    out.p_low = p_low;
    out.p_high = p_high;
    return out;
}

Result<Calibration> fit_calibration(std::span<const double> logits,
                                    std::span<const std::uint8_t> fraud,
                                    const CalibrationOptions& options) {
    Calibration out;
    out.rows = logits.size();
    out.frauds = static_cast<std::uint64_t>(std::count(fraud.begin(), fraud.end(), 1));
    if (out.frauds < kFewest || out.rows - out.frauds < kFewest) {
        return Error{Fault::kBadInput, "the labelled file has " + std::to_string(out.frauds) +
                                           " frauds of " + std::to_string(out.rows) +
                                           " events; at least " + std::to_string(kFewest) +
                                           " of either are needed"};
    }
    const auto frauds = static_cast<double>(out.frauds);
    const auto legit = static_cast<double>(out.rows - out.frauds);
    const Line line = fit_line(
        logits, fraud, {.fraud = (frauds + 1.0) / (frauds + 2.0), .legit = 1.0 / (legit + 2.0)});
    if (!(line.slope > 0.0)) {
        return Error{Fault::kBadInput, "the model's score falls where fraud rises: its slope is " +
                                           std::to_string(line.slope)};
    }
    out.slope = line.slope;
    out.bias = line.bias;
    std::vector<double> probabilities;
    probabilities.reserve(logits.size());
    for (const double logit : logits) {
        probabilities.push_back(sigmoid(line.slope * logit + line.bias));
    }
    out.ece = calibration_error(probabilities, fraud, kBins).value_or(1.0);
    out.brier = brier_score(probabilities, fraud).value_or(1.0);
    out.ap = average_precision(probabilities, fraud).value_or(0.0);
    out.auc = auc_roc(probabilities, fraud).value_or(0.0);
    const Ranked file = ranked(probabilities, fraud);
    out.p_high = std::nextafter(1.0, 0.0);
    const std::size_t above = find_high(file, options.decline_precision, out.p_high);
    const auto wanted =
        static_cast<std::size_t>(options.grey_share * static_cast<double>(out.rows));
    // Of a file that is nearly all fraud everything may lie above.
    std::size_t last = std::max(above, std::min(above + wanted, file.probabilities.size() - 1));
    // Equal probabilities stay together: the knot lies above those that would pass the share.
    while (last > above && last < file.probabilities.size() &&
           file.probabilities[last - 1] == file.probabilities[last]) {
        --last;
    }
    out.p_low = last > above ? file.probabilities[last - 1]
                             : std::nextafter(out.p_high, 0.0);  // nothing is grey
    out.p_low = std::min(out.p_low, std::nextafter(out.p_high, 0.0));
    out.grey_share = static_cast<double>(last - above) / static_cast<double>(out.rows);
    return out;
}

Status check_limits(const Calibration& calibration, const ModelRules& limits) {
    if (!(calibration.ece <= limits.max_ece)) {
        return Error{Fault::kBadInput,
                     "the model's calibration error is " + std::to_string(calibration.ece) +
                         ", the pack allows model.max_ece = " + std::to_string(limits.max_ece)};
    }
    if (!(calibration.ap >= limits.min_ap)) {
        return Error{Fault::kBadInput,
                     "the model's average precision is " + std::to_string(calibration.ap) +
                         ", the pack asks for model.min_ap = " + std::to_string(limits.min_ap)};
    }
    return ok();
}

std::string to_json(const Calibration& c) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    out.key("version");
    out.integer(1);
    const std::pair<const char*, double> numbers[] = {
        {"slope", c.slope},   {"bias", c.bias}, {"p_low", c.p_low},
        {"p_high", c.p_high}, {"ece", c.ece},   {"brier", c.brier},
        {"ap", c.ap},         {"auc", c.auc},   {"grey_share", c.grey_share}};
    for (const auto& [name, value] : numbers) {
        out.key(name);
        out.number(value);
    }
    out.key("rows");
    out.whole(c.rows);
    out.key("frauds");
    out.whole(c.frauds);
    out.key("data_sha256");
    out.string(c.data_sha256);
    out.end_object();
    return text;
}

namespace {

Result<double> number(const JsonValue& root, const char* name, double low, double high) {
    const auto found = root.find(name);
    const bool good = found && (found->is(JsonKind::kDouble) || found->is(JsonKind::kInteger)) &&
                      found->number() >= low && found->number() <= high;
    if (!good) {
        return Error{Fault::kBadInput, "calibration.json: " + std::string(name) +
                                           " is no number from " + std::to_string(low) + " to " +
                                           std::to_string(high)};
    }
    return found->number();
}

}  // namespace

Result<Calibration> parse_calibration(std::string_view json) {
    JsonDocument document({.max_bytes = 65536, .max_depth = 4, .max_members = 64});
    const auto root = document.parse(json);
    if (!root || !root->is(JsonKind::kObject)) {
        return Error{Fault::kBadInput, "calibration.json is no JSON object"};
    }
    Calibration out;
    TG_TRY([[maybe_unused]] const double version, number(*root, "version", 1, 1));
    TG_TRY(out.slope, number(*root, "slope", 1e-6, 1e6));
    TG_TRY(out.bias, number(*root, "bias", -1e6, 1e6));
    TG_TRY(out.p_low, number(*root, "p_low", 0.0, 1.0));
    TG_TRY(out.p_high, number(*root, "p_high", 0.0, 1.0));
    TG_TRY(out.ece, number(*root, "ece", 0.0, 1.0));
    TG_TRY(out.brier, number(*root, "brier", 0.0, 1.0));
    TG_TRY(out.ap, number(*root, "ap", 0.0, 1.0));
    TG_TRY(out.auc, number(*root, "auc", 0.0, 1.0));
    TG_TRY(out.grey_share, number(*root, "grey_share", 0.0, 1.0));
    TG_TRY(const double rows, number(*root, "rows", 0.0, 1e15));
    TG_TRY(const double frauds, number(*root, "frauds", 0.0, 1e15));
    out.rows = static_cast<std::uint64_t>(rows);
    out.frauds = static_cast<std::uint64_t>(frauds);
    if (!(out.p_low > 0.0 && out.p_low < out.p_high && out.p_high < 1.0)) {
        return Error{Fault::kBadInput,
                     "calibration.json: 0 < p_low < p_high < 1 does not hold for " +
                         std::to_string(out.p_low) + " and " + std::to_string(out.p_high)};
    }
    const auto digest = root->find("data_sha256");
    if (digest && digest->is(JsonKind::kString)) {
        out.data_sha256 = std::string(digest->string());
    }
    return out;
}

}  // namespace tollgate::pipeline
