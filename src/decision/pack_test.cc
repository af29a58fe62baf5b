// Tests of packs: folders, hashes, the stored form, loading whole or not at all, and differences.
#include "decision/pack.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tollgate {
namespace {

namespace fs = std::filesystem;

const std::string kRules = R"(ruleset "card" version 1  currency USD  tz "UTC"  on_error review
list vip file "lists/vip.csv" key account_id
window acct_n_10m count() by account_id over 10m excluding current
rule R001 "burst" severity high owner "ops"
  decline if acct_n_10m >= 5 and not account_id in @vip
  reason "5 or more in 10 minutes"
)";

PackFiles small_pack() {
    return {{"policy.toml",
             "[pack]\nname = \"t\"\ncurrency = \"USD\"\ntime_zone = \"Asia/Seoul\"\n"
             "[rates.EUR]\n2026-12-01 = \"1.1\"\n"},
            {"rules/card.rules", kRules},
            {"lists/vip.csv", "value,expires\nA-1,2026-01-01\nA-2,2030-01-01\n"}};
}

std::unique_ptr<const PolicyPack> load(PackFiles files, EventTime now = {}) {
    std::vector<Diagnostic> found;
    return load_pack(std::move(files), found, now).value_or_die();
}

std::vector<std::string> codes(PackFiles files, EventTime now = {}) {
    std::vector<Diagnostic> found;
    (void)load_pack(std::move(files), found, now);
    std::vector<std::string> out;
    out.reserve(found.size());
    for (const Diagnostic& d : found) {
        out.push_back(d.code);
    }
    return out;
}

bool has(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

class Folder : public ::testing::Test {
  protected:
    Folder() : path_(fs::temp_directory_path() / ("tollgate_pack_" + std::to_string(getpid()))) {
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    void TearDown() override { fs::remove_all(path_); }
    void write(const std::string& name, const std::string& content) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << content;
    }
    fs::path path_;
};

TEST_F(Folder, IsReadWholeAndHiddenFilesAreLeftOut) {
    for (const auto& [name, content] : small_pack()) {
        write(name, content);
    }
    write(".git", "x");
    const PackFiles files = read_pack_folder(path_.string()).value_or_die();
    EXPECT_EQ(files, small_pack());
}

TEST_F(Folder, LinksDeepFoldersLargeAndManyFilesAreRefused) {
    EXPECT_EQ(read_pack_folder(path_.string()).error().fault, Fault::kNotFound);
    EXPECT_EQ(read_pack_folder((path_ / "none").string()).error().fault, Fault::kNotFound);
    write("policy.toml", "x");
    fs::create_symlink("/etc/hostname", path_ / "outside");
    EXPECT_EQ(read_pack_folder(path_.string()).error().fault, Fault::kBadInput);
    fs::remove(path_ / "outside");
    EXPECT_TRUE(read_pack_folder(path_.string()));
    write("a/b/c", "x");
    EXPECT_EQ(read_pack_folder(path_.string()).error().fault, Fault::kBadInput);
    fs::remove_all(path_ / "a");
    write("lists/x.csv", std::string(100, 'x'));
    EXPECT_EQ(read_pack_folder(path_.string(), {.max_file_bytes = 99}).error().fault,
              Fault::kTooLarge);
    EXPECT_EQ(read_pack_folder(path_.string(), {.max_files = 1}).error().fault, Fault::kTooLarge);
    EXPECT_EQ(read_pack_folder(path_.string(), {.max_total_bytes = 50}).error().fault,
              Fault::kTooLarge);
    write("rules/bad name.rules", "x");
    EXPECT_EQ(read_pack_folder(path_.string()).error().fault, Fault::kBadInput);
}

TEST(PackHash, DependsOnPathsAndContentsAndTheirBorders) {
    const std::string hash = pack_hash({{"a", "bc"}});
    EXPECT_EQ(hash.size(), 64U);
    EXPECT_EQ(hash, pack_hash({{"a", "bc"}}));
    EXPECT_NE(hash, pack_hash({{"ab", "c"}}));
    EXPECT_NE(hash, pack_hash({{"a", "b"}, {"c", ""}}));
    EXPECT_NE(hash, pack_hash({}));
}

TEST(PackBytes, RoundTripAndCutOrForgedBytesAreRefused) {
    const std::string bytes = encode_pack(small_pack());
    EXPECT_EQ(decode_pack(bytes).value_or_die(), small_pack());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(decode_pack(std::string_view(bytes).substr(0, size)));
    }
    EXPECT_FALSE(decode_pack(bytes + "x"));
    EXPECT_FALSE(decode_pack(encode_pack({{"../etc/passwd", "x"}})));
    EXPECT_FALSE(decode_pack(encode_pack({{"/abs", "x"}})));
    EXPECT_FALSE(decode_pack(encode_pack({{"a/./b", "x"}})));
}

TEST(LoadPack, HoldsEverythingOfTheFolder) {
    const auto pack = load(small_pack());
    EXPECT_EQ(pack->hash, pack_hash(small_pack()));
    EXPECT_EQ(pack->rules->rules.size(), 1U);
    EXPECT_EQ(pack->rules->plan.windows.size(), 1U);
    EXPECT_TRUE(pack->lists.find("vip"));
    EXPECT_EQ(pack->zones.size(), pack->fields.zones().size());
    // The rate begins at midnight in Seoul, which is 15:00 UTC of the day before.
    const Money euro{100, Currency{978}};
    const auto at = [](const char* t) { return parse_rfc3339("t", t).value_or_die(); };
    EXPECT_FALSE(pack->rates.convert(euro, Currency{840}, at("2026-11-30T14:59:59Z")));
    EXPECT_EQ(pack->rates.convert(euro, Currency{840}, at("2026-11-30T15:00:00Z")), 110);
}

TEST(LoadPack, WarnsOfExpiredListEntriesAndMissingRates) {
    const auto now = parse_rfc3339("t", "2026-06-01T00:00:00Z").value_or_die();
    EXPECT_TRUE(has(codes(small_pack(), now), "expired-entries"));
    EXPECT_FALSE(has(codes(small_pack()), "expired-entries"));
    PackFiles files = small_pack();
    files["lists/vip.csv"] = "value,expires\nA-1,2026-01-01\n";
    EXPECT_TRUE(has(codes(files, now), "expired-list"));
    files = small_pack();
    files["rules/card.rules"].replace(files["rules/card.rules"].find("USD"), 3, "GBP");
    EXPECT_TRUE(has(codes(files), "no-rate"));
    files = small_pack();
    files["policy.toml"] += "[bands]\np_low = 0.0\n";
    EXPECT_TRUE(has(codes(files), "band-gap"));
}

TEST(LoadPack, RefusesWholeWithEveryFinding) {
    PackFiles files = small_pack();
    files["policy.toml"] = "[pack]\nname = \"t\"\ncurrency = \"USD\"\ntime_zone = \"Asia/Soul\"\n";
    files["rules/card.rules"] += "rule R002 \"x\" decline if nosuch > 1\n";
    files["misplaced.rules"] = "x";
    std::vector<Diagnostic> found;
    const auto pack = load_pack(files, found);
    ASSERT_FALSE(pack);
    EXPECT_EQ(pack.error().fault, Fault::kBadInput);
    const auto all = codes(files);
    EXPECT_TRUE(has(all, "policy"));
    EXPECT_TRUE(has(all, "unknown-file"));
    EXPECT_GE(all.size(), 3U);
    files = small_pack();
    files.erase("policy.toml");
    EXPECT_TRUE(has(codes(files), "policy"));
    files = small_pack();
    files["policy.toml"] += "[timeouts]\nmodel_ms = 0\n";
    found.clear();
    ASSERT_FALSE(load_pack(files, found));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].line, 8);
    EXPECT_EQ(found[0].message, "timeouts.model_ms 0 is outside 1 to 1000");
}

TEST(DiffPacks, NamesAKeptNumberWhoseFormulaChanged) {
    PackFiles files = small_pack();
    files["rules/card.rules"] +=
        R"(window avg_1d avg(amount) by account_id over 1d excluding current
keep jump = amount / avg_1d
window big count() by account_id over 1d excluding current where jump > 5
rule R050 "jumps" severity low owner "ops"
  review if big >= 3
  reason "three jumps"
)";
    const auto before = load(files);
    std::string& rules = files["rules/card.rules"];
    rules.replace(rules.find("keep jump = amount"), 18, "keep jump = 2 * amount");
    EXPECT_EQ(diff_packs(*before, *load(files)), "kept number jump changed\n");
}

TEST(DiffPacks, NamesWhatWasAddedRemovedAndChanged) {
    const auto before = load(small_pack());
    EXPECT_EQ(diff_packs(*before, *load(small_pack())), "");
    PackFiles files = small_pack();
    files["rules/card.rules"] = R"(ruleset "card" version 2  currency USD  tz "UTC"  on_error review
list vip file "lists/vip.csv" key account_id
window acct_n_10m count() by account_id over 10m excluding current
window acct_n_1d count() by account_id over 1d excluding current
rule R001 "burst" severity high owner "ops"
  decline if acct_n_10m >= 6 and not account_id in @vip
  reason "6 or more in 10 minutes"
rule R002 "many" severity low owner "ops"
  review if acct_n_1d >= 50
  reason "50 or more in a day"
)";
    files["lists/vip.csv"] = "value\nA-2\nA-3\nA-4\n";
    files["policy.toml"] += "[timeouts]\nmodel_ms = 20\n";
    files["prompts/review.j2"] = "x";
    const std::string diff = diff_packs(*before, *load(files));
    for (const char* line : {"ruleset card changed\n", "rule R001 changed\n", "rule R002 added\n",
                             "window acct_n_1d added\n", "policy.toml timeouts.model_ms 15 -> 20\n",
                             "file prompts/review.j2 added\n", "list vip: "}) {
        EXPECT_NE(diff.find(line), std::string::npos) << line << diff;
    }
    EXPECT_EQ(diff.find("window acct_n_10m"), std::string::npos) << diff;
}

}  // namespace
}  // namespace tollgate
