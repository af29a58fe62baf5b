// Encoder against transformers on small random shapes (tests/golden/make_encoder.py), and the
// promises that hold for every table: batch = singles, one thread = several, tables equal.
#include "model/encoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/alloc_count.h"
#include "base/testing/alloc_counter.h"
#include "tensor/safetensors.h"

namespace tollgate {
namespace {

using kernels::KernelTable;

const std::string kGolden = std::string(TG_SOURCE_DIR) + "/tests/golden/encoder/";

struct Golden {
    std::vector<std::int32_t> ids;
    std::vector<std::uint32_t> starts;
    std::vector<float> hidden, pooled, logits;
    TokenBatch batch() const { return {ids, starts}; }
};

template <class T>
std::vector<T> integers(const SafetensorsFile& file, const char* name) {
    const auto* tensor = file.find(name);
    TG_CHECK(tensor != nullptr && tensor->dtype == Dtype::kI32, name);
    std::vector<T> out(tensor->data.size() / sizeof(T));
    std::memcpy(out.data(), tensor->data.data(), tensor->data.size());
    return out;
}

Golden golden(const std::string& name) {
    const auto file =
        SafetensorsFile::open(kGolden + name + "/expected.safetensors").value_or_die();
    Golden out{.ids = integers<std::int32_t>(file, "ids"),
               .starts = integers<std::uint32_t>(file, "starts"),
               .hidden = to_floats(*file.find("hidden")).value_or_die(),
               .pooled = to_floats(*file.find("pooled")).value_or_die(),
               .logits = {}};
    if (const auto* logits = file.find("logits"); logits != nullptr) {
        out.logits = to_floats(*logits).value_or_die();
    }
    return out;
}

float worst(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    float most = 0.0F;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        most = std::max(most, std::fabs(a[i] - b[i]));
    }
    return most;
}

std::unique_ptr<const Encoder> load(const std::string& name, const KernelTable& table,
                                    Precision precision = Precision::kF32) {
    return Encoder::load(kGolden + name, table, {.precision = precision}).value_or_die();
}

const std::vector<std::string> kModels = {"bert_one_label", "bert_three_labels",
                                          "distilbert_two_labels", "bert_embedder"};

class EncoderOnEveryTable : public ::testing::TestWithParam<const KernelTable*> {};

TEST_P(EncoderOnEveryTable, EqualsTransformersInFp32) {
    for (const std::string& name : kModels) {
        const Golden want = golden(name);
        const auto encoder = load(name, *GetParam());
        TileLane lane(1, ThreadRole::kFastCompute, "t");
        EncoderWorkspace work(encoder->config(), 128, 8, 1);
        std::vector<float> hidden(want.hidden.size());
        encoder->hidden(want.batch(), work, lane, hidden);
        EXPECT_LE(worst(hidden, want.hidden), 1e-4F) << name;
        std::vector<float> pooled(want.pooled.size());
        encoder->pool(want.batch(), Pooling::kCls, false, work, lane, pooled);
        EXPECT_LE(worst(pooled, want.pooled), 1e-4F) << name;
        if (encoder->labels() > 0) {
            std::vector<float> logits(want.logits.size());
            encoder->classify(want.batch(), work, lane, logits);
            EXPECT_LE(worst(logits, want.logits), 1e-4F) << name;
        }
    }
}

std::vector<float> one_by_one(const Encoder& encoder, const Golden& want) {
    TileLane lane(1, ThreadRole::kFastCompute, "t");
    EncoderWorkspace work(encoder.config(), 64, 1, 1);
    const std::size_t labels = encoder.labels();
    std::vector<float> out((want.starts.size() - 1) * labels);
    for (std::size_t s = 0; s + 1 < want.starts.size(); ++s) {
        const std::vector<std::uint32_t> starts{0, want.starts[s + 1] - want.starts[s]};
        const TokenBatch single{std::span(want.ids).subspan(want.starts[s], starts[1]), starts};
        encoder.classify(single, work, lane, std::span(out).subspan(s * labels, labels));
    }
    return out;
}

TEST_P(EncoderOnEveryTable, BatchEqualsSinglesAndThreadsDoNotMatter) {
    for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
        for (const std::string name : {"bert_one_label", "distilbert_two_labels"}) {
            const Golden want = golden(name);
            const auto encoder = load(name, *GetParam(), precision);
            const std::vector<float> singles = one_by_one(*encoder, want);
            for (const std::size_t threads : {1U, 2U, 3U}) {
                TileLane lane(threads, ThreadRole::kFastCompute, "t");
                EncoderWorkspace work(encoder->config(), 128, 8, threads);
                std::vector<float> batch(singles.size());
                encoder->classify(want.batch(), work, lane, batch);
                EXPECT_EQ(std::memcmp(batch.data(), singles.data(), batch.size() * 4), 0)
                    << name << " " << to_text(precision) << " " << threads;
            }
        }
    }
}

TEST_P(EncoderOnEveryTable, GivesTheBytesOfRef) {
    for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
        for (const std::string name : {"bert_three_labels", "distilbert_two_labels"}) {
            const Golden want = golden(name);
            const auto mine = one_by_one(*load(name, *GetParam(), precision), want);
            const auto ref =
                one_by_one(*load(name, *kernels::supported_tables().back(), precision), want);
            EXPECT_EQ(std::memcmp(mine.data(), ref.data(), mine.size() * 4), 0) << name;
        }
    }
}

TEST_P(EncoderOnEveryTable, Int8StaysNearFp32) {
    const Golden want = golden("bert_one_label");
    const auto logits = one_by_one(*load("bert_one_label", *GetParam(), Precision::kInt8), want);
    EXPECT_LE(worst(logits, want.logits), 0.15F);
    EXPECT_GT(worst(logits, want.logits), 0.0F);  // it is another arithmetic
}

TEST_P(EncoderOnEveryTable, ForwardAllocatesNothing) {
    const Golden want = golden("bert_one_label");
    const auto encoder = load("bert_one_label", *GetParam(), Precision::kInt8);
    TileLane lane(1, ThreadRole::kFastCompute, "t");
    EncoderWorkspace work(encoder->config(), 128, 8, 1);
    std::vector<float> out(want.logits.size());
    encoder->classify(want.batch(), work, lane, out);
    const auto before = thread_allocations();
    encoder->classify(want.batch(), work, lane, out);
    EXPECT_EQ(thread_allocations() - before, 0U);
}

INSTANTIATE_TEST_SUITE_P(Tables, EncoderOnEveryTable,
                         ::testing::ValuesIn(kernels::supported_tables()),
                         [](const auto& table) { return std::string(table.param->name); });

TEST(Encoder, MeanPoolingIsTheMeanOfTheRowsAndNormalisesOnlyWhenAsked) {
    const Golden want = golden("bert_embedder");
    const auto encoder = load("bert_embedder", *kernels::supported_tables().front());
    const std::size_t hidden = encoder->config().hidden_size;
    TileLane lane(1, ThreadRole::kFastCompute, "t");
    EncoderWorkspace work(encoder->config(), 128, 8, 1);
    std::vector<float> plain((want.starts.size() - 1) * hidden);
    std::vector<float> normal(plain.size());
    encoder->pool(want.batch(), Pooling::kMean, false, work, lane, plain);
    encoder->pool(want.batch(), Pooling::kMean, true, work, lane, normal);
    for (std::size_t s = 0; s + 1 < want.starts.size(); ++s) {
        double squares = 0.0;
        for (std::size_t c = 0; c < hidden; ++c) {
            double sum = 0.0;
            for (std::size_t t = want.starts[s]; t < want.starts[s + 1]; ++t) {
                sum += want.hidden[t * hidden + c];
            }
            EXPECT_NEAR(plain[s * hidden + c], sum / (want.starts[s + 1] - want.starts[s]), 1e-4);
            squares += std::pow(normal[s * hidden + c], 2.0);
        }
        EXPECT_NEAR(std::sqrt(squares), 1.0, 1e-6);
    }
}

TEST(Encoder, RefusesTooMuchMemoryBeforeItReadsTheWeights) {
    const auto refused = Encoder::load(kGolden + "bert_one_label",
                                       *kernels::supported_tables().front(), {.max_bytes = 4096});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kTooLarge);
    EXPECT_NE(refused.error().message.find("4 KiB are allowed"), std::string::npos);
}

// A folder whose files do not belong together.
TEST(Encoder, NamesTheTensorWhoseShapeIsWrong) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("tg_encoder_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(kGolden + "bert_one_label/config.json", folder / "config.json");
    std::filesystem::copy_file(kGolden + "bert_three_labels/model.safetensors",
                               folder / "model.safetensors");
    const auto refused = Encoder::load(folder.string(), *kernels::supported_tables().front(), {});
    std::filesystem::remove_all(folder);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kBadInput);
    EXPECT_NE(refused.error().message.find("word_embeddings.weight\" has shape [120, 64], "
                                           "config.json says [120, 40]"),
              std::string::npos)
        << refused.error().message;
}

}  // namespace
}  // namespace tollgate
