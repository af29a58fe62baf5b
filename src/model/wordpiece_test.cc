// WordPiece: the cases that other tokenizers got wrong, bounds, and what is refused. Ids are held
// against Hugging Face's in wordpiece_golden_test.cc.
#include "model/wordpiece.h"

#include <gtest/gtest.h>

#include "base/alloc_count.h"

namespace tollgate {
namespace {

const std::string kGolden = std::string(TG_SOURCE_DIR) + "/tests/golden/wordpiece/";

std::vector<std::int32_t> ids_of(const WordPiece& tokenizer, std::string_view text) {
    WordPiece::Scratch scratch;
    Tokens tokens;
    tokenizer.encode(text, 100'000, scratch, tokens);
    EXPECT_EQ(tokens.total, tokens.ids.size());
    return tokens.ids;
}

std::vector<std::string> with_specials(std::vector<std::string> pieces) {
    pieces.insert(pieces.begin(), {"[PAD]", "[UNK]", "[CLS]", "[SEP]"});
    return pieces;
}

WordPiece made(const std::vector<std::string>& pieces, BertNormalizer normalizer = {}) {
    WordPieceOptions options;
    options.normalizer = normalizer;
    return WordPiece::from_vocabulary(with_specials(pieces), options).value_or_die();
}

// Shared case T1: unset strip_accents follows lowercase.
TEST(WordPiece, AccentsGoWithTheCaseWhenNothingIsSaid) {
    const std::vector<std::string> pieces = {"cafe", "Café", "café", "cafe\xCC\x81"};
    const std::string composed = "Caf\xC3\xA9";
    const std::string decomposed = "Cafe\xCC\x81";
    EXPECT_EQ(ids_of(made(pieces), composed)[1], 4);
    EXPECT_EQ(ids_of(made(pieces), decomposed)[1], 4);
    EXPECT_EQ(ids_of(made(pieces, {.lowercase = false}), composed)[1], 5);
    EXPECT_EQ(ids_of(made(pieces, {.lowercase = true, .strip_accents = false}), composed)[1], 6);
}

// Shared case T3: what follows a split-off character begins a word.
TEST(WordPiece, PiecesAfterASplitBeginAWord) {
    const auto tokenizer =
        made({"汇", "款", "‧", "07", "月", "15", "日", "##款", "##07", "##月", "##15"});
    EXPECT_EQ(ids_of(tokenizer, "汇款‧07月15日"),
              (std::vector<std::int32_t>{2, 4, 5, 6, 7, 8, 9, 10, 3}));
}

// Shared case T5: the limit counts characters.
TEST(WordPiece, TheLongestWordIsCountedInCharacters) {
    const auto tokenizer = made({"ж", "##ж", "k", "##k"});
    const auto pieces = [&](const std::string& letter, std::size_t times) {
        std::string word;
        for (std::size_t i = 0; i < times; ++i) {
            word += letter;
        }
        return ids_of(tokenizer, word);
    };
    EXPECT_EQ(pieces("ж", 60).size(), 62U);
    EXPECT_EQ(pieces("k", 100).size(), 102U);
    EXPECT_EQ(pieces("k", 101), (std::vector<std::int32_t>{2, 1, 3}));
}

// Shared case T7: control tokens typed by a customer are words like others.
TEST(WordPiece, ControlTokensInATextStayText) {
    const auto tokenizer = made({"[", "sep", "]", "ok"});
    EXPECT_EQ(ids_of(tokenizer, "ok [SEP] ok"), (std::vector<std::int32_t>{2, 7, 4, 5, 6, 7, 3}));
}

TEST(WordPiece, CutsAtTheBoundAndSaysHowMuchThereWas) {
    const auto tokenizer = made({"a", "b", "##b"});
    WordPiece::Scratch scratch;
    Tokens tokens;
    tokenizer.encode("a abb a", 5, scratch, tokens);
    EXPECT_EQ(tokens.ids, (std::vector<std::int32_t>{2, 4, 4, 6, 3}));
    EXPECT_EQ(tokens.total, 7U);
    tokenizer.encode("a", 2, scratch, tokens);
    EXPECT_EQ(tokens.ids, (std::vector<std::int32_t>{2, 3}));
    EXPECT_EQ(tokens.total, 3U);
}

TEST(WordPiece, BytesThatAreNoTextAreLeftOut) {
    const auto tokenizer = made({"ab"});
    EXPECT_EQ(ids_of(tokenizer, std::string_view("a\xC3\x28", 3)).size(), 4U);  // "a" "(" unknown
    EXPECT_EQ(ids_of(tokenizer,
                     "a\xFF"
                     "b"),
              (std::vector<std::int32_t>{2, 4, 3}));
}

TEST(WordPiece, EncodingAllocatesNothingOnceItsBuffersHaveTheirSize) {
    const auto tokenizer = WordPiece::load(kGolden).value_or_die();
    WordPiece::Scratch scratch;
    Tokens tokens;
    const std::string text = "the payment amt17 rmed9 to an unknown merchant-account";
    tokenizer.encode(text, 128, scratch, tokens);
    const auto before = thread_allocations();
    tokenizer.encode(text, 128, scratch, tokens);
    EXPECT_EQ(thread_allocations() - before, 0U);
}

TEST(WordPiece, RefusesBadVocabulariesByName) {
    const auto no_sep = WordPiece::from_vocabulary({"[UNK]", "[CLS]", "a"}, {});
    ASSERT_FALSE(no_sep);
    EXPECT_NE(no_sep.error().message.find("[SEP]"), std::string::npos);
    const auto twice = WordPiece::from_vocabulary(with_specials({"a", "b", "a"}), {});
    ASSERT_FALSE(twice);
    EXPECT_NE(twice.error().message.find("\"a\" twice"), std::string::npos);
    EXPECT_FALSE(WordPiece::from_vocabulary({}, {}));
    EXPECT_EQ(WordPiece::load("/nonexistent").error().fault, Fault::kNotFound);
}

TEST(WordPiece, ReadsTokenizerJsonAndRefusesOtherKinds) {
    const std::string head =
        R"({"normalizer":{"type":"BertNormalizer","clean_text":true,)"
        R"("handle_chinese_chars":true,"strip_accents":null,"lowercase":true},)"
        R"("pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":)";
    const std::string vocab =
        R"("vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3},"unk_token":"[UNK]"}})";
    const auto good = WordPiece::from_tokenizer_json(head + R"("WordPiece",)" + vocab);
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(ids_of(*good, "A"), (std::vector<std::int32_t>{1, 3, 2}));
    const auto bpe = WordPiece::from_tokenizer_json(head + R"("BPE",)" + vocab);
    ASSERT_FALSE(bpe);
    EXPECT_NE(bpe.error().message.find("\"BPE\""), std::string::npos);
    const auto hole = WordPiece::from_tokenizer_json(
        head + R"("WordPiece","vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":9}}})");
    ASSERT_FALSE(hole);
    EXPECT_NE(hole.error().message.find("\"a\""), std::string::npos);
    EXPECT_FALSE(WordPiece::from_tokenizer_json("[]"));
    EXPECT_FALSE(WordPiece::from_tokenizer_json("{"));
}

}  // namespace
}  // namespace tollgate
