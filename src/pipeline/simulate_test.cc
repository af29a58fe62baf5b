// Tests of the simulator: determinism, order, valid lines, and every scenario with its tell.
#include "pipeline/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "decision/event_json.h"
#include "decision/schema.h"
#include "pipeline/simulate_event.h"
#include "pipeline/simulate_memo.h"
#include "pipeline/simulate_random.h"
#include "text/json.h"

namespace tollgate::pipeline {
namespace {

SimulateOptions small(std::uint64_t seed, std::uint64_t events = 40'000) {
    SimulateOptions o;
    o.seed = seed;
    o.events = events;
    o.customers = 2'000;
    o.terminals = 800;
    o.fraud_share = 0.02;
    return o;
}

std::vector<std::string> lines_of(const SimulateOptions& options) {
    Simulator simulator(options);
    std::vector<std::string> lines;
    std::string line;
    while (simulator.next(line)) {
        lines.push_back(line);
    }
    EXPECT_FALSE(simulator.next(line));  // and it stays at the end
    EXPECT_TRUE(line.empty());
    return lines;
}

std::string digest_of(const std::vector<std::string>& lines) {
    Sha256 sha;
    for (const auto& line : lines) {
        sha.update(line);
        sha.update("\n");
    }
    return to_hex(sha.finish());
}

// What the tests look at, read back through the product's own JSON parser.
struct Seen {
    std::string id, type, at, account, value, currency, party, party_kind, channel, device, ip;
    std::string home, memo, parent, scenario, label, kind, known_at;
    bool new_payee = false;
    bool credit_fields = false;
    double amount = 0.0;
};

std::string text_at(JsonValue object, std::string_view key) {
    const auto found = object.find(key);
    return found ? std::string(found->string()) : std::string();
}

Seen read_line(JsonDocument& document, const std::string& line) {
    const auto root = document.parse(line).value_or_die();
    const auto event = root.find("event").value();
    Seen s;
    s.id = text_at(event, "event_id");
    s.type = text_at(event, "event_type");
    s.at = text_at(event, "occurred_at");
    s.account = text_at(event, "account_id");
    const auto amount = event.find("amount").value();
    s.value = text_at(amount, "value");
    s.currency = text_at(amount, "currency");
    s.amount = std::stod(s.value);
    if (const auto party = event.find("counterparty")) {
        s.party = text_at(*party, "id");
        s.party_kind = text_at(*party, "kind");
    }
    if (const auto device = event.find("device")) {
        s.device = text_at(*device, "id");
        s.ip = text_at(*device, "ip_country");
    }
    s.channel = text_at(event, "channel");
    s.memo = text_at(event, "memo");
    s.parent = text_at(event, "parent_id");
    const auto attributes = event.find("attributes").value();
    s.home = text_at(attributes, "home_country");
    EXPECT_GE(attributes.find("customer_age_days").value().integer(), 0);
    const auto payee = attributes.find("new_payee");
    s.new_payee = payee && payee->boolean();
    s.credit_fields = attributes.find("annual_income").has_value() &&
                      attributes.find("existing_debt").has_value() &&
                      attributes.find("employment_months").has_value() &&
                      attributes.find("term_months").has_value();
    s.scenario = text_at(root, "scenario");
    const auto outcome = root.find("outcome").value();
    if (!outcome.is(JsonKind::kNull)) {
        EXPECT_EQ(text_at(outcome, "event_id"), s.id);
        s.label = text_at(outcome, "label");
        s.kind = text_at(outcome, "kind");
        s.known_at = text_at(outcome, "known_at");
    }
    return s;
}

std::vector<Seen> read_all(const std::vector<std::string>& lines) {
    JsonDocument document;
    std::vector<Seen> seen;
    seen.reserve(lines.size());
    for (const auto& line : lines) {
        seen.push_back(read_line(document, line));
    }
    return seen;
}

std::vector<Seen> of_scenario(const std::vector<Seen>& all, std::string_view scenario) {
    std::vector<Seen> found;
    for (const auto& s : all) {
        if (s.scenario == scenario) {
            found.push_back(s);
        }
    }
    return found;
}

// One run, read once, for all tests that only look.
class SimulatedTraffic : public testing::Test {
  protected:
    static const std::vector<Seen>& traffic() {
        static const auto all = read_all(lines_of(small(7)));
        return all;
    }
};

TEST(SimRandom, GivesThePublishedSequence) {
    // SplitMix64 with state 1234567: the first values of its reference implementation.
    SimRandom random(1'234'567);
    EXPECT_EQ(random.next(), 6'457'827'717'110'365'317ULL);
    EXPECT_EQ(random.next(), 3'203'168'211'198'807'973ULL);
}

TEST(SimRandom, StaysInItsRangesAndReachesBothEnds) {
    SimRandom random(3);
    std::set<std::int64_t> drawn;
    for (int i = 0; i < 1'000; ++i) {
        drawn.insert(random.between(-2, 2));
        const auto wide = random.between(-10'000'000'000, 10'000'000'000);
        EXPECT_LE(std::abs(wide), 10'000'000'000);
    }
    EXPECT_EQ(drawn, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
    EXPECT_EQ(random.below(0), 0U);
}

TEST(SimRandom, NormalHasMeanZeroAndDeviationOne) {
    SimRandom random(5);
    double sum = 0.0;
    double squares = 0.0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
        const double z = random.normal_q16() / double{kQ16};
        sum += z;
        squares += z * z;
    }
    EXPECT_NEAR(sum / kDraws, 0.0, 0.03);  // four standard errors
    EXPECT_NEAR(squares / kDraws, 1.0, 0.04);
}

TEST(SimExp2, FollowsThePowersOfTwo) {
    for (int x = 0; x <= 40; ++x) {
        EXPECT_NEAR(static_cast<double>(sim_exp2(std::int64_t{x} * kQ16)), std::ldexp(1.0, x),
                    std::ldexp(1.0, x) * 2e-4);
    }
    EXPECT_NEAR(static_cast<double>(sim_exp2(20 * kQ16 + kQ16 / 2)), std::exp2(20.5),
                std::exp2(20.5) * 2e-4);
    EXPECT_EQ(sim_exp2(-5 * kQ16), 1);
    EXPECT_EQ(sim_exp2(100 * kQ16), sim_exp2(40 * kQ16));
}

TEST(SimulateOptions, NamesWhatIsOutOfRange) {
    const auto message_of = [](auto change) {
        SimulateOptions o;
        change(o);
        const auto status = validate(o);
        return status ? std::string() : status.error().message;
    };
    EXPECT_EQ(message_of([](auto&) {}), "");
    EXPECT_EQ(message_of([](auto& o) { o.events = 0; }), "events is 0; allowed: 1 .. 200000000");
    EXPECT_EQ(message_of([](auto& o) { o.days = 3'661; }), "days is 3661; allowed: 1 .. 3660");
    EXPECT_EQ(message_of([](auto& o) { o.customers = 99; }),
              "customers is 99; allowed: 100 .. 10000000");
    EXPECT_EQ(message_of([](auto& o) { o.terminals = 0; }),
              "terminals is 0; allowed: 100 .. 1000000");
    EXPECT_NE(message_of([](auto& o) { o.fraud_share = 0.5; }).find("fraud_share"),
              std::string::npos);
    EXPECT_NE(message_of([](auto& o) { o.fraud_share = std::nan(""); }).find("fraud_share"),
              std::string::npos);
    EXPECT_NE(message_of([](auto& o) { o.start = from_micros(-1); }).find("start"),
              std::string::npos);
    EXPECT_NE(message_of([](auto& o) { o.start += Micros{1}; }).find("whole milliseconds"),
              std::string::npos);
    EXPECT_NE(message_of([](auto& o) { o.start = EventTime::max(); }).find("start"),
              std::string::npos);
}

TEST(Simulator, SameSeedGivesTheSameBytes) {
    const auto first = lines_of(small(11, 5'000));
    EXPECT_EQ(first, lines_of(small(11, 5'000)));
    EXPECT_EQ(first.size(), 5'000U);
    EXPECT_NE(first, lines_of(small(12, 5'000)));
}

// Guards the promise over compilers and machines: a change here is a change of every recorded run.
TEST(Simulator, MatchesTheRecordedDigest) {
    EXPECT_EQ(digest_of(lines_of(small(1, 20'000))),
              "833a9b0e7bfb74f99bdefd7e7bc3e3bb7e6aa719e1a58868c6ebb2f5ea7cca4d");
}

TEST(Simulator, YieldsExactlyTheLinesAskedFor) {
    for (const std::uint64_t events : {1ULL, 2ULL, 77ULL, 1'440ULL, 3'001ULL}) {
        auto options = small(5, events);
        options.days = 1;
        EXPECT_EQ(lines_of(options).size(), events);
        options.days = 400;
        EXPECT_EQ(lines_of(options).size(), events);
    }
}

// The attributes a policy must declare for this traffic; docs/simulator.md lists them.
Schema declared() {
    Schema schema;
    schema.attributes = {{"home_country", AttributeType::kString},
                         {"customer_age_days", AttributeType::kInteger},
                         {"entry_mode", AttributeType::kString},
                         {"new_payee", AttributeType::kBoolean},
                         {"annual_income", AttributeType::kInteger},
                         {"existing_debt", AttributeType::kInteger},
                         {"employment_months", AttributeType::kInteger},
                         {"term_months", AttributeType::kInteger}};
    return schema;
}

TEST(Simulator, EveryLineIsAnEventAndAnOutcomeToTheServer) {
    const auto schema = declared();
    JsonDocument document;
    for (const auto& line : lines_of(small(21, 10'000))) {
        const auto root = document.parse(line).value_or_die();
        const auto event = parse_event(root.find("event").value(), schema);
        ASSERT_TRUE(event.has_value()) << event.error().message << "\n" << line;
        const auto outcome = root.find("outcome").value();
        if (!outcome.is(JsonKind::kNull)) {
            const auto parsed = parse_outcome(outcome);
            ASSERT_TRUE(parsed.has_value()) << parsed.error().message << "\n" << line;
            ASSERT_GT(parsed->known_at, event->occurred_at);
        }
    }
}

TEST(Simulator, StaysInsideTheRunAndInOrder) {
    auto options = small(3, 20'000);
    options.days = 3;
    options.start = parse_rfc3339("start", "2024-02-28T13:05:00Z").value_or_die();
    std::string last = "2024-02-28T13:05:00.000Z";
    for (const auto& s : read_all(lines_of(options))) {
        ASSERT_GE(s.at, last);
        last = s.at;
    }
    EXPECT_LT(last, "2024-03-02T13:05:00.000Z");  // over the leap day
    EXPECT_GT(last, "2024-03-02T12:00:00.000Z");
}

TEST(Simulator, WithoutOutcomesChangesNothingElse) {
    auto options = small(4, 10'000);
    const auto with = read_all(lines_of(options));
    options.with_outcomes = false;
    const auto without = read_all(lines_of(options));
    ASSERT_EQ(with.size(), without.size());
    std::size_t outcomes = 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
        ASSERT_EQ(with[i].id, without[i].id);
        ASSERT_TRUE(without[i].label.empty());
        outcomes += with[i].label.empty() ? 0U : 1U;
    }
    EXPECT_GT(outcomes, 100U);
}

TEST(Simulator, WithoutFraudEverythingIsHonest) {
    auto options = small(4, 10'000);
    options.fraud_share = 0.0;
    for (const auto& s : read_all(lines_of(options))) {
        ASSERT_TRUE(s.scenario == "legit" || s.scenario == "legit_lookalike" ||
                    s.scenario == "false_claim")
            << s.scenario;
    }
}

TEST(Simulator, KeepsTheFraudShareWhateverTheLengthOfTheRun) {
    for (const int days : {1, 7, 90}) {
        auto options = small(9, 60'000);
        options.days = days;
        std::size_t frauds = 0;
        for (const auto& s : read_all(lines_of(options))) {
            frauds += s.scenario.starts_with("legit") || s.scenario == "false_claim" ? 0U : 1U;
        }
        EXPECT_NEAR(static_cast<double>(frauds), 1'200.0, 240.0) << days << " days";
    }
}

TEST_F(SimulatedTraffic, IdsAreUniqueAndParentsCameBefore) {
    std::unordered_map<std::string, const Seen*> ids;
    std::size_t retries = 0;
    for (const auto& s : traffic()) {
        if (!s.parent.empty()) {
            ASSERT_TRUE(ids.contains(s.parent)) << s.parent;
            EXPECT_EQ(ids[s.parent]->value, s.value);
            ++retries;
        }
        ASSERT_TRUE(ids.emplace(s.id, &s).second) << s.id;
    }
    EXPECT_GT(retries, 10U);
}

TEST_F(SimulatedTraffic, AmountsHaveExactlyTheCurrencysDigits) {
    const std::map<std::string, std::size_t> digits = {{"USD", 2}, {"EUR", 2}, {"GBP", 2},
                                                       {"JPY", 0}, {"KRW", 0}, {"KWD", 3}};
    std::set<std::string> currencies;
    std::size_t zero = 0;
    for (const auto& s : traffic()) {
        ASSERT_TRUE(digits.contains(s.currency)) << s.currency;
        currencies.insert(s.currency);
        const auto point = s.value.find('.');
        const auto fraction = point == std::string::npos ? 0 : s.value.size() - point - 1;
        ASSERT_EQ(fraction, digits.at(s.currency)) << s.value << ' ' << s.currency;
        ASSERT_EQ(s.value.find_first_not_of("0123456789."), std::string::npos) << s.value;
        ASSERT_TRUE(s.value[0] != '0' || point == 1 || s.value.size() == 1) << s.value;
        zero += s.amount == 0.0 ? 1U : 0U;
    }
    EXPECT_EQ(currencies.size(), digits.size());
    EXPECT_GT(zero, 0U);  // zero-amount authorisations of card testers
}

TEST_F(SimulatedTraffic, EveryScenarioIsThereInItsShare) {
    std::map<std::string, std::size_t> count;
    for (const auto& s : traffic()) {
        ++count[s.scenario];
    }
    EXPECT_EQ(count.size(), kSimScenarios);
    for (const auto& campaign : sim_campaigns()) {
        const auto name = std::string(sim_scenario_name(campaign.scenario));
        const double expected = 800.0 * campaign.weight / 100.0;  // 2 % of 40,000
        EXPECT_GT(count[name], expected * 0.5) << name;
        EXPECT_LT(count[name], expected * 1.6) << name;
    }
    EXPECT_GT(count["legit"], 36'000U);
    EXPECT_GT(count["legit_lookalike"], 400U);
    EXPECT_GT(count["false_claim"], 2U);
}

TEST_F(SimulatedTraffic, OutcomesComeLaterAndTellTheTruthMostly) {
    std::map<std::string, std::map<std::string, std::size_t>> labels;
    for (const auto& s : traffic()) {
        ++labels[s.scenario][s.label];
        if (!s.label.empty()) {
            ASSERT_GT(s.known_at, s.at);
            ASSERT_TRUE(s.kind == "chargeback" || s.kind == "confirmed" || s.kind == "cleared" ||
                        s.kind == "analyst")
                << s.kind;
        }
    }
    for (const auto& campaign : sim_campaigns()) {
        auto& seen = labels[std::string(sim_scenario_name(campaign.scenario))];
        EXPECT_EQ(seen["legit"], 0U);
        EXPECT_GT(seen["fraud"], seen[""]);  // most frauds are reported
    }
    EXPECT_GT(labels["card_testing"][""], 0U);  // some never are
    EXPECT_EQ(labels["legit"]["fraud"], 0U);
    EXPECT_EQ(labels["false_claim"][""], 0U);
    EXPECT_GT(labels["legit"][""], labels["legit"]["legit"] * 50);
}

TEST_F(SimulatedTraffic, CardTestersTryManyCardsOnOneDevice) {
    std::map<std::string, std::set<std::string>> cards;
    std::size_t tiny = 0;
    const auto tests = of_scenario(traffic(), "card_testing");
    for (const auto& s : tests) {
        cards[s.device].insert(s.account);
        tiny += s.currency == "USD" && s.amount < 3.0 ? 1U : 0U;
        EXPECT_EQ(s.type, "payment");
    }
    std::size_t most = 0;
    for (const auto& [device, accounts] : cards) {
        most = std::max(most, accounts.size());
    }
    EXPECT_GE(most, 6U);
    EXPECT_GT(tiny, 10U);
}

TEST_F(SimulatedTraffic, TakeoversComeFromADeviceNeverSeenOnTheAccount) {
    std::unordered_map<std::string, std::unordered_set<std::string>> devices;
    std::size_t abroad = 0;
    std::size_t takeovers = 0;
    for (const auto& s : traffic()) {
        if (s.scenario == "account_takeover") {
            ++takeovers;
            abroad += s.ip == s.home ? 0U : 1U;
            EXPECT_TRUE(!s.new_payee || !devices[s.account].contains(s.device));
        }
        devices[s.account].insert(s.device);
    }
    EXPECT_GT(abroad, takeovers / 2);
    EXPECT_LT(abroad, takeovers);
}

TEST_F(SimulatedTraffic, CopiedCardsWereAtTheSameTerminalBefore) {
    // Most victims of one campaign share an honest visit at one terminal: some terminal must have
    // been visited by far more later victims than chance would bring.
    std::unordered_map<std::string, std::set<std::string>> visitors;
    std::unordered_set<std::string> victims;
    for (const auto& s : of_scenario(traffic(), "compromised_terminal")) {
        victims.insert(s.account);
    }
    for (const auto& s : traffic()) {
        if (s.scenario == "legit" && s.party_kind == "terminal" && victims.contains(s.account)) {
            visitors[s.party].insert(s.account);
        }
    }
    std::size_t most = 0;
    for (const auto& [terminal, accounts] : visitors) {
        most = std::max(most, accounts.size());
    }
    EXPECT_GE(most, 5U);
}

TEST_F(SimulatedTraffic, MulesPassOnNearlyAllTheyGet) {
    struct Flow {
        double in = 0.0;
        double out = 0.0;
        std::set<std::string> senders;
    };
    std::map<std::string, Flow> flows;
    const auto moves = of_scenario(traffic(), "mule_fan_in");
    for (const auto& s : moves) {
        flows[s.party].in += s.amount;
        flows[s.party].senders.insert(s.account);
    }
    std::size_t mules = 0;
    for (const auto& s : moves) {
        if (flows.contains(s.account)) {
            flows[s.account].out += s.amount;
        }
    }
    for (const auto& [account, flow] : flows) {
        if (flow.senders.size() >= 4 && flow.out > 0.0) {
            ++mules;
            EXPECT_GT(flow.out, 0.85 * flow.in);
            EXPECT_LT(flow.out, flow.in);
        }
    }
    EXPECT_GE(mules, 1U);
}

TEST_F(SimulatedTraffic, StructuringStaysJustBelowTheThreshold) {
    std::map<std::string, double> thresholds;
    for (const auto& currency : sim_currencies()) {
        thresholds[std::string(currency.code)] =
            static_cast<double>(currency.report_threshold) / std::pow(10.0, currency.digits);
    }
    for (const auto& s : of_scenario(traffic(), "structuring")) {
        EXPECT_LT(s.amount, thresholds[s.currency]);
        EXPECT_GE(s.amount, thresholds[s.currency] * 0.86);
    }
}

TEST_F(SimulatedTraffic, ScamsLookLikeTheirLookalikesButForTheMemo) {
    double scams = 0.0;
    double scam_log = 0.0;
    for (const auto& s : of_scenario(traffic(), "scam_transfer")) {
        EXPECT_FALSE(s.memo.empty());
        EXPECT_FALSE(s.device.empty());
        if (s.currency == "EUR") {
            scams += 1.0;
            scam_log += std::log2(s.amount);
        }
    }
    ASSERT_GT(scams, 10.0);
    // Median-like size of both: 2^17 US cents, within three standard errors of 1.1 / sqrt(n).
    EXPECT_NEAR(scam_log / scams, 17.0 - std::log2(100.0) + std::log2(0.92),
                3.5 * 1.1 / std::sqrt(scams));
}

TEST_F(SimulatedTraffic, CreditApplicationsCarryTheirFields) {
    std::size_t applications = 0;
    for (const auto& s : traffic()) {
        EXPECT_EQ(s.credit_fields, s.type == "credit_application");
        applications += s.type == "credit_application" ? 1U : 0U;
    }
    EXPECT_GT(applications, 200U);
}

TEST_F(SimulatedTraffic, DaysHaveQuietNightsAndCustomersAHome) {
    // Korean customers: 03:00 to 04:59 local is 18:00 to 19:59 UTC, 12:00 to 13:59 is 03 to 04 UTC.
    std::size_t night = 0;
    std::size_t noon = 0;
    std::unordered_map<std::string, std::string> homes;
    for (const auto& s : traffic()) {
        if (s.scenario != "legit") {
            continue;
        }
        const auto hour = s.at.substr(11, 2);
        ASSERT_EQ(homes.emplace(s.account, s.home).first->second, s.home);
        if (s.channel == "api") {
            continue;  // salaries and standing orders come at any hour
        }
        night += s.home == "KR" && (hour == "18" || hour == "19") ? 1U : 0U;
        noon += s.home == "KR" && (hour == "03" || hour == "04") ? 1U : 0U;
    }
    EXPECT_GT(noon, night * 10);
}

TEST(Memo, ScamsHaveHundredsOfPhrasingsAndNothingToEscape) {
    for (const auto kind : {MemoKind::kScamInvoice, MemoKind::kScamRomance, MemoKind::kScamTax,
                            MemoKind::kScamCrypto, MemoKind::kScamSafeAccount, MemoKind::kLookalike,
                            MemoKind::kEveryday, MemoKind::kBusiness}) {
        std::set<std::string> texts;
        for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
            std::string text;
            append_memo(text, kind, seed);
            std::string again;
            append_memo(again, kind, seed);
            ASSERT_EQ(text, again);
            ASSERT_FALSE(text.empty());
            ASSERT_LE(text.size(), 140U) << text;
            for (const char c : text) {
                ASSERT_TRUE(c != '"' && c != '\\' && c != '{' && c != '}') << text;
                ASSERT_FALSE(c >= 0 && c < 0x20) << text;
            }
            texts.insert(text);
        }
        EXPECT_GT(texts.size(), 200U) << static_cast<int>(kind);
    }
}

TEST(Memo, NoDigitRunIsLongEnoughForACardNumber) {
    for (int kind = 0; kind <= static_cast<int>(MemoKind::kScamSafeAccount); ++kind) {
        for (std::uint64_t seed = 0; seed < 500; ++seed) {
            std::string text;
            append_memo(text, static_cast<MemoKind>(kind), seed);
            std::size_t run = 0;
            for (const char c : text) {
                run = c >= '0' && c <= '9' ? run + 1 : 0;
                ASSERT_LE(run, 8U) << text;
            }
        }
    }
}

}  // namespace
}  // namespace tollgate::pipeline
