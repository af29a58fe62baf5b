// `tollgate model`, `tollgate tokenize`, `tollgate kernels`: a model's folder from outside.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/cpu.h"
#include "apps/line_reader.h"
#include "apps/open_model.h"
#include "apps/open_pack.h"
#include "apps/peaks.h"
#include "base/hash.h"
#include "tensor/mapped_file.h"

namespace tollgate::apps {

namespace {

constexpr std::size_t kReadBuffer = std::size_t{256} << 20;

struct ModelOptions {
    ModelChoice choice;
    std::string policy;
    std::string input;
    std::string from;
    std::string until;
    std::string pooling = "mean";
    bool normalise = false;
    bool quiet = false;
};

Status write_file(const std::string& path, const std::string& text) {
    const std::string draft = path + ".new";
    {
        std::ofstream file(draft, std::ios::trunc);
        file << text << "\n";
        file.close();
        if (!file) {
            return Error{Fault::kBadInput, draft + ": cannot be written"};
        }
    }
    if (std::rename(draft.c_str(), path.c_str()) != 0) {
        return Error{Fault::kBadInput, path + ": cannot be replaced"};
    }
    return ok();
}

void print_calibration(const pipeline::Calibration& c) {
    (void)std::printf(
        "rows             %llu, %llu frauds\n"
        "probability      1 / (1 + exp(-(%.4f * logit %+.4f)))\n"
        "calibration      ECE %.5f (15 bins of equal mass), Brier %.5f\n"
        "ranking          average precision %.4f, AUC %.4f\n"
        "knots            p_low %.6f -> score 0.3, p_high %.6f -> score 0.7\n"
        "grey             %.3f %% of these events\n",
        static_cast<unsigned long long>(c.rows), static_cast<unsigned long long>(c.frauds), c.slope,
        c.bias, c.ece, c.brier, c.ap, c.auc, c.p_low, c.p_high, 100.0 * c.grey_share);
}

Status activate(const ModelOptions& options) {
    TG_TRY(const auto pack, open_pack(options.policy));
    TG_TRY(const OpenedModel model, open_model(options.choice));
    FeatureSpan span;
    TG_TRY(span.from, moment_of("--from", options.from));
    TG_TRY(span.until, moment_of("--until", options.until));
    TG_TRY(const std::vector<ScoredRow> rows,
           score_traffic(*pack, model, options.input, span, options.quiet));
    std::vector<double> logits;
    std::vector<std::uint8_t> fraud;
    logits.reserve(rows.size());
    fraud.reserve(rows.size());
    for (const ScoredRow& row : rows) {
        if (!std::isfinite(row.logit)) {
            return Error{Fault::kBadInput, "the model gives scores that are no numbers"};
        }
        logits.push_back(row.logit);
        fraud.push_back(row.fraud ? 1 : 0);
    }
    const BandRules& bands = pack->policy.bands;
    TG_TRY(pipeline::Calibration fitted,
           pipeline::fit_calibration(
               logits, fraud,
               {.grey_share = bands.grey_share, .decline_precision = bands.decline_precision}));
    TG_TRY(const MappedFile data, MappedFile::open(options.input));
    fitted.data_sha256 = to_hex(sha256(data.text()));
    print_calibration(fitted);
    if (Status good = pipeline::check_limits(fitted, pack->policy.model); !good) {
        return Error{good.error().fault, good.error().message +
                                             "; the model is refused, its "
                                             "folder left as it was"};
    }
    if (Status wrote =
            write_file(options.choice.folder + "/calibration.json", pipeline::to_json(fitted));
        !wrote) {
        return wrote;
    }
    TG_TRY(const std::string digest, model_digest(options.choice.folder));
    (void)std::printf("activated        %s\ndigest           %s\n", options.choice.folder.c_str(),
                      digest.c_str());
    return ok();
}

Status inspect(const ModelOptions& options) {
    TG_TRY(const OpenedModel opened, open_model(options.choice));
    const Encoder& encoder = *opened.model->encoder;
    const EncoderConfig& config = encoder.config();
    (void)std::printf(
        "architecture     %s\n"
        "shape            %zu layers x %zu, %zu heads, inner %zu, %zu positions, %zu labels\n"
        "vocabulary       %zu pieces (the model has %zu)\n"
        "parameters       %zu, %s: %.2f MiB in memory\n"
        "kernels          %s\n"
        "digest           %s\n",
        config.architecture.c_str(), config.layers, config.hidden_size, config.heads,
        config.intermediate_size, config.max_positions, encoder.labels(),
        opened.model->tokenizer.size(), config.vocab_size, encoder.parameters(),
        std::string(to_text(encoder.precision())).c_str(),
        static_cast<double>(encoder.weight_bytes()) / 1048576.0,
        std::string(opened.table->name).c_str(), opened.profile.digest.c_str());
    std::string fields;
    for (const std::string& name : opened.profile.buckets.names()) {
        fields += (fields.empty() ? "" : " ") + name;
    }
    (void)std::printf("fields           %s\n",
                      fields.empty() ? "none (text only)" : fields.c_str());
    if (opened.profile.calibration) {
        print_calibration(*opened.profile.calibration);
    } else {
        (void)std::printf("calibration      none: `tollgate model activate` fits one\n");
    }
    return ok();
}

Status score(const ModelOptions& options) {
    TG_TRY(const OpenedModel opened, open_model(options.choice));
    TG_TRY(const auto lines, LineReader::open(options.input));
    BatchScorer scorer(*opened.model);
    for (std::string_view line;;) {
        TG_TRY(const bool more, lines->next(line));
        if (!more) {
            break;
        }
        scorer.add(line, [](const ScoredText& scored) {
            (void)std::printf("%.9g\t%u\t%u\n", static_cast<double>(scored.logit), scored.tokens,
                              scored.cut);
        });
    }
    scorer.flush();
    return ok();
}

void print_row(std::span<const float> row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        (void)std::printf("%s%.9g", i == 0 ? "" : " ", static_cast<double>(row[i]));
    }
    (void)std::printf("\n");
}

// Any encoder, with a head or without: one line of numbers a text, or a token.
Status embed(const ModelOptions& options) {
    TG_TRY(const kernels::KernelTable* table, kernels::choose_table(options.choice.kernels));
    TG_TRY(const Precision precision, precision_of(options.choice.precision));
    TG_TRY(const auto tokenizer, WordPiece::load(options.choice.folder));
    TG_TRY(const auto encoder,
           Encoder::load(options.choice.folder, *table, {.precision = precision}));
    if (tokenizer.size() > encoder->config().vocab_size) {
        return Error{Fault::kBadInput, "the vocabulary is larger than the model's"};
    }
    TG_TRY(const auto lines, LineReader::open(options.input));
    const std::size_t most = encoder->config().max_positions;
    const std::size_t hidden = encoder->config().hidden_size;
    TileLane lane(2, ThreadRole::kBackground, "embed");
    EncoderWorkspace work(encoder->config(), most, 1, lane.threads());
    std::vector<float> out(most * hidden);
    WordPiece::Scratch scratch;
    Tokens tokens;
    for (std::string_view line;;) {
        TG_TRY(const bool more, lines->next(line));
        if (!more) {
            return ok();
        }
        tokenizer.encode(line, most, scratch, tokens);
        const std::uint32_t starts[] = {0, static_cast<std::uint32_t>(tokens.ids.size())};
        const TokenBatch batch{.ids = tokens.ids, .starts = starts};
        if (options.pooling == "rows") {
            const std::span<float> rows(out.data(), tokens.ids.size() * hidden);
            encoder->hidden(batch, work, lane, rows);
            for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
                print_row(rows.subspan(i * hidden, hidden));
            }
            continue;
        }
        const std::span<float> vector(out.data(), hidden);
        encoder->pool(batch, options.pooling == "cls" ? Pooling::kCls : Pooling::kMean,
                      options.normalise, work, lane, vector);
        print_row(vector);
    }
}

Status tokenize(const ModelOptions& options) {
    TG_TRY(const auto tokenizer, WordPiece::load(options.choice.folder));
    TG_TRY(const auto lines, LineReader::open(options.input));
    WordPiece::Scratch scratch;
    Tokens tokens;
    for (std::string_view line;;) {
        TG_TRY(const bool more, lines->next(line));
        if (!more) {
            return ok();
        }
        tokenizer.encode(line, 8192, scratch, tokens);
        for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
            (void)std::printf("%s%d", i == 0 ? "" : " ", tokens.ids[i]);
        }
        (void)std::printf("\n");
    }
}

Status list_kernels(bool peaks) {
    bool first = true;
    for (const kernels::TableChoice& choice : kernels::known_tables()) {
        const bool taken = choice.table != nullptr && first;
        (void)std::printf("%-8s %-9s %s\n", std::string(choice.name).c_str(),
                          choice.table == nullptr ? "declined"
                          : taken                 ? "taken"
                                                  : "available",
                          choice.reason.c_str());
        first = first && choice.table == nullptr;
        if (peaks && choice.table != nullptr && choice.table->peak_s8.run != nullptr) {
            (void)std::printf("%-18s one core at most: int8 %.0f, fp32 %.0f GMAC/s\n", "",
                              peak_gmacs(choice.table->peak_s8),
                              peak_gmacs(choice.table->peak_f32));
        }
    }
    for (const std::size_t threads : {std::size_t{1}, cpu_threads()}) {
        if (peaks && (threads == 1 || cpu_threads() > 1)) {
            (void)std::printf("%-18s %zu thread%s read %.0f GB/s out of %zu MiB\n", "", threads,
                              threads == 1 ? "" : "s", read_bandwidth(kReadBuffer, threads),
                              kReadBuffer >> 20);
        }
    }
    return ok();
}

void add_choice(CLI::App& command, ModelOptions& options) {
    command.add_option("--kernels", options.choice.kernels,
                       "kernel table (default: the best; see `tollgate kernels`)");
    command.add_option("--precision", options.choice.precision, "fp32 or int8")
        ->check(CLI::IsMember({"fp32", "int8"}))
        ->capture_default_str();
}

void add_lines(CLI::App& command, ModelOptions& options) {
    command.add_option("--input", options.input, "a file of texts, one a line; .zst too")
        ->required();
}

void register_activate(CLI::App& model, int& exit_code) {
    auto options = std::make_shared<ModelOptions>();
    CLI::App* command = model.add_subcommand(
        "activate",
        "Fit a model's calibration and bands on labelled traffic and store them in its folder.\n"
        "  tollgate model activate models/default --policy policies/default --input "
        "held_out.jsonl\n"
        "Runs the traffic through the pack's windows and encoder.j2, scores it, fits Platt's line "
        "and the two knots of the score (bands.decline_precision, bands.grey_share of the pack), "
        "and writes calibration.json. Refused, and nothing written, when the calibration error is "
        "above the pack's model.max_ece or the average precision below model.min_ap. Use events "
        "that the model was not trained on.");
    command->add_option("folder", options->choice.folder, "model folder")->required();
    command->add_option("--policy", options->policy, "policy pack folder (default: the embedded)");
    command->add_option("--input", options->input, "JSONL traffic or the Handbook's CSV; .zst too")
        ->required();
    command->add_option("--from", options->from, "use events from this time on (RFC 3339)");
    command->add_option("--until", options->until, "end before the first event at this time");
    command->add_flag("--quiet", options->quiet, "no progress line");
    add_choice(*command, *options);
    command->callback(
        [options, &exit_code] { exit_code = report("model activate", activate(*options)); });
}

}  // namespace

void register_model(CLI::App& app, int& exit_code) {
    CLI::App* model = app.add_subcommand(
        "model", "Look at encoder models, calibrate and try them.\n  tollgate model inspect DIR");
    model->require_subcommand(1);
    register_activate(*model, exit_code);
    const auto add = [&](const char* name, const char* help, Status (*run)(const ModelOptions&),
                         bool lines) {
        auto options = std::make_shared<ModelOptions>();
        CLI::App* command = model->add_subcommand(name, help);
        command->add_option("folder", options->choice.folder, "model folder")->required();
        if (lines) {
            add_lines(*command, *options);
        }
        add_choice(*command, *options);
        if (std::string_view(name) == "embed") {
            command
                ->add_option("--pooling", options->pooling,
                             "mean, cls (through the pooler), or rows: the last hidden states, a "
                             "line a token")
                ->check(CLI::IsMember({"mean", "cls", "rows"}))
                ->capture_default_str();
            command->add_flag("--normalise", options->normalise, "divide by the Euclidean norm");
        }
        command->callback([options, run, name, &exit_code] {
            exit_code = report(std::string("model ") + name, run(*options));
        });
    };
    add("inspect", "Print a model's shape, size, digest, fields and calibration.", inspect, false);
    add("score", "Score texts, one a line: logit, tokens, tokens cut off.", score, true);
    add("embed", "Pooled vectors of texts, one a line.", embed, true);
}

void register_tokenize(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<ModelOptions>();
    CLI::App* command = app.add_subcommand(
        "tokenize",
        "Token ids of texts, one a line.\n  tollgate tokenize --model DIR --input texts.txt");
    command->add_option("--model", options->choice.folder, "model folder")->required();
    add_lines(*command, *options);
    command->callback(
        [options, &exit_code] { exit_code = report("tokenize", tokenize(*options)); });
}

void register_kernels(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("kernels",
                                           "List the kernel tables, why each was taken or declined "
                                           "on this machine, and what a core can "
                                           "do at most.");
    auto quick = std::make_shared<bool>(false);
    command->add_flag("--quick", *quick, "do not measure the peaks (about a second)");
    command->callback(
        [quick, &exit_code] { exit_code = report("kernels", list_kernels(!*quick)); });
}

}  // namespace tollgate::apps
