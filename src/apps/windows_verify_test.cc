// Tests that windows are exact: the committed oracle recomputed on one thread, on four, and across
// a kill -9.
#include "apps/windows_verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "apps/cli.h"
#include "store/testing/temp_store.h"

namespace tollgate::apps {
namespace {

std::string golden(const std::string& name) {
    return std::string(TG_SOURCE_DIR) + "/tests/golden/windows_oracle/" + name;
}

class WindowsOracle : public ::testing::Test {
  protected:
    static VerifyOptions options() {
        VerifyOptions out;
        out.input = golden("traffic.csv");
        out.oracle = golden("windows.csv");
        out.quiet = true;
        return out;
    }
    static void expect_exact(const VerifyInput& input, const VerifyResult& found) {
        EXPECT_EQ(found.cells, input.oracle.size() * kOracleCells);
        EXPECT_EQ(found.wrong, 0U);
        EXPECT_GT(found.cells, 20'000U);
    }
};

TEST_F(WindowsOracle, OneThreadFindsNoMismatch) {
    const VerifyInput input = read_verify_input(options()).value_or_die();
    expect_exact(input, verify_in_memory(input, options()));
}

TEST_F(WindowsOracle, FourThreadsFindNoMismatch) {
    VerifyOptions four = options();
    four.threads = 4;
    const VerifyInput input = read_verify_input(four).value_or_die();
    expect_exact(input, verify_in_memory(input, four));
}

TEST_F(WindowsOracle, AKillAndARecoveryChangeNothing) {
    const store::testing::TempFolder folder;
    VerifyOptions crash = options();
    crash.crash_at = 3'000;
    crash.data = folder.path();
    const VerifyInput input = read_verify_input(crash).value_or_die();
    const VerifyResult found = verify_with_crash(input, crash).value_or_die();
    expect_exact(input, found);
    EXPECT_GE(found.recovered, 2'999U) << "what was confirmed before the kill is gone";
    EXPECT_LE(found.recovered, 3'000U);
}

TEST_F(WindowsOracle, AChangedCellIsFound) {
    VerifyInput input = read_verify_input(options()).value_or_die();
    input.oracle[700].cells[4] += 1.0;
    input.oracle[900].cells[1] *= 1.0 + 1e-5;
    EXPECT_EQ(verify_in_memory(input, options()).wrong, 2U);
}

TEST_F(WindowsOracle, AnOracleRowWithoutItsEventIsRefused) {
    const store::testing::TempFolder folder;
    VerifyOptions other = options();
    other.oracle = folder.path() + "/oracle.csv";
    std::string text = read_file(golden("windows.csv"), 1U << 24U).value_or_die();
    text += "99999999,1,1,1,1,1,1,1,1,1,1,1,1\n";
    ASSERT_TRUE(write_file(other.oracle, text));
    const auto input = read_verify_input(other);
    ASSERT_FALSE(input);
    EXPECT_NE(input.error().message.find("1 of its rows"), std::string::npos);
}

TEST_F(WindowsOracle, ACrashRowOutsideTheInputIsRefusedWithTheRange) {
    VerifyOptions crash = options();
    crash.crash_at = 1'000'000;
    const VerifyInput input = read_verify_input(crash).value_or_die();
    const auto found = verify_with_crash(input, crash);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("allowed 2.."), std::string::npos);
}

TEST(SameCell, CountsAreExactAndTheRestHasATolerance) {
    EXPECT_TRUE(same_cell(0, 3.0, 3.0));
    EXPECT_FALSE(same_cell(0, 3.0, 3.0000001));
    EXPECT_TRUE(same_cell(1, 3.0, 3.0000001));
    EXPECT_FALSE(same_cell(1, 3.0, 3.00001));
    EXPECT_TRUE(same_cell(1, 1e-13, 0.0));
    EXPECT_FALSE(same_cell(1, 1.0, std::nan("")));
}

TEST(ReadOracle, NamesAMissingColumn) {
    const store::testing::TempFolder folder;
    const std::string path = folder.path() + "/oracle.csv";
    ASSERT_TRUE(write_file(path, "TRANSACTION_ID,CUSTOMER_ID_NB_TX_1DAY_WINDOW\n1,1\n"));
    const auto rows = read_oracle(path);
    ASSERT_FALSE(rows);
    EXPECT_NE(rows.error().message.find("CUSTOMER_ID_AVG_AMOUNT_1DAY_WINDOW"), std::string::npos);
}

}  // namespace
}  // namespace tollgate::apps
