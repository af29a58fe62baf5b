// `tollgate bench encoder`: one model's forward pass at several shapes, interleaved, beside the
// machine's peak; or, with --serve, shapes that another program asks for line by line.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <random>
#include <vector>

#include "apps/bench.h"
#include "apps/cli.h"
#include "apps/cpu.h"
#include "apps/peaks.h"
#include "base/alloc_count.h"
#include "base/lanes.h"
#include "build_info.h"
#include "kernels/kernels.h"
#include "model/encoder.h"
#include "text/json_writer.h"

namespace tollgate::apps {

namespace {

constexpr std::size_t kMostTokens = 65'536;

struct Shape {
    std::size_t batch = 0;
    std::size_t tokens = 0;
    std::string text() const { return std::to_string(batch) + "x" + std::to_string(tokens); }
};

struct Row {
    Shape shape;
    std::vector<double> ms;
    std::uint64_t allocations = 0;
    double at(double share) const {
        const auto i = static_cast<std::size_t>(share * static_cast<double>(ms.size() - 1) + 0.5);
        return ms[i];
    }
};

Result<std::vector<Shape>> shapes_of(std::string_view text, std::size_t longest) {
    std::vector<Shape> out;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), one.size() + 1));
        const std::size_t x = one.find('x');
        Shape shape;
        const auto whole = [](std::string_view part, std::size_t& to) {
            const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), to);
            return error == std::errc() && end == part.data() + part.size() && to > 0;
        };
        if (x == std::string_view::npos || !whole(one.substr(0, x), shape.batch) ||
            !whole(one.substr(x + 1), shape.tokens) || shape.tokens > longest ||
            shape.batch * shape.tokens > kMostTokens) {
            return Error{Fault::kBadInput, "--shapes: \"" + std::string(one) +
                                               "\" is not BATCHxTOKENS with at most " +
                                               std::to_string(longest) + " tokens each and " +
                                               std::to_string(kMostTokens) + " in all"};
        }
        out.push_back(shape);
    }
    if (out.empty()) {
        return Error{Fault::kBadInput, "--shapes names no shape, say 1x128"};
    }
    return out;
}

// One model with an arena that grows to the largest shape asked. Its threads have nice 0, as the
// peers' have.
class Runner {
  public:
    Runner(const Encoder& encoder, std::size_t threads)
        : encoder_(encoder), lane_(threads, ThreadRole::kIo, "bench") {}

    // `ids` are batch x tokens. Milliseconds; out() holds logits, or first rows without a head.
    double run(const Shape& shape, std::span<const std::int32_t> ids) {
        reserve(shape);
        const TokenBatch batch{.ids = ids, .starts = starts_};
        const auto began = Steady::now();
        if (encoder_.labels() > 0) {
            encoder_.classify(batch, *work_, lane_, out_);
        } else {
            encoder_.pool(batch, Pooling::kMean, true, *work_, lane_, out_);
        }
        return std::chrono::duration<double, std::milli>(Steady::now() - began).count();
    }
    std::span<const float> out() const { return out_; }

  private:
    void reserve(const Shape& shape) {
        const std::size_t tokens = shape.batch * shape.tokens;
        if (work_ == nullptr || tokens > work_->max_tokens() ||
            shape.batch > work_->max_sequences()) {
            work_ = std::make_unique<EncoderWorkspace>(encoder_.config(), tokens, shape.batch,
                                                       lane_.threads());
        }
        starts_.resize(shape.batch + 1);
        for (std::size_t i = 0; i <= shape.batch; ++i) {
            starts_[i] = static_cast<std::uint32_t>(i * shape.tokens);
        }
        const std::size_t width =
            encoder_.labels() > 0 ? encoder_.labels() : encoder_.config().hidden_size;
        out_.resize(shape.batch * width);
    }

    const Encoder& encoder_;
    TileLane lane_;
    std::unique_ptr<EncoderWorkspace> work_;
    std::vector<std::uint32_t> starts_;
    std::vector<float> out_;
};

std::vector<std::int32_t> random_ids(std::size_t count, std::size_t vocabulary) {
    std::mt19937 engine(1);
    std::uniform_int_distribution<std::int32_t> pick(0, static_cast<std::int32_t>(vocabulary) - 1);
    std::vector<std::int32_t> ids(count);
    std::generate(ids.begin(), ids.end(), [&] { return pick(engine); });
    return ids;
}

// Multiply-adds of a forward pass for a classification: the last layer asks with one row.
double multiply_adds(const EncoderConfig& c, const Shape& shape) {
    const auto h = static_cast<double>(c.hidden_size);
    const auto inner = static_cast<double>(c.intermediate_size);
    const auto t = static_cast<double>(shape.tokens);
    const double whole = t * (4 * h * h + 2 * h * inner) + 2 * t * t * h;
    const double last = t * 2 * h * h + 2 * h * h + 2 * h * inner + 2 * t * h;
    return static_cast<double>(shape.batch) * (static_cast<double>(c.layers - 1) * whole + last);
}

// Requests "BATCH TOKENS id id …", answers "MILLISECONDS value value …", until the input ends.
Status serve_lines(const Encoder& encoder, std::size_t threads) {
    Runner runner(encoder, threads);
    Shape shape;
    std::vector<std::int32_t> ids;
    while (std::cin >> shape.batch >> shape.tokens) {
        if (shape.batch == 0 || shape.tokens == 0 ||
            shape.tokens > encoder.config().max_positions ||
            shape.batch > kMostTokens / shape.tokens) {
            return Error{Fault::kBadInput, "a request's shape " + shape.text() + " is too large"};
        }
        ids.resize(shape.batch * shape.tokens);
        for (std::int32_t& id : ids) {
            if (!(std::cin >> id) || id < 0 ||
                static_cast<std::size_t>(id) >= encoder.config().vocab_size) {
                return Error{Fault::kBadInput,
                             "a request has too few ids, or one outside the "
                             "vocabulary"};
            }
        }
        (void)std::printf("%.6f", runner.run(shape, ids));
        for (const float v : runner.out()) {
            (void)std::printf(" %.9g", static_cast<double>(v));
        }
        (void)std::printf("\n");
        (void)std::fflush(stdout);
    }
    return ok();
}

std::vector<Row> measure(const Encoder& encoder, const std::vector<Shape>& shapes,
                         const BenchEncoderOptions& options) {
    Runner runner(encoder, options.threads);
    std::vector<Row> rows;
    std::size_t most = 0;
    for (const Shape& shape : shapes) {
        rows.push_back({.shape = shape, .ms = {}, .allocations = 0});
        most = std::max(most, shape.batch * shape.tokens);
    }
    const std::vector<std::int32_t> ids = random_ids(most, encoder.config().vocab_size);
    const auto ids_of = [&](const Shape& s) { return std::span(ids).first(s.batch * s.tokens); };
    for (int warm = 0; warm < 3; ++warm) {
        for (Row& row : rows) {
            (void)runner.run(row.shape, ids_of(row.shape));
        }
    }
    ProgressBar bar("bench encoder", options.quiet);
    const auto began = Steady::now();
    for (double gone = 0.0; gone < options.seconds || rows.front().ms.size() < 20;) {
        for (Row& row : rows) {
            const std::uint64_t before = thread_allocations();
            const double ms = runner.run(row.shape, ids_of(row.shape));
            row.allocations += thread_allocations() - before;
            row.ms.push_back(ms);
        }
        gone = std::chrono::duration<double>(Steady::now() - began).count();
        bar.show(std::min(1.0, gone / options.seconds), rows.front().ms.size(), "rounds");
    }
    for (Row& row : rows) {
        std::sort(row.ms.begin(), row.ms.end());
    }
    return rows;
}

std::string to_json(const Encoder& encoder, const std::vector<Row>& rows,
                    const BenchEncoderOptions& options, double peak) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    out.key("kernels");
    out.string(encoder.table().name);
    out.key("precision");
    out.string(to_text(encoder.precision()));
    out.key("threads");
    out.whole(options.threads);
    out.key("peak_gmacs_per_core");
    out.number(peak);
    out.key("rows");
    out.begin_array();
    for (const Row& row : rows) {
        out.begin_object();
        out.key("shape");
        out.string(row.shape.text());
        out.key("runs");
        out.whole(row.ms.size());
        const std::pair<std::string_view, double> figures[] = {
            {"p50_ms", row.at(0.5)}, {"p90_ms", row.at(0.9)}, {"p99_ms", row.at(0.99)}};
        for (const auto& [name, value] : figures) {
            out.key(name);
            out.number(value);
        }
        out.key("gmacs");
        out.number(multiply_adds(encoder.config(), row.shape) / row.at(0.5) / 1e6);
        out.key("allocations");
        out.whole(row.allocations);
        out.end_object();
    }
    out.end_array();
    out.key("cpu");
    out.string(cpu_model());
    out.key("build");
    out.string(kBuildVersion);
    out.end_object();
    return text;
}

}  // namespace

Status bench_encoder(const BenchEncoderOptions& options) {
    TG_TRY(const kernels::KernelTable* table, kernels::choose_table(options.kernels));
    TG_TRY(const Precision precision, precision_of(options.precision));
    const auto began = Steady::now();
    TG_TRY(const auto encoder, Encoder::load(options.model, *table, {.precision = precision}));
    const double load_ms = std::chrono::duration<double, std::milli>(Steady::now() - began).count();
    if (options.serve) {
        return serve_lines(*encoder, options.threads);
    }
    TG_TRY(const auto shapes, shapes_of(options.shapes, encoder->config().max_positions));
    const double peak =
        peak_gmacs(precision == Precision::kInt8 ? table->peak_s8 : table->peak_f32);
    const auto rows = measure(*encoder, shapes, options);
    (void)std::printf("%s, %s, %zu threads, loaded in %.0f ms; peak of a core %.0f GMAC/s\n",
                      std::string(table->name).c_str(), options.precision.c_str(), options.threads,
                      load_ms, peak);
    (void)std::printf("%8s %8s %9s %9s %9s %8s %6s %7s\n", "shape", "runs", "p50 ms", "p90 ms",
                      "p99 ms", "GMAC/s", "peak", "allocs");
    for (const Row& row : rows) {
        const double rate = multiply_adds(encoder->config(), row.shape) / row.at(0.5) / 1e6;
        const double share =
            peak > 0.0 ? rate / (peak * static_cast<double>(options.threads)) : 0.0;
        (void)std::printf("%8s %8zu %9.3f %9.3f %9.3f %8.0f %5.0f%% %7llu\n",
                          row.shape.text().c_str(), row.ms.size(), row.at(0.5), row.at(0.9),
                          row.at(0.99), rate, 100.0 * share,
                          static_cast<unsigned long long>(row.allocations));
    }
    if (!options.json.empty()) {
        return write_file(options.json, to_json(*encoder, rows, options, peak) + "\n");
    }
    return ok();
}

}  // namespace tollgate::apps
