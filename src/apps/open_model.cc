// Loading and batch scoring for commands.
#include "apps/open_model.h"

#include <thread>
#include <utility>

namespace tollgate::apps {

namespace {

constexpr std::size_t kBatchTokens = 4096;
constexpr std::size_t kBatchTexts = 128;

}  // namespace

Result<OpenedModel> open_model(const ModelChoice& choice) {
    OpenedModel out;
    TG_TRY(out.table, kernels::choose_table(choice.kernels));
    TG_TRY(const Precision precision, precision_of(choice.precision));
    TG_TRY(ScoringModel model,
           ScoringModel::load(choice.folder, *out.table, {.precision = precision}));
    out.model = std::make_unique<ScoringModel>(std::move(model));
    TG_TRY(out.profile, pipeline::load_profile(choice.folder));
    return out;
}

BatchScorer::BatchScorer(const ScoringModel& model)
    : lane_(std::max(1U, std::thread::hardware_concurrency()), ThreadRole::kBackground, "score"),
      batch_(model, kBatchTokens, kBatchTexts, lane_.threads()) {
    waiting_.reserve(kBatchTexts);
}

void BatchScorer::add(std::string_view text, std::function<void(const ScoredText&)> done) {
    if (!batch_.add(text)) {
        flush();
        (void)batch_.add(text);
    }
    waiting_.push_back(std::move(done));
}

void BatchScorer::flush() {
    const std::span<const ScoredText> scored = batch_.score(lane_);
    for (std::size_t i = 0; i < scored.size(); ++i) {
        waiting_[i](scored[i]);
    }
    waiting_.clear();
    batch_.clear();
}

Result<std::vector<ScoredRow>> score_traffic(const PolicyPack& pack, const OpenedModel& model,
                                             const std::string& input, const FeatureSpan& span,
                                             bool quiet) {
    if (pack.encoder == nullptr) {
        return Error{Fault::kBadInput, "the pack has no encoder.j2"};
    }
    if (Status fits = pack.encoder->check(model.profile.buckets); !fits) {
        return std::move(fits).error();
    }
    std::vector<ScoredRow> rows;
    BatchScorer scorer(*model.model);
    std::string text;
    TG_TRY([[maybe_unused]] const std::uint64_t events,
           for_each_feature_row(pack, input, span, quiet, [&](const FeatureRow& row) -> Status {
               text.clear();
               if (Status done = pack.encoder->render(row.input, model.profile.buckets, text);
                   !done) {
                   return done;
               }
               const bool fraud = row.label == Label::kFraud;
               scorer.add(text, [&rows, fraud](const ScoredText& scored) {
                   rows.push_back({static_cast<double>(scored.logit), fraud});
               });
               return ok();
           }));
    scorer.flush();
    return rows;
}

}  // namespace tollgate::apps
