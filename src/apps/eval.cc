// One run over the Handbook; every test week's events go to that week's models.
#include "apps/eval.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/open_pack.h"
#include "base/hash.h"
#include "build_info.h"
#include "decision/combine.h"
#include "engine/scoring_model.h"
#include "tensor/mapped_file.h"
#include "text/json.h"
#include "text/json_writer.h"

namespace tollgate::apps {

namespace {

constexpr std::int64_t kDayUs = 86'400'000'000;
constexpr std::string_view kFolds[] = {"2018-07-25", "2018-08-01", "2018-08-08", "2018-08-15"};
constexpr std::int64_t kTestFrom = 14;  // days after the training week began
constexpr std::int64_t kTestDays = 7;

Result<std::int64_t> day_of(std::string_view date) {
    TG_TRY(const EventTime at, parse_rfc3339("date", std::string(date) + "T00:00:00Z"));
    return to_micros(at) / kDayUs;
}

// The model's own word on what it was trained on: refused when that reaches past its training week
// or was another file.
Status check_training(const std::string& folder, std::int64_t first_day,
                      const std::string& data_sha256) {
    TG_TRY(const auto text, model_file(folder, "training.json"));
    if (!text) {
        return Error{Fault::kBadInput, folder + ": has no training.json: its span is not known"};
    }
    JsonDocument document;
    TG_TRY(const JsonValue root, document.parse(*text));
    const auto span = root.find("train_span");
    const auto digest = root.find("data_sha256");
    std::string until;
    if (span && span->is(JsonKind::kArray)) {
        span->each_item([&](const JsonValue& item) {
            until = item.is(JsonKind::kString) ? std::string(item.string()) : "";
            return true;
        });
    }
    TG_TRY(const EventTime end, parse_rfc3339("train_span", until));
    if (to_micros(end) / kDayUs > first_day + kTestDays) {
        return Error{Fault::kBadInput,
                     folder + ": was trained until " + until + ", past its training week"};
    }
    if (!digest || !digest->is(JsonKind::kString) || digest->string() != data_sha256) {
        return Error{Fault::kBadInput, folder + ": was trained on another file"};
    }
    return ok();
}

Result<EvalWeek> open_week(const EvalOptions& options, const PolicyPack& pack,
                           std::string_view fold, const std::string& data_sha256) {
    EvalWeek week;
    week.fold = std::string(fold);
    TG_TRY(week.first_day, day_of(fold));
    for (int seed = 0; seed < 10; ++seed) {
        const std::string name = options.profile + "-" + week.fold + "-s" + std::to_string(seed);
        const std::string folder = options.models + "/" + name;
        if (!std::filesystem::exists(folder)) {
            continue;
        }
        if (Status fits = check_training(folder, week.first_day, data_sha256); !fits) {
            return std::move(fits).error();
        }
        TG_TRY(OpenedModel model, open_model({.folder = folder, .kernels = {}}));
        if (Status reads = pack.encoder->check(model.profile.buckets); !reads) {
            return std::move(reads).error();
        }
        week.scorers.push_back(std::make_unique<BatchScorer>(*model.model));
        week.models.push_back(std::move(model));
        week.names.push_back(name);
    }
    if (week.models.empty()) {
        return Error{Fault::kNotFound, options.models + ": has no model " + options.profile + "-" +
                                           week.fold + "-s0"};
    }
    week.logits.resize(week.models.size());
    return week;
}

// Severity of the rules' decision, then the number of hits.
double rules_score(const PolicyPack& pack, const FeatureRow& row, RuleResults& results) {
    results.clear();
    evaluate_rules(*pack.rules, *row.rules, false, results);
    const Combined combined = combine({.rules = pack.rules.get(),
                                       .results = &results,
                                       .policy = &pack.policy,
                                       .at = row.at,
                                       .blocked = false,
                                       .limit = LimitCheck::kNone,
                                       .vote = std::nullopt,
                                       .model_fault = false});
    return static_cast<double>(combined.decision) +
           static_cast<double>(std::min<std::size_t>(results.hit_count, 999)) / 1000.0;
}

Status take_row(const PolicyPack& pack, const FeatureRow& row, std::uint64_t customer,
                EvalWeek& week, RuleResults& results) {
    week.rules.push_back(rules_score(pack, row, results));
    week.fraud.push_back(row.label == Label::kFraud ? 1 : 0);
    week.day.push_back(to_micros(row.at) / kDayUs);
    week.customer.push_back(customer);
    std::string text;
    for (std::size_t i = 0; i < week.models.size(); ++i) {
        text.clear();
        if (Status done = pack.encoder->render(row.input, week.models[i].profile.buckets, text);
            !done) {
            return done;
        }
        week.scorers[i]->add(text, [&week, i](const ScoredText& scored) {
            week.logits[i].push_back(static_cast<double>(scored.logit));
        });
    }
    return ok();
}

struct Judged {
    std::string name;  // "model", "rules", "both"
    std::vector<EvalFigures> weeks;
};

EvalFigures over(const std::vector<EvalFigures>& all, double (*f)(std::vector<double>)) {
    const auto of = [&](double EvalFigures::*member) {
        std::vector<double> values;
        values.reserve(all.size());
        for (const EvalFigures& figures : all) {
            values.push_back(figures.*member);
        }
        return f(std::move(values));
    };
    return {.auc = of(&EvalFigures::auc),
            .ap = of(&EvalFigures::ap),
            .cp100 = of(&EvalFigures::cp100),
            .cp100_of_ceiling = of(&EvalFigures::cp100_of_ceiling),
            .f1 = of(&EvalFigures::f1)};
}

double mean(std::vector<double> values) {
    double sum = 0.0;
    for (const double value : values) {
        sum += value;
    }
    return sum / static_cast<double>(values.size());
}

double deviation(std::vector<double> values) {
    const double centre = mean(values);
    double squares = 0.0;
    for (const double value : values) {
        squares += (value - centre) * (value - centre);
    }
    return values.size() < 2 ? 0.0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
}

void write_figures(JsonWriter& out, std::string_view name, const EvalFigures& figures) {
    out.key(name);
    out.begin_object();
    const std::pair<const char*, double> all[] = {{"auc", figures.auc},
                                                  {"ap", figures.ap},
                                                  {"cp100", figures.cp100},
                                                  {"cp100_of_ceiling", figures.cp100_of_ceiling},
                                                  {"f1", figures.f1}};
    for (const auto& [key, value] : all) {
        out.key(key);
        out.number(value);
    }
    out.end_object();
}

void print_line(const std::string& name, const EvalFigures& f) {
    (void)std::printf("%-26s %7.4f %7.4f %7.4f %9.3f %7.4f\n", name.c_str(), f.auc, f.ap, f.cp100,
                      f.cp100_of_ceiling, f.f1);
}

Status report_weeks(const EvalOptions& options, const std::vector<EvalWeek>& weeks) {
    std::vector<Judged> judged{{"model", {}}, {"rules", {}}, {"both", {}}};
    std::vector<EvalFigures> seeds;
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    out.key("build");
    out.string(kBuildVersion);
    out.key("split");
    out.string(options.split);
    out.key("rules_know_the_generator");
    out.boolean(true);
    out.key("weeks");
    out.begin_array();
    (void)std::printf("%-26s %7s %7s %7s %9s %7s\n", "", "AUC", "AP", "CP@100", "of ceil.", "F1");
    for (const EvalWeek& week : weeks) {
        out.begin_object();
        out.key("fold");
        out.string(week.fold);
        std::vector<EvalFigures> by_seed;
        std::vector<EvalFigures> both;
        for (std::size_t i = 0; i < week.models.size(); ++i) {
            by_seed.push_back(figures_of(week, week.logits[i]));
            both.push_back(figures_of(week, both_of(week, week.logits[i])));
            print_line(week.names[i], by_seed.back());
            write_figures(out, week.names[i], by_seed.back());
            seeds.push_back(by_seed.back());
        }
        judged[0].weeks.push_back(over(by_seed, median));
        judged[1].weeks.push_back(figures_of(week, week.rules));
        judged[2].weeks.push_back(over(both, median));
        for (const Judged& judge : judged) {
            write_figures(out, judge.name, judge.weeks.back());
            print_line("  " + judge.name, judge.weeks.back());
        }
        out.end_object();
    }
    out.end_array();
    (void)std::printf("mean of %zu weeks, median of seeds; spread: standard deviation over weeks\n",
                      weeks.size());
    for (const Judged& judge : judged) {
        const EvalFigures all = over(judge.weeks, mean);
        write_figures(out, judge.name, all);
        print_line(judge.name, all);
        const EvalFigures spread = over(judge.weeks, deviation);
        write_figures(out, judge.name + "_spread", spread);
        print_line("  spread", spread);
    }
    out.end_object();
    if (options.json.empty()) {
        return ok();
    }
    TG_TRY(const auto file, LineWriter::open(options.json));
    TG_TRY([[maybe_unused]] const auto wrote, file->write(text));
    return file->close();
}

}  // namespace

Status eval_handbook(const EvalOptions& options) {
    TG_TRY(const auto pack, open_pack(options.policy, "handbook"));
    if (pack->encoder == nullptr) {
        return Error{Fault::kBadInput, "the pack has no encoder.j2"};
    }
    std::string digest;
    {
        TG_TRY(const MappedFile data, MappedFile::open(options.input));
        digest = to_hex(sha256(data.text()));
    }
    std::vector<EvalWeek> weeks;
    for (const std::string_view fold : kFolds) {
        if (options.split == "baseline" && fold != kFolds[0]) {
            break;
        }
        TG_TRY(EvalWeek week, open_week(options, *pack, fold, digest));
        weeks.push_back(std::move(week));
    }
    KnownCustomers customers;
    RuleResults results;
    FeatureSpan span;
    const std::int64_t last_day = weeks.back().first_day + kTestFrom + kTestDays;
    span.until = from_micros(last_day * kDayUs);
    TG_TRY([[maybe_unused]] const std::uint64_t events,
           for_each_feature_row(
               *pack, options.input, span, options.quiet, [&](const FeatureRow& row) -> Status {
                   const std::int64_t day = to_micros(row.at) / kDayUs;
                   const std::uint64_t customer = hash64(row.account_id);
                   for (EvalWeek& week : weeks) {
                       const std::int64_t test_day = day - week.first_day;
                       if (test_day >= kTestFrom && test_day < kTestFrom + kTestDays &&
                           !customers.known(week.first_day, day, customer)) {
                           if (Status took = take_row(*pack, row, customer, week, results); !took) {
                               return took;
                           }
                       }
                   }
                   if (row.label == Label::kFraud) {
                       customers.add(day, customer);
                   }
                   return ok();
               }));
    for (EvalWeek& week : weeks) {
        for (const auto& scorer : week.scorers) {
            scorer->flush();
        }
    }
    return report_weeks(options, weeks);
}

void register_eval(CLI::App& app, int& exit_code) {
    CLI::App* eval =
        app.add_subcommand("eval", "Measure quality.\n  tollgate eval handbook --help");
    eval->require_subcommand(1);
    auto options = std::make_shared<EvalOptions>();
    CLI::App* command = eval->add_subcommand(
        "handbook",
        "Encoder, rules and both on the Fraud-Detection-Handbook's transactions, by its protocol: "
        "train a week (and what came before), wait seven days for labels, test the week that "
        "begins "
        "14 days after the training week; customers known as defrauded are left out.\n"
        "  tollgate eval handbook --input handbook.csv.zst --split prequential\n"
        "Windows and texts are made as the server makes them. A model that was trained past its "
        "week, or on another file, is refused. The pack's rules were written by somebody who knows "
        "how the data was generated.");
    command->add_option("--input", options->input, "the Handbook's transactions, .csv or .csv.zst")
        ->required();
    command->add_option("--split", options->split, "baseline: one week; prequential: four")
        ->check(CLI::IsMember({"baseline", "prequential"}))
        ->capture_default_str();
    command->add_option("--models", options->models, "folder of PROFILE-FOLD-sSEED models")
        ->capture_default_str();
    command->add_option("--profile", options->profile, "accurate or fast")->capture_default_str();
    command->add_option("--policy", options->policy,
                        "policy pack folder (default: the embedded handbook pack)");
    command->add_option("--json", options->json, "write the figures to this file, too");
    command->add_flag("--quiet", options->quiet, "no progress line");
    command->callback(
        [options, &exit_code] { exit_code = report("eval handbook", eval_handbook(*options)); });
}

}  // namespace tollgate::apps
