// SimEvent: one simulated event before it becomes text, the scenarios, and who makes events.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/simulate_memo.h"
#include "pipeline/simulate_world.h"

namespace tollgate::pipeline {

enum class SimScenario : std::uint8_t {
    kLegit,
    kLookalike,   // honest, but shaped like one of the frauds
    kFalseClaim,  // honest, but the customer disputes it
    kCardTesting,
    kAccountTakeover,
    kCompromisedTerminal,
    kMuleFanIn,
    kStructuring,
    kScamTransfer,
    kBustOut,
};
constexpr std::size_t kSimScenarios = 10;

// "legit", "legit_lookalike", "false_claim", "card_testing", "account_takeover",
// "compromised_terminal", "mule_fan_in", "structuring", "scam_transfer", "bust_out".
std::string_view sim_scenario_name(SimScenario scenario);
constexpr bool sim_is_fraud(SimScenario scenario) {
    return scenario >= SimScenario::kCardTesting;
}

enum class SimType : std::uint8_t { kPayment, kTransfer, kCreditApplication };
enum class SimParty : std::uint8_t { kNone, kTerminal, kMerchant, kAccount };
enum class SimChannel : std::uint8_t { kEcom, kPos, kAtm, kMobile, kBranch, kApi };
enum class SimEntry : std::uint8_t { kNone, kChip, kContactless, kMagstripe };

struct SimEvent {
    std::int64_t time_ms = 0;  // since 1970
    std::uint64_t number = 0;  // unique; becomes the event id
    std::uint64_t parent = 0;  // number of the event this one retries; 0: none
    std::int64_t minor = 0;    // amount in minor units
    std::uint64_t device = 0;  // 0: none
    std::uint64_t memo_seed = 0;
    std::uint32_t account = 0;
    std::uint32_t party = 0;
    std::uint32_t age_days = 0;  // of the account at the event
    std::uint32_t income = 0;    // whole units of the currency; credit applications
    std::uint32_t debt = 0;
    std::uint16_t employed_months = 0;
    std::uint16_t term_months = 0;
    std::uint16_t mcc = 0;  // 0: none
    std::uint8_t currency = 0;
    std::uint8_t home = 0;  // countries: indexes into sim_countries()
    std::uint8_t party_country = 0;
    std::uint8_t ip_country = 0;
    SimType type = SimType::kPayment;
    SimParty party_kind = SimParty::kNone;
    SimChannel channel = SimChannel::kPos;
    SimEntry entry = SimEntry::kNone;
    SimScenario scenario = SimScenario::kLegit;
    MemoKind memo = MemoKind::kNone;
    bool new_payee = false;
};

// What the makers of events share. One owner: the Simulator.
struct SimContext {
    const SimWorld& world;
    SimRandom random;
    std::int64_t start_ms;
    std::int64_t end_ms;  // nothing is scheduled at or past it
    std::uint64_t next_number = 1;
    std::uint32_t next_account;   // the next account opened during the run
    std::uint32_t month_day = 1;  // of the run's day, 1 to 31
    std::vector<SimEvent> out{};  // made, not yet queued
};

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kHourMs = 60 * kMinuteMs;
constexpr std::int64_t kDayMs = 24 * kHourMs;

std::uint32_t sim_age_days(const SimContext& ctx, const SimCustomer& customer, std::int64_t now_ms);

// Ordinary events of that customer at that time, not yet in ctx.out; scenario kLegit.
SimEvent sim_pos_payment(SimContext& ctx, const SimCustomer& who, std::int64_t at,
                         const SimShop& where);
SimEvent sim_ecom_payment(SimContext& ctx, const SimCustomer& who, std::int64_t at,
                          const SimShop& where);
SimEvent sim_transfer(SimContext& ctx, const SimCustomer& who, std::int64_t at, std::uint32_t to);
SimEvent sim_credit_application(SimContext& ctx, const SimCustomer& who, std::int64_t at);

// One background event of a customer of that country at that time, into ctx.out (with a retry now
// and then, and sometimes in the shape of a fraud: kLookalike).
void sim_background(SimContext& ctx, std::uint8_t country, std::int64_t at);
// The regular transfer or payment that falls on that customer's day of the month.
void sim_salary(SimContext& ctx, std::uint32_t customer, std::int64_t at);
void sim_rent(SimContext& ctx, std::uint32_t customer, std::int64_t at);
void sim_subscription(SimContext& ctx, std::uint32_t customer, std::int64_t at);
// What a first payment to somebody unknown amounts to, honest or under a scammer's influence.
std::int64_t sim_first_payment(SimContext& ctx, std::uint8_t currency);
// An honest collection (club dues): many into one account, which keeps the money.
void sim_collection(SimContext& ctx, std::int64_t now);

// A later moment between `low` and `high` ms from `now`, pulled in so that it lies in the run.
std::int64_t sim_later(SimContext& ctx, std::int64_t now, std::int64_t low, std::int64_t high);

// Makes the events of one campaign that begins at `now`, about `size` of them frauds, into ctx.out;
// returns how many frauds it made.
using SimCampaign = std::uint32_t (*)(SimContext& ctx, std::int64_t now, std::uint32_t size);
struct SimCampaignKind {
    SimScenario scenario;
    std::uint32_t weight;  // per cent of the frauds
    std::uint32_t least;   // frauds a campaign needs to make sense
    std::uint32_t most;
    SimCampaign make;
};
const std::array<SimCampaignKind, 7>& sim_campaigns();

}  // namespace tollgate::pipeline
