// The run of for_each_feature_row: a window store filled as the server fills it.
#include <memory>

#include "apps/cli.h"
#include "apps/event_row.h"
#include "apps/features.h"
#include "apps/traffic.h"
#include "decision/event_json.h"
#include "tensor/mapped_file.h"
#include "text/json.h"

namespace tollgate::apps {

namespace {

struct Labelled {
    Event event;
    Label label = Label::kNone;
    EventTime known_at{};
};

// Events with their truth, from either kind of file.
class Source {
  public:
    virtual ~Source() = default;
    virtual Result<bool> next(Labelled& out) = 0;
    virtual double progress() const = 0;
};

class HandbookSource : public Source {
  public:
    explicit HandbookSource(std::vector<HandbookRow> rows) : rows_(std::move(rows)) {}
    Result<bool> next(Labelled& out) override {
        if (at_ == rows_.size()) {
            return false;
        }
        const HandbookRow& row = rows_[at_++];
        out.event = handbook_event(row);
        const Outcome outcome = handbook_outcome(row);
        out.label = outcome.label;
        out.known_at = outcome.known_at;
        return true;
    }
    double progress() const override {
        return static_cast<double>(at_) / static_cast<double>(rows_.size());
    }

  private:
    std::vector<HandbookRow> rows_;
    std::size_t at_ = 0;
};

class JsonSource : public Source {
  public:
    JsonSource(std::unique_ptr<TrafficReader> reader, const Schema& schema)
        : reader_(std::move(reader)), schema_(schema) {}
    Result<bool> next(Labelled& out) override {
        TG_TRY(const bool more, reader_->next(item_));
        if (!more) {
            return false;
        }
        TG_TRY(const JsonValue json, document_.parse(item_.event_json));
        TG_TRY(out.event, parse_event(json, schema_));
        out.label = item_.label;
        out.known_at = item_.known_at;
        return true;
    }
    double progress() const override { return reader_->progress(); }

  private:
    std::unique_ptr<TrafficReader> reader_;
    const Schema& schema_;
    TrafficItem item_;
    JsonDocument document_;
};

Result<std::unique_ptr<Source>> open_source(const std::string& path, const Schema& schema) {
    if (path.ends_with(".csv") || path.ends_with(".csv.zst")) {
        TG_TRY(std::vector<HandbookRow> rows, read_handbook(path));
        return std::unique_ptr<Source>(std::make_unique<HandbookSource>(std::move(rows)));
    }
    TG_TRY(std::unique_ptr<TrafficReader> reader, TrafficReader::open(path));
    return std::unique_ptr<Source>(std::make_unique<JsonSource>(std::move(reader), schema));
}

constexpr std::uint64_t kSweepEvery = 4096;  // events; expired rows go a few keys at a time
constexpr std::size_t kSweepKeys = 512;

}  // namespace

Result<std::uint64_t> for_each_feature_row(const PolicyPack& pack, const std::string& path,
                                           const FeatureSpan& span, bool quiet,
                                           const std::function<Status(const FeatureRow&)>& f) {
    TG_TRY(const auto source, open_source(path, pack.schema()));
    const WindowPlan& plan = pack.rules->plan;
    WindowStore windows(plan, {});
    EventRow row(pack);
    Labelled now;
    ProgressBar bar("features", quiet);
    std::uint64_t arrival = 0;
    std::vector<WindowStore::KeyRef> gone;
    for (;;) {
        TG_TRY(const bool more, source->next(now));
        if (!more || (span.until && now.event.occurred_at >= *span.until)) {
            break;
        }
        row.set(now.event);
        const WindowValues& values = row.assess(windows, ++arrival, RecordMode::kRecord);
        if (!span.from || now.event.occurred_at >= *span.from) {
            const EvalInput rules = row.input();
            const FeatureRow out{
                .event_id = now.event.event_id,
                .account_id = now.event.account_id,
                .at_s = static_cast<double>(to_micros(now.event.occurred_at)) / 1e6,
                .at = now.event.occurred_at,
                .label = now.label,
                .input = {.fields = rules.fields,
                          .windows = values.values,
                          .store = &windows,
                          .keys = &row.keys(),
                          .at = now.event.occurred_at,
                          .arrival = arrival},
                .rules = &rules};
            if (Status done = f(out); !done) {
                return std::move(done).error();
            }
        }
        if (now.label != Label::kNone) {
            (void)row.label(windows, arrival, now.label, now.known_at);
        }
        if (arrival % kSweepEvery == 0) {
            gone.clear();
            windows.sweep(kSweepKeys, now.event.occurred_at - plan.retention, gone);
            bar.show(source->progress(), arrival, "events");
        }
    }
    return arrival;
}

Result<Buckets> read_buckets(const std::string& model) {
    Result<MappedFile> file = MappedFile::open(model + "/buckets.json");
    if (!file && file.error().fault == Fault::kNotFound) {
        return Buckets{};
    }
    if (!file) {
        return file.error();
    }
    Result<Buckets> out = Buckets::parse(file->text());
    if (!out) {
        return Error{out.error().fault, model + "/" + out.error().message};
    }
    return out;
}

}  // namespace tollgate::apps
