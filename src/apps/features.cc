// `tollgate features export`: the encoder's inputs of a traffic file, exactly as the server would
// render them, with the events' later truth.
#include "apps/features.h"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/event_row.h"
#include "apps/open_pack.h"
#include "apps/traffic.h"
#include "decision/event_json.h"
#include "text/json.h"

namespace tollgate::apps {

namespace {

std::string number_text(double value) {
    if (std::isnan(value)) {
        return {};
    }
    std::array<char, 40> room{};
    const auto [end, fault] = std::to_chars(room.data(), room.data() + room.size(), value);
    return {room.data(), end};
}

std::string_view label_text(Label label) {
    return label == Label::kFraud ? "1" : label == Label::kLegit ? "0" : "";
}

// Names of a rendering's numbers; one that comes again (in a loop over the history) gets .1, .2 …
std::vector<std::string> column_names(const std::vector<BucketNumber>& numbers) {
    std::vector<std::string> out;
    out.reserve(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        std::size_t before = 0;
        for (std::size_t j = 0; j < i; ++j) {
            before += numbers[j].name == numbers[i].name ? 1U : 0U;
        }
        out.push_back(numbers[i].name + (before == 0 ? "" : "." + std::to_string(before)));
    }
    return out;
}

// A cell of a CSV; an id may hold commas and quotation marks.
std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"") == std::string::npos) {
        return text;
    }
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' ? "\"\"" : std::string(1, c);
    }
    return out + "\"";
}

// Writes what was asked for, one line an event.
class Exporter {
  public:
    Exporter(const EncoderText& encoder, const Buckets* buckets, LineWriter& out)
        : encoder_(encoder), buckets_(buckets), out_(out) {}

    Status write(const FeatureRow& row) {
        line_ = cell(row.event_id) + separator() + number_text(row.at_s) + separator() +
                cell(row.account_id) + separator() + std::string(label_text(row.label));
        if (buckets_ != nullptr) {
            if (!began_) {
                began_ = true;
                if (Status head = out_.write("event_id\toccurred_at\taccount_id\tlabel\ttext");
                    !head) {
                    return head;
                }
            }
            line_ += separator();
            if (Status done = encoder_.render(row.input, *buckets_, line_); !done) {
                return done;
            }
            return out_.write(line_);
        }
        return write_numbers(row);
    }

  private:
    // A TSV needs no quotes: ids hold no control characters.
    std::string cell(const std::string& id) const {
        return buckets_ != nullptr ? id : csv_cell(id);
    }
    std::string separator() const { return buckets_ != nullptr ? "\t" : ","; }

    // The header is of the first event; a template that makes other numbers of another is refused.
    Status write_numbers(const FeatureRow& row) {
        numbers_.clear();
        if (Status done = encoder_.numbers(row.input, numbers_); !done) {
            return done;
        }
        if (!began_) {
            began_ = true;
            const std::vector<std::string> names = column_names(numbers_);
            columns_ = names;
            std::string head = "event_id,occurred_at,account_id,label";
            for (const std::string& name : names) {
                head += "," + name;
            }
            if (Status wrote = out_.write(head); !wrote) {
                return wrote;
            }
        }
        const std::vector<std::string> names = column_names(numbers_);
        if (names != columns_) {
            return Error{Fault::kBadInput,
                         "event " + row.event_id + ": encoder.j2 makes " +
                             std::to_string(names.size()) + " numbers, the first event " +
                             std::to_string(columns_.size()) +
                             ": with --numbers a template makes the same ones for every event "
                             "(give `bucket` none where a history is short)"};
        }
        for (const BucketNumber& number : numbers_) {
            line_ += "," + number_text(number.value);
        }
        return out_.write(line_);
    }

    const EncoderText& encoder_;
    const Buckets* buckets_;
    LineWriter& out_;
    bool began_ = false;
    std::vector<std::string> columns_;
    std::vector<BucketNumber> numbers_;
    std::string line_;
};

struct ExportOptions {
    std::string policy;
    std::string input;
    std::string output = "-";
    std::string model;
    std::string from;
    std::string until;
    bool numbers = false;
    bool quiet = false;
};

Status export_features(const ExportOptions& options) {
    if (options.numbers == !options.model.empty()) {
        return Error{Fault::kBadInput, "either --numbers or --model FOLDER is wanted"};
    }
    TG_TRY(const auto pack, open_pack(options.policy));
    if (pack->encoder == nullptr) {
        return Error{Fault::kBadInput, "the pack has no encoder.j2"};
    }
    std::optional<Buckets> buckets;
    if (!options.model.empty()) {
        TG_TRY(buckets, read_buckets(options.model));
        if (Status fits = pack->encoder->check(*buckets); !fits) {
            return fits;
        }
    }
    FeatureSpan span;
    TG_TRY(span.from, moment_of("--from", options.from));
    TG_TRY(span.until, moment_of("--until", options.until));
    TG_TRY(const auto out, LineWriter::open(options.output));
    Exporter exporter(*pack->encoder, buckets ? &*buckets : nullptr, *out);
    const auto began = Steady::now();
    std::uint64_t written = 0;
    TG_TRY(
        const std::uint64_t events,
        for_each_feature_row(*pack, options.input, span, options.quiet, [&](const FeatureRow& row) {
            ++written;
            return exporter.write(row);
        }));
    if (Status closed = out->close(); !closed) {
        return closed;
    }
    const double seconds = std::chrono::duration<double>(Steady::now() - began).count();
    (void)std::fprintf(stderr, "events=%llu written=%llu seconds=%.1f\n",
                       static_cast<unsigned long long>(events),
                       static_cast<unsigned long long>(written), seconds);
    return ok();
}

}  // namespace

void register_features(CLI::App& app, int& exit_code) {
    CLI::App* features = app.add_subcommand(
        "features", "What the encoder reads of each event.\n  tollgate features export --help");
    features->require_subcommand(1);
    auto options = std::make_shared<ExportOptions>();
    CLI::App* command = features->add_subcommand(
        "export",
        "Run traffic through the pack's windows and write each event's encoder input with its "
        "label: what a model is trained, calibrated and measured on.\n"
        "  tollgate features export --policy policies/default --input traffic.jsonl --numbers "
        "--out numbers.csv\n"
        "  tollgate features export --policy policies/default --input traffic.jsonl --model "
        "models/default --out text.tsv\n"
        "--numbers gives the numbers that encoder.j2 hands to `bucket` (CSV; for fitting buckets); "
        "--model gives the text that this model reads (TSV). Columns: event_id, occurred_at "
        "(seconds), account_id, label (1 fraud, 0 legit, empty unknown), then the rest. Windows "
        "know a label only from its known_at on.");
    command->add_option("--policy", options->policy,
                        "policy pack folder (default: the embedded pack)");
    command->add_option("--input", options->input, "JSONL traffic or the Handbook's CSV; .zst too")
        ->required();
    command->add_option("--out", options->output, "file, - for standard output; .zst compresses")
        ->capture_default_str();
    command->add_option("--model", options->model, "model folder (its buckets.json is read)");
    command->add_flag("--numbers", options->numbers, "the numbers, before any bucket");
    command->add_option(
        "--from", options->from,
        "write events from this time on (RFC 3339); earlier ones only fill windows");
    command->add_option("--until", options->until, "end before the first event at this time");
    command->add_flag("--quiet", options->quiet, "no progress line");
    command->callback([options, &exit_code] {
        exit_code = report("features export", export_features(*options));
    });
}

}  // namespace tollgate::apps
