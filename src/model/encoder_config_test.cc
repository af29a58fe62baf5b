// EncoderConfig: the two families' names for the same sizes, defaults, and every bound by name.
#include "model/encoder_config.h"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

const std::string kBert =
    R"({"model_type":"bert","architectures":["BertForSequenceClassification"],"vocab_size":30522,)"
    R"("hidden_size":384,"num_hidden_layers":6,"num_attention_heads":12,"intermediate_size":1536,)"
    R"("max_position_embeddings":512,"type_vocab_size":2,"layer_norm_eps":1e-12,)"
    R"("hidden_act":"gelu","id2label":{"0":"a","1":"b","2":"c"}})";
const std::string kDistil =
    R"({"model_type":"distilbert","architectures":["DistilBertModel"],"vocab_size":100,"dim":64,)"
    R"("n_layers":2,"n_heads":4,"hidden_dim":128,"max_position_embeddings":32,)"
    R"("activation":"gelu_new","sinusoidal_pos_embds":false})";

std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string error_of(const std::string& json) {
    const auto result = parse_encoder_config(json);
    return result ? "accepted" : result.error().message;
}

TEST(EncoderConfig, ReadsBert) {
    const EncoderConfig config = parse_encoder_config(kBert).value_or_die();
    EXPECT_EQ(config.family, EncoderFamily::kBert);
    EXPECT_EQ(config.architecture, "BertForSequenceClassification");
    EXPECT_EQ(config.vocab_size, 30522U);
    EXPECT_EQ(config.hidden_size, 384U);
    EXPECT_EQ(config.layers, 6U);
    EXPECT_EQ(config.heads, 12U);
    EXPECT_EQ(config.intermediate_size, 1536U);
    EXPECT_EQ(config.max_positions, 512U);
    EXPECT_EQ(config.type_vocab_size, 2U);
    EXPECT_FLOAT_EQ(config.layer_norm_eps, 1e-12F);
    EXPECT_EQ(config.activation, kernels::Activation::kGeluErf);
    EXPECT_EQ(config.labels, 3U);
}

TEST(EncoderConfig, ReadsDistilBert) {
    const EncoderConfig config = parse_encoder_config(kDistil).value_or_die();
    EXPECT_EQ(config.family, EncoderFamily::kDistilBert);
    EXPECT_EQ(config.hidden_size, 64U);
    EXPECT_EQ(config.layers, 2U);
    EXPECT_EQ(config.heads, 4U);
    EXPECT_EQ(config.intermediate_size, 128U);
    EXPECT_EQ(config.max_positions, 32U);
    EXPECT_EQ(config.type_vocab_size, 0U);
    EXPECT_EQ(config.activation, kernels::Activation::kGeluTanh);
    EXPECT_EQ(config.labels, 0U);  // no classifier
}

TEST(EncoderConfig, LabelsComeFromNamesThenCountThenTransformersDefault) {
    const std::string names = R"(,"id2label":{"0":"a","1":"b","2":"c"})";
    const auto labels = [&](const std::string& to) {
        return parse_encoder_config(with(kBert, names, to)).value_or_die().labels;
    };
    EXPECT_EQ(labels(R"(,"id2label":{"0":"a"})"), 1U);
    EXPECT_EQ(labels(R"(,"num_labels":4)"), 4U);
    EXPECT_EQ(labels(""), 2U);
    EXPECT_EQ(error_of(with(kBert, names, R"(,"id2label":{})")),
              "id2label has 0 labels: 1 to 1000");
    EXPECT_EQ(error_of(with(kBert, names, R"(,"num_labels":1001)")),
              "num_labels = 1001: it is from 1 to 1000");
    EXPECT_EQ(parse_encoder_config(with(kBert, "BertForSequenceClassification", "BertModel"))
                  .value_or_die()
                  .labels,
              0U);
}

TEST(EncoderConfig, NamesTheKeyTheValueAndTheRange) {
    const std::pair<const char*, const char*> bounds[] = {
        {"\"vocab_size\":30522", "1 to 1000000"},
        {"\"hidden_size\":384", "1 to 8192"},
        {"\"num_hidden_layers\":6", "1 to 64"},
        {"\"num_attention_heads\":12", "1 to 128"},
        {"\"intermediate_size\":1536", "1 to 32768"},
        {"\"max_position_embeddings\":512", "2 to 8192"},
        {"\"type_vocab_size\":2", "1 to 16"}};
    for (const auto& [member, range] : bounds) {
        const std::string from = member;
        const std::string quoted = from.substr(0, from.find(':'));
        const std::string key = quoted.substr(1, quoted.size() - 2);
        const std::string tail = ": it is from " + std::string(range);
        const auto refused = [&](const std::string& value, const std::string& is) {
            std::string want = key;
            want.append(" = ").append(is).append(tail);
            std::string to = quoted;
            to.append(":").append(value);
            EXPECT_EQ(error_of(with(kBert, from, to)), want);
        };
        for (const char* value : {"0", "-1", "1000001", "9223372036854775807"}) {
            refused(value, value);
        }
        for (const char* value : {"null", "\"6\"", "6.0", "18446744073709551615", "1e3"}) {
            refused(value, "no integer");
        }
        EXPECT_EQ(error_of(with(kBert, quoted, "\"other\"")), key + " is missing");
    }
    EXPECT_EQ(error_of(with(kDistil, "\"dim\":64", "\"dim\":8193")),
              "dim = 8193: it is from 1 to 8192");
}

TEST(EncoderConfig, HeadsMustDivideTheHiddenSize) {
    EXPECT_EQ(error_of(with(kBert, ":12,", ":7,")),
              "hidden_size = 384 is not a multiple of num_attention_heads = 7 by at most 256");
    EXPECT_EQ(error_of(with(kBert, ":12,", ":1,")),
              "hidden_size = 384 is not a multiple of num_attention_heads = 1 by at most 256");
    EXPECT_EQ(error_of(with(kDistil, "\"n_heads\":4", "\"n_heads\":3")),
              "dim = 64 is not a multiple of n_heads = 3 by at most 256");
}

TEST(EncoderConfig, OtherArchitecturesAreRefused) {
    EXPECT_EQ(error_of(with(kBert, R"("model_type":"bert")", R"("model_type":"roberta")")),
              "model_type = \"roberta\": it is bert or distilbert");
    EXPECT_EQ(error_of(with(kBert, R"("model_type":"bert",)", "")),
              "model_type = \"\": it is bert or distilbert");
    EXPECT_EQ(error_of(with(kBert, R"("hidden_act":"gelu")", R"("hidden_act":"silu")")),
              "hidden_act = \"silu\": it is gelu, gelu_new, gelu_pytorch_tanh or relu");
    EXPECT_EQ(error_of(with(kBert, R"("hidden_act":"gelu")", R"("hidden_act":1)")),
              "hidden_act is no text");
    EXPECT_EQ(error_of(with(kBert, R"("hidden_act":"gelu")",
                            R"("position_embedding_type":"relative_key")")),
              "position_embedding_type = \"relative_key\": it is absolute");
    EXPECT_EQ(error_of(with(kBert, ":1e-12", ":0.2")), "layer_norm_eps is not from 0 to 0.1");
    EXPECT_EQ(error_of(with(kBert, ":1e-12", ":\"x\"")), "layer_norm_eps is not from 0 to 0.1");
}

TEST(EncoderConfig, WhatIsNoObjectIsRefused) {
    for (const char* text : {"", "[]", "{", "null", "{\"model_type\":\"bert\",\"model_type\":1}"}) {
        EXPECT_NE(error_of(text), "accepted") << text;
    }
    EXPECT_EQ(load_encoder_config("/nonexistent/config.json").error().fault, Fault::kNotFound);
}

}  // namespace
}  // namespace tollgate
