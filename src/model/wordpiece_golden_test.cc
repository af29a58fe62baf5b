// WordPiece against Hugging Face's tokenizers (tests/golden/make_wordpiece.py): ids of 5,200 texts
// in all scripts, and what becomes of every Unicode character.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "model/wordpiece.h"
#include "text/json.h"
#include "text/utf8.h"

namespace tollgate {
namespace {

const std::string kGolden = std::string(TG_SOURCE_DIR) + "/tests/golden/wordpiece/";

struct Setting {
    const char* name = "";
    BertNormalizer normalizer;
    std::size_t texts = 0;
};
// As SETTINGS of the script.
const Setting kSettings[] = {
    {"uncased", {}, 5200},
    {"cased", {.lowercase = false, .strip_accents = std::nullopt}, 5200},
    {"lower_accents", {.strip_accents = false}, 1500},
    {"upper_bare", {.lowercase = false, .strip_accents = true}, 1500},
    {"raw",
     {.clean_text = false, .chinese_characters = false, .strip_accents = std::nullopt},
     1500}};

std::vector<std::string> lines_of(const std::string& name) {
    std::ifstream in(kGolden + name, std::ios::binary);
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) {
        out.push_back(line);
    }
    return out;
}

std::vector<std::string> texts() {
    JsonDocument document;
    std::vector<std::string> out;
    for (const std::string& line : lines_of("texts.json")) {
        out.emplace_back(document.parse(line).value_or_die().string());
    }
    return out;
}

std::vector<std::int32_t> numbers(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::int32_t> out;
    for (std::int32_t id = 0; in >> id;) {
        out.push_back(id);
    }
    return out;
}

TEST(WordPieceGolden, IdsEqualTheReferenceInEverySetting) {
    const std::vector<std::string> all = texts();
    const std::vector<std::string> vocabulary = lines_of("vocab.txt");
    ASSERT_GE(all.size(), 5000U);
    for (const Setting& setting : kSettings) {
        const auto tokenizer =
            WordPiece::from_vocabulary(vocabulary, {.normalizer = setting.normalizer})
                .value_or_die();
        const std::vector<std::string> want = lines_of(std::string(setting.name) + ".ids");
        ASSERT_EQ(want.size(), setting.texts);
        WordPiece::Scratch scratch;
        Tokens tokens;
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
            std::vector<std::int32_t> ids = numbers(want[i]);
            ids.insert(ids.begin(), 2);
            ids.push_back(3);
            tokenizer.encode(all[i], 100'000, scratch, tokens);
            wrong += tokens.ids == ids ? 0U : 1U;
            EXPECT_TRUE(tokens.ids == ids || wrong > 5)
                << setting.name << ", text " << i << ": " << printable(all[i], 200) << "\nwant "
                << want[i] << "\ngot  " << ::testing::PrintToString(tokens.ids);
            EXPECT_EQ(tokens.total, tokens.ids.size());
        }
        EXPECT_EQ(wrong, 0U) << setting.name;
    }
}

TEST(WordPieceGolden, ATruncatedTextIsThePrefixAndTheLastToken) {
    const auto tokenizer =
        WordPiece::from_vocabulary(lines_of("vocab.txt"), WordPieceOptions{}).value_or_die();
    WordPiece::Scratch scratch;
    Tokens whole;
    Tokens cut;
    for (const std::string& text : texts()) {
        tokenizer.encode(text, 100'000, scratch, whole);
        for (const std::size_t most : {2U, 3U, 7U}) {
            tokenizer.encode(text, most, scratch, cut);
            ASSERT_EQ(cut.total, whole.ids.size()) << printable(text, 200);
            std::vector<std::int32_t> want = whole.ids;
            if (want.size() > most) {
                want.resize(most - 1);
                want.push_back(whole.ids.back());
            }
            ASSERT_EQ(cut.ids, want) << printable(text, 200) << " at " << most;
        }
    }
}

// The script's small vocabulary tells apart: dropped (a ##b), white space (a b), a word of its own
// (a [UNK] b), a letter ([UNK]) and what becomes a or b.
void expect_characters(const Setting& setting) {
    const auto tokenizer = WordPiece::from_vocabulary({"[UNK]", "[CLS]", "[SEP]", "a", "b", "##b"},
                                                      {.normalizer = setting.normalizer})
                               .value_or_die();
    WordPiece::Scratch scratch;
    Tokens tokens;
    std::size_t characters = 0;
    std::size_t wrong = 0;
    std::string text;
    std::string got;
    for (const std::string& run : lines_of(std::string(setting.name) + ".chars")) {
        std::istringstream in(run);
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::string want;
        in >> std::hex >> first >> last >> want;
        for (std::uint32_t c = first; c <= last; ++c) {
            if (c >= 0xD800 && c < 0xE000) {
                continue;
            }
            text = "a";
            append_utf8(text, c);
            text += 'b';
            tokenizer.encode(text, 16, scratch, tokens);
            got.clear();
            for (std::size_t i = 1; i + 1 < tokens.ids.size(); ++i) {
                got += (i == 1 ? "" : ",") + std::to_string(tokens.ids[i]);
            }
            ++characters;
            wrong += got == want ? 0U : 1U;
            EXPECT_TRUE(got == want || wrong > 20) << setting.name << " U+" << std::hex << c << ": "
                                                   << got << ", the reference " << want;
        }
    }
    EXPECT_EQ(wrong, 0U) << setting.name;
    EXPECT_EQ(characters, 0x110000U - 0x800U);
}

TEST(WordPieceGolden, EveryCharacterIsOfTheReferencesClass) {
    expect_characters(kSettings[0]);
    expect_characters(kSettings[1]);
}

}  // namespace
}  // namespace tollgate
