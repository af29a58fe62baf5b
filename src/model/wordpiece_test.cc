// WordPiece and its normalizer by hand: the cases that other tokenizers got wrong, bounds, and what
// is refused by name. Ids are held against Hugging Face's in wordpiece_golden_test.cc.
#include "model/wordpiece.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/alloc_counter.h"

namespace tollgate {
namespace {

using Words = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

const Words kPieces = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]", "ж",   "##ж", "k",
                       "##k",   "pay",   "##ment", "##s",   "sep", "[",   "]",
                       "汇",    "款",    "‧",      "07",    "月",  "15",  "日",
                       "##款",  "##07",  "##月",   "##15",  "!",   "e",   "é"};

WordPiece of(const Words& pieces, const WordPieceOptions& options = {}) {
    return WordPiece::from_vocabulary(pieces, options).value_or_die();
}

Ids ids_of(const WordPiece& tokenizer, std::string_view text) {
    WordPiece::Scratch scratch;
    Tokens tokens;
    tokenizer.encode(text, 100'000, scratch, tokens);
    EXPECT_EQ(tokens.total, tokens.ids.size());
    return tokens.ids;
}

// The pieces of kPieces between [CLS] and [SEP].
Words pieces_of(const WordPiece& tokenizer, std::string_view text) {
    const Ids ids = ids_of(tokenizer, text);
    Words out;
    out.reserve(ids.size());
    for (std::size_t i = 1; i + 1 < ids.size(); ++i) {
        out.push_back(kPieces.at(static_cast<std::size_t>(ids[i])));
    }
    return out;
}

// Characters beyond ASCII as <decimal>.
std::string normalized(const BertNormalizer& how, std::string_view text) {
    std::vector<char32_t> chars;
    normalize(how, text, chars);
    std::string out;
    for (const char32_t c : chars) {
        if (c < 0x80) {
            out += static_cast<char>(c);
        } else {
            out.append("<").append(std::to_string(static_cast<std::uint32_t>(c))).append(">");
        }
    }
    return out;
}

TEST(BertNormalizer, AccentStrippingFollowsLowerCasingWhenUnset) {  // shared case T1
    const std::string text = "Café naïve Müller";
    EXPECT_EQ(normalized({}, text), "cafe naive muller");
    EXPECT_EQ(normalized({}, "Cafe\u0301 nai\u0308ve"), "cafe naive");
    EXPECT_EQ(normalized({.lowercase = false, .strip_accents = {}}, text),
              "Caf<233> na<239>ve M<252>ller");
    EXPECT_EQ(normalized({.strip_accents = false}, text), "caf<233> na<239>ve m<252>ller");
    EXPECT_EQ(normalized({.lowercase = false, .strip_accents = true}, text), "Cafe naive Muller");
}

TEST(BertNormalizer, LowerCasesEachCharacterByItself) {
    const BertNormalizer how{.strip_accents = false};
    EXPECT_EQ(normalized(how, "ΣΑΣ"), "<963><945><963>");  // no final sigma
    EXPECT_EQ(normalized(how, "İ"), "i<775>");
    EXPECT_EQ(normalized(how, "ßẞ"), "<223><223>");
    EXPECT_EQ(normalized(how, "ǅ"), "<454>");
}

TEST(BertNormalizer, CleansControlCharactersAndBytesThatAreNoUtf8) {
    const std::string controls("a\0b\x01\x7F\u200b\ufeff\ufffd\tc\r\nd", 19);
    EXPECT_EQ(normalized({}, controls), "ab c  d");
    EXPECT_EQ(normalized({}, "a\xFF\xC0\x80\xED\xA0\x80\xF0\x9Fz"), "az");
    EXPECT_EQ(normalized({}, "a\xC3("), "a(");
    EXPECT_EQ(normalized({}, "a\u00a0b\u3000c\u2028d"), "a b c d");
    EXPECT_EQ(normalized({.clean_text = false, .strip_accents = {}}, "a\xFF\x01"), "a<65533>\x01");
}

// U+302E (class 224) stands behind U+1D165 (216) in NFD; U+0901, a mark without a class that is
// taken out, holds them apart.
TEST(BertNormalizer, SetsSpacingMarksInCanonicalOrder) {
    EXPECT_EQ(normalized({}, "a\u302e\U0001d165"), "a<119141><12334>");
    EXPECT_EQ(normalized({}, "a\u302e\u0901\U0001d165"), "a<12334><119141>");
    EXPECT_EQ(normalized({}, "a\u302eb\U0001d165"), "a<12334>b<119141>");
}

TEST(WordPiece, PiecesAfterASplitBeginAWord) {  // shared case T3
    EXPECT_EQ(pieces_of(of(kPieces), "汇款‧07月15日"),
              (Words{"汇", "款", "‧", "07", "月", "15", "日"}));
}

TEST(WordPiece, TheLongestWordIsCountedInCharacters) {  // shared case T5
    const WordPiece tokenizer = of(kPieces);
    std::string zhe;
    for (int i = 0; i < 60; ++i) {
        zhe += "ж";
    }
    EXPECT_EQ(pieces_of(tokenizer, zhe).size(), 60U);
    EXPECT_EQ(pieces_of(tokenizer, std::string(100, 'k')).size(), 100U);
    EXPECT_EQ(pieces_of(tokenizer, std::string(101, 'k')), Words{"[UNK]"});
    EXPECT_EQ(pieces_of(of(kPieces, {.max_word_chars = 3}), "kkk kkkk"),
              (Words{"k", "##k", "##k", "[UNK]"}));
}

TEST(WordPiece, ControlTokensInATextStayText) {  // shared case T7
    const WordPiece tokenizer = of(kPieces);
    EXPECT_EQ(pieces_of(tokenizer, "pay[SEP]pay"), (Words{"pay", "[", "sep", "]", "pay"}));
    EXPECT_EQ(pieces_of(tokenizer, "[CLS][PAD]"), (Words{"[", "[UNK]", "]", "[", "[UNK]", "]"}));
}

TEST(WordPiece, LongestPieceFirstAndUnknownForTheWholeWord) {
    const WordPiece tokenizer = of(kPieces);
    EXPECT_EQ(pieces_of(tokenizer, "Payments payments!"),
              (Words{"pay", "##ment", "##s", "pay", "##ment", "##s", "!"}));
    EXPECT_EQ(pieces_of(tokenizer, "paymentx pays"), (Words{"[UNK]", "pay", "##s"}));
    EXPECT_EQ(pieces_of(tokenizer, ""), Words{});
    EXPECT_EQ(pieces_of(tokenizer, "## ##s"), Words(5, "[UNK]"));
}

TEST(WordPiece, CutsAtTheBoundAndSaysHowMuchThereWas) {
    const WordPiece tokenizer = of(kPieces);
    WordPiece::Scratch scratch;
    Tokens tokens;
    tokenizer.encode("payments pay", 4, scratch, tokens);
    EXPECT_EQ(tokens.ids, (Ids{2, 8, 9, 3}));
    EXPECT_EQ(tokens.total, 6U);
    tokenizer.encode("payments pay", 2, scratch, tokens);
    EXPECT_EQ(tokens.ids, (Ids{2, 3}));
    EXPECT_EQ(tokens.total, 6U);
    EXPECT_DEATH(tokenizer.encode("pay", 1, scratch, tokens), "room for");
}

TEST(WordPiece, ATextPastItsBoundIsCutAndSaysSo) {
    const WordPiece tokenizer = of(kPieces);
    WordPiece::Scratch scratch;
    Tokens tokens;
    const std::string spaces(WordPiece::kMaxTextBytes - 3, ' ');
    tokenizer.encode(spaces + "pay", 16, scratch, tokens);
    EXPECT_EQ(tokens.ids, (Ids{2, 8, 3}));
    EXPECT_EQ(tokens.total, 3U);
    tokenizer.encode(spaces + " pay", 16, scratch, tokens);
    EXPECT_EQ(tokens.ids, (Ids{2, 1, 3}));  // "pa"
    EXPECT_EQ(tokens.total, 4U);
}

TEST(WordPiece, EncodingAllocatesNothingOnceItsBuffersHaveTheirSize) {
    const WordPiece tokenizer = of(kPieces);
    WordPiece::Scratch scratch;
    Tokens tokens;
    const std::string ascii =
        "Payments, pay! unknownword k kkk [SEP] 07.15\n" + std::string(120, 'k');
    const std::string other = "汇款‧07月15日 Café Müller 결제 İ e\u0301";
    tokenizer.encode(ascii, 64, scratch, tokens);
    tokenizer.encode(other, 64, scratch, tokens);
    const std::size_t before = testing::thread_allocations();
    for (int i = 0; i < 100; ++i) {
        tokenizer.encode(ascii, 64, scratch, tokens);
        tokenizer.encode(other, 64, scratch, tokens);
    }
    EXPECT_EQ(testing::thread_allocations(), before);
}

TEST(WordPiece, ThreadsShareOne) {
    const WordPiece tokenizer = of(kPieces);
    std::vector<Ids> got(4);
    std::vector<std::thread> threads;
    threads.reserve(got.size());
    for (Ids& ids : got) {
        threads.emplace_back([&] {
            WordPiece::Scratch scratch;
            Tokens tokens;
            for (int i = 0; i < 200; ++i) {
                tokenizer.encode("Payments é 汇款", 64, scratch, tokens);
            }
            ids = tokens.ids;
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Ids& ids : got) {
        EXPECT_EQ(ids, (Ids{2, 8, 9, 10, 26, 14, 15, 3}));
    }
}

std::string error_of(const Result<WordPiece>& result) {
    return result ? "accepted" : result.error().message;
}

TEST(WordPiece, RefusesBadVocabulariesByName) {
    const auto error = [](const Words& pieces) {
        return error_of(WordPiece::from_vocabulary(pieces, {}));
    };
    EXPECT_EQ(error({}), "the vocabulary has 0 pieces: 1 to 1000000");
    EXPECT_EQ(error({"[UNK]", "[CLS]"}), "the vocabulary has no \"[SEP]\"");
    EXPECT_EQ(error({"[CLS]", "[SEP]"}), "the vocabulary has no \"[UNK]\"");
    EXPECT_EQ(error({"[UNK]", "[SEP]"}), "the vocabulary has no \"[CLS]\"");
    EXPECT_EQ(error({"[UNK]", "x", "##x", "x"}), "the vocabulary has \"x\" twice (again at 3)");
    EXPECT_EQ(error({"[UNK]", "##x", "x", "##x"}), "the vocabulary has \"##x\" twice (again at 3)");
    const auto lines = WordPiece::from_vocab_txt("[UNK]\r\n[CLS]\r\n[SEP]\r\npay", {});
    ASSERT_TRUE(lines.has_value()) << lines.error().message;
    EXPECT_EQ(lines->size(), 4U);
}

const std::string kNormalizer =
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
    R"("strip_accents":null,"lowercase":false})";
const std::string kVocab = R"({"[UNK]":0,"[CLS]":1,"[SEP]":2,"Pay":3,"pay":4,"k":5,"##k":6})";

std::string model_json(const std::string& vocab, const std::string& type = "WordPiece",
                       const std::string& more = "") {
    return R"({"type":")" + type + R"(","unk_token":"[UNK]","continuing_subword_prefix":"##")" +
           more + R"(,"vocab":)" + vocab + "}";
}

std::string tokenizer_json(const std::string& normalizer, const std::string& model) {
    return R"({"version":"1.0","normalizer":)" + normalizer +
           R"(,"pre_tokenizer":{"type":"BertPreTokenizer"},"model":)" + model + "}";
}

TEST(TokenizerJson, ReadsNormalizerLimitAndVocabulary) {
    const auto cased =
        WordPiece::from_tokenizer_json(tokenizer_json(kNormalizer, model_json(kVocab)));
    ASSERT_TRUE(cased.has_value()) << cased.error().message;
    EXPECT_EQ(cased->size(), 7U);
    EXPECT_EQ(ids_of(*cased, "Pay pay"), (Ids{1, 3, 4, 2}));
    const auto limited = WordPiece::from_tokenizer_json(tokenizer_json(
        kNormalizer, model_json(kVocab, "WordPiece", R"(,"max_input_chars_per_word":2)")));
    ASSERT_TRUE(limited.has_value()) << limited.error().message;
    EXPECT_EQ(ids_of(*limited, "kk kkk"), (Ids{1, 5, 6, 0, 2}));
}

TEST(TokenizerJson, RefusesOtherKindsByName) {
    const auto error = [](const std::string& normalizer, const std::string& model) {
        return error_of(WordPiece::from_tokenizer_json(tokenizer_json(normalizer, model)));
    };
    EXPECT_EQ(error(kNormalizer, model_json(kVocab, "BPE")),
              "tokenizer.json: model.type is \"BPE\", this server reads \"WordPiece\"");
    EXPECT_EQ(error(R"({"type":"NFC"})", model_json(kVocab)),
              "tokenizer.json: normalizer.type is \"NFC\", this server reads \"BertNormalizer\"");
    EXPECT_EQ(error("null", model_json(kVocab)),
              "tokenizer.json: normalizer.type is missing, this server reads \"BertNormalizer\"");
    EXPECT_EQ(
        error(kNormalizer, model_json(kVocab, "WordPiece", R"(,"max_input_chars_per_word":0)")),
        "tokenizer.json: model.max_input_chars_per_word is not from 1 to 10000");
    EXPECT_NE(error_of(WordPiece::from_tokenizer_json("[]")), "accepted");
    EXPECT_NE(error_of(WordPiece::from_tokenizer_json("{")), "accepted");
    EXPECT_NE(error_of(WordPiece::from_tokenizer_json("")), "accepted");
}

TEST(TokenizerJson, RefusesBadVocabulariesByName) {
    const auto error = [](const std::string& vocab) {
        return error_of(
            WordPiece::from_tokenizer_json(tokenizer_json(kNormalizer, model_json(vocab))));
    };
    const std::string head = "tokenizer.json: model.vocab";
    EXPECT_EQ(error(R"({"[UNK]":0,"[CLS]":1,"[SEP]":1})"),
              head + ": \"[SEP]\" has an id that is taken");
    EXPECT_EQ(error(R"({"[UNK]":0,"[CLS]":3,"[SEP]":1})"),
              head + ": \"[CLS]\" has an id that is not from 0 to 2");
    EXPECT_EQ(error(R"({"[UNK]":-1})"), head + ": \"[UNK]\" has an id that is not from 0 to 0");
    EXPECT_NE(error(R"({"twice":0,"twice":1})").find("twice"), std::string::npos);
    EXPECT_EQ(error("[]"), head + " is no object");
    EXPECT_EQ(error(R"({"[UNK]":0,"[CLS]":1})"), "the vocabulary has no \"[SEP]\"");
    EXPECT_EQ(error("{}"), "the vocabulary has 0 pieces: 1 to 1000000");
}

class TokenizerFolder : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name =
            (std::filesystem::temp_directory_path() / "tollgate-tokenizer-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    }
    Ids ids(std::string_view text) const {
        return ids_of(WordPiece::load(folder_).value_or_die(), text);
    }
    std::string error() const { return error_of(WordPiece::load(folder_)); }
    std::string folder_;
};

TEST_F(TokenizerFolder, VocabTxtTakesTheConfigsSettings) {
    EXPECT_EQ(WordPiece::load(folder_).error().fault, Fault::kNotFound);
    write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\nPay\npay\né\ne\n");
    EXPECT_EQ(ids("Pay é"), (Ids{1, 4, 6, 2}));  // lower case, no accents
    write("tokenizer_config.json", R"({"do_lower_case":false})");
    EXPECT_EQ(ids("Pay é"), (Ids{1, 3, 5, 2}));
    write("tokenizer_config.json", R"({"do_lower_case":false,"strip_accents":true})");
    EXPECT_EQ(ids("Pay é"), (Ids{1, 3, 6, 2}));
    write("tokenizer_config.json", R"({"do_lower_case":"yes"})");
    EXPECT_NE(error().find("do_lower_case is neither"), std::string::npos);
    write("tokenizer_config.json", "[");
    EXPECT_NE(error().find("tokenizer_config.json is no JSON"), std::string::npos);
}

TEST_F(TokenizerFolder, TokenizerJsonGoesFirstAndItsFaultsAreNotPassedOver) {
    write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
    write("tokenizer.json", tokenizer_json(kNormalizer, model_json(kVocab)));
    EXPECT_EQ(WordPiece::load(folder_).value_or_die().size(), 7U);
    write("tokenizer.json", "{}");
    EXPECT_NE(error().find("model.type is missing"), std::string::npos);
}

}  // namespace
}  // namespace tollgate
