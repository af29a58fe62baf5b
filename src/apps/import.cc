// `tollgate import`: months of events and outcomes become history, without decisions.
#include "pipeline/import.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/line_reader.h"
#include "apps/open_pack.h"
#include "apps/traffic.h"
#include "base/faults.h"
#include "base/metrics.h"
#include "build_info.h"
#include "decision/event_json.h"
#include "pipeline/virtual_loop.h"
#include "store/store.h"
#include "text/json.h"

namespace tollgate::apps {

namespace {

struct ImportOptions {
    std::string input;
    std::string data;
    std::string tenant = "default";
    std::string policy;
    std::string until;
    bool quiet = false;
};

class Progress {
  public:
    explicit Progress(bool quiet) : quiet_(quiet) {}
    void show(double share, std::uint64_t events, bool last) {
        const auto now = Steady::now();
        if (quiet_ || (!last && now - shown_ < std::chrono::milliseconds(200))) {
            return;
        }
        shown_ = now;
        const double seconds = std::chrono::duration<double>(now - began_).count();
        (void)std::fprintf(stderr, "\rimport %5.1f %%  %llu events  %.0f events/s%s", share * 100.0,
                           static_cast<unsigned long long>(events),
                           seconds > 0 ? static_cast<double>(events) / seconds : 0.0,
                           last ? "\n" : "");
        (void)std::fflush(stderr);
    }

  private:
    bool quiet_;
    Steady::time_point began_ = Steady::now();
    Steady::time_point shown_{};
};

Status import_handbook(const ImportOptions& options, std::optional<EventTime> until,
                       pipeline::Importer& importer, Progress& progress) {
    TG_TRY(const auto rows, read_handbook(options.input));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Event event = handbook_event(rows[i]);
        if (until && event.occurred_at >= *until) {
            break;
        }
        TG_TRY(const auto added, importer.add(event, handbook_outcome(rows[i])));
        (void)added;
        progress.show(static_cast<double>(i) / static_cast<double>(rows.size()), i, false);
    }
    return ok();
}

Status import_line(std::string_view line, JsonDocument& json, std::optional<EventTime> until,
                   pipeline::Importer& importer, bool& past) {
    TG_TRY(const JsonValue root, json.parse(line));
    const auto event_json = root.is(JsonKind::kObject) ? root.find("event") : std::nullopt;
    if (!event_json) {
        return Error{Fault::kBadInput, "member \"event\" is missing"};
    }
    TG_TRY(const Event event, parse_event(*event_json, importer.pack().schema()));
    past = until && event.occurred_at >= *until;
    if (past) {
        return ok();
    }
    std::optional<Outcome> outcome;
    if (const auto found = root.find("outcome"); found && !found->is(JsonKind::kNull)) {
        TG_TRY(outcome, parse_outcome(*found));
        if (outcome->event_id != event.event_id) {
            return Error{Fault::kBadInput,
                         "outcome.event_id = \"" + outcome->event_id + "\" is not this event's"};
        }
    }
    return importer.add(event, outcome);
}

Status import_jsonl(const ImportOptions& options, std::optional<EventTime> until,
                    pipeline::Importer& importer, Progress& progress) {
    TG_TRY(const auto lines, LineReader::open(options.input));
    JsonDocument json;
    std::string_view line;
    for (bool past = false; !past;) {
        TG_TRY(const bool more, lines->next(line));
        if (!more) {
            break;
        }
        if (line.empty()) {
            continue;
        }
        if (Status taken = import_line(line, json, until, importer, past); !taken) {
            return Error{taken.error().fault, options.input + ":" +
                                                  std::to_string(lines->line_number()) + ": " +
                                                  taken.error().message};
        }
        const double share = lines->file_size() == 0 ? 0.0
                                                     : static_cast<double>(lines->bytes_read()) /
                                                           static_cast<double>(lines->file_size());
        progress.show(share, importer.stats().events, false);
    }
    return ok();
}

Result<bool> is_handbook(const std::string& path) {
    TG_TRY(const auto lines, LineReader::open(path));
    std::string_view first;
    TG_TRY(const bool any, lines->next(first));
    return any && first.substr(0, 15) == "TRANSACTION_ID,";
}

Status run_import(const ImportOptions& options) {
    TG_TRY(const std::optional<EventTime> until, moment_of("--until", options.until));
    TG_TRY(const bool handbook, is_handbook(options.input));
    TG_TRY(const auto pack, open_pack(options.policy));
    FaultSwitches faults;
    Metrics metrics;
    store::StoreOptions store_options;
    store_options.path = options.data;
    TG_TRY(const auto store, store::Store::open(store_options, faults, metrics));
    pipeline::VirtualLoop loop(EventTime{}, &faults);
    pipeline::PipelineOptions pipeline_options;
    pipeline_options.snapshot_every = std::chrono::seconds(0);
    pipeline_options.build = kBuildVersion;
    TG_TRY(const auto pipeline, pipeline::Pipeline::open(pipeline_options, pack, *store, loop,
                                                         metrics, faults, nullptr));
    TG_TRY(const auto importer, pipeline::Importer::open(*pipeline, options.tenant));
    const auto began = Steady::now();
    Progress progress(options.quiet);
    TG_TRY(const auto imported, handbook ? import_handbook(options, until, *importer, progress)
                                         : import_jsonl(options, until, *importer, progress));
    TG_TRY(const auto finished, importer->finish());
    (void)imported;
    (void)finished;
    progress.show(1.0, importer->stats().events, true);
    const double seconds = std::chrono::duration<double>(Steady::now() - began).count();
    const pipeline::ImportStats& stats = importer->stats();
    (void)std::printf("events=%llu outcomes=%llu duplicates=%llu seconds=%.1f events_per_s=%.0f\n",
                      static_cast<unsigned long long>(stats.events),
                      static_cast<unsigned long long>(stats.outcomes),
                      static_cast<unsigned long long>(stats.duplicates), seconds,
                      seconds > 0 ? static_cast<double>(stats.events) / seconds : 0.0);
    return ok();
}

}  // namespace

void register_import(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<ImportOptions>();
    CLI::App* command = app.add_subcommand(
        "import",
        "Load past events and outcomes as history, without deciding them.\n"
        "  tollgate import --input history.jsonl.zst --data ./data --tenant demo\n"
        "The data folder's server must be stopped. Events that are there already are skipped and "
        "counted.");
    command
        ->add_option("--input", options->input,
                     "JSONL of {\"event\",\"outcome\"} or the Handbook's CSV; .zst too")
        ->required();
    command->add_option("--data", options->data, "data folder")->required();
    command->add_option("--tenant", options->tenant, "tenant the history belongs to")
        ->capture_default_str();
    command->add_option("--policy", options->policy,
                        "policy pack folder (default: the embedded pack)");
    command->add_option("--until", options->until,
                        "only events before this time (2018-08-08 or RFC 3339)");
    command->add_flag("--quiet", options->quiet, "no progress line");
    command->callback([options, &exit_code] {
        if (const Status status = run_import(*options); !status) {
            (void)std::fprintf(stderr, "\ntollgate import: %s\n", status.error().message.c_str());
            exit_code = status.error().fault == Fault::kBadInput ? 2 : 1;
        }
    });
}

}  // namespace tollgate::apps
