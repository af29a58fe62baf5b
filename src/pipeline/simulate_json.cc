// The simulator's JSON writer (no text of ours needs an escape) and its outcome model.
#include "pipeline/simulate_json.h"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace tollgate::pipeline {
namespace {

constexpr std::array<std::string_view, 3> kTypes = {"payment", "transfer", "credit_application"};
constexpr std::array<std::string_view, 4> kParties = {"", "terminal", "merchant", "account"};
constexpr std::array<std::string_view, 6> kChannels = {"ecom",   "pos",    "atm",
                                                       "mobile", "branch", "api"};
constexpr std::array<std::string_view, 4> kEntries = {"", "chip", "contactless", "magstripe"};

enum Space : std::uint32_t { kAccounts, kTerminals, kMerchants, kCashMachines };
constexpr std::uint16_t kCashMcc = 6011;

template <class T>
std::string_view name_of(const auto& names, T value) {
    return names[static_cast<std::size_t>(value)];
}

void append_number(std::string& out, std::int64_t value) {
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void append_digits(std::string& out, std::uint64_t value, int digits) {
    std::array<char, 20> text{};
    for (int i = digits; i-- > 0; value /= 10) {
        text[static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 10);
    }
    out.append(text.data(), static_cast<std::size_t>(digits));
}

void append_hex(std::string& out, std::uint64_t value, int digits) {
    for (int i = digits; i-- > 0;) {
        out += "0123456789abcdef"[(value >> (4 * i)) & 15];
    }
}

// "12.40": the currency's digits, no more and no fewer.
void append_amount(std::string& out, std::int64_t minor, const SimCurrency& currency) {
    std::int64_t unit = 1;
    for (int i = 0; i < currency.digits; ++i) {
        unit *= 10;
    }
    append_number(out, minor / unit);
    if (currency.digits > 0) {
        out += '.';
        append_digits(out, static_cast<std::uint64_t>(minor % unit), currency.digits);
    }
}

// How a kind of event becomes known.
struct Report {
    std::uint32_t per_mille;  // how often at all
    std::string_view kind;
    std::int64_t first_hours;  // leaning to the early end of [first, last]
    std::int64_t last_hours;
    std::string_view note;
};

Report report_of(SimScenario scenario) {
    switch (scenario) {
        case SimScenario::kLegit:
            return {4, "analyst", 4, 96, "looked at, in order"};
        case SimScenario::kLookalike:
            return {60, "analyst", 4, 96, "looked at, in order"};
        case SimScenario::kFalseClaim:
            return {1'000, "chargeback", 120, 1'440, "disputed by holder"};
        case SimScenario::kCardTesting:
            return {720, "chargeback", 72, 960, "not known to holder"};
        case SimScenario::kAccountTakeover:
            return {950, "confirmed", 3, 240, "customer called"};
        case SimScenario::kCompromisedTerminal:
            return {920, "chargeback", 72, 960, "copied card"};
        case SimScenario::kMuleFanIn:
            return {760, "confirmed", 48, 720, "sender's bank recalled"};
        case SimScenario::kStructuring:
            return {600, "analyst", 96, 1'440, "below the threshold"};
        case SimScenario::kScamTransfer:
            return {800, "confirmed", 24, 960, "customer was deceived"};
        case SimScenario::kBustOut:
            return {880, "confirmed", 720, 2'880, "first payments missed"};
    }
    return {};
}

}  // namespace

void SimLineWriter::append(std::string& out, const SimEvent& event) {
    out += "{\"event\":";
    append_event(out, event);
    out += ",\"outcome\":";
    append_outcome(out, event);
    out += ",\"scenario\":\"";
    out += sim_scenario_name(event.scenario);
    out += "\"}";
}

void SimLineWriter::append_event(std::string& out, const SimEvent& event) {
    const auto& countries = sim_countries();
    const auto currency = sim_currencies()[event.currency];
    out += "{\"event_id\":\"";
    append_id(out, 's', event.number);
    out += "\",\"event_type\":\"";
    out += name_of(kTypes, event.type);
    out += "\",\"occurred_at\":\"";
    append_time(out, event.time_ms);
    out += "\",\"account_id\":\"A-";
    append_digits(out, world_.public_number(event.account, kAccounts), 10);
    out += "\",\"amount\":{\"value\":\"";
    append_amount(out, event.minor, currency);
    out += "\",\"currency\":\"";
    out += currency.code;
    out += "\"}";
    append_counterparty(out, event);
    out += ",\"channel\":\"";
    out += name_of(kChannels, event.channel);
    out += '"';
    if (event.device != 0) {
        out += ",\"device\":{\"id\":\"d";
        append_hex(out, event.device, 12);
        out += "\",\"ip_country\":\"";
        out += countries[event.ip_country].code;
        out += "\"}";
    }
    if (event.memo != MemoKind::kNone) {
        out += ",\"memo\":\"";
        append_memo(out, event.memo, event.memo_seed);
        out += '"';
    }
    if (event.parent != 0) {
        out += ",\"parent_id\":\"";
        append_id(out, 's', event.parent);
        out += '"';
    }
    append_attributes(out, event);
    out += '}';
}

void SimLineWriter::append_counterparty(std::string& out, const SimEvent& event) {
    if (event.party_kind == SimParty::kNone) {
        return;
    }
    out += ",\"counterparty\":{\"id\":\"";
    switch (event.party_kind) {
        case SimParty::kTerminal:
            out += "T-";
            append_digits(out,
                          world_.public_number(event.party,
                                               event.mcc == kCashMcc ? kCashMachines : kTerminals),
                          10);
            break;
        case SimParty::kMerchant:
            out += "M-";
            append_digits(out, world_.public_number(event.party, kMerchants), 10);
            break;
        default:
            out += "A-";
            append_digits(out, world_.public_number(event.party, kAccounts), 10);
    }
    out += "\",\"kind\":\"";
    out += name_of(kParties, event.party_kind);
    if (event.mcc != 0) {
        out += "\",\"category\":\"";
        append_digits(out, event.mcc, 4);
    }
    out += "\",\"country\":\"";
    out += sim_countries()[event.party_country].code;
    out += "\"}";
}

void SimLineWriter::append_attributes(std::string& out, const SimEvent& event) {
    out += ",\"attributes\":{\"home_country\":\"";
    out += sim_countries()[event.home].code;
    out += "\",\"customer_age_days\":";
    append_number(out, event.age_days);
    if (event.entry != SimEntry::kNone) {
        out += ",\"entry_mode\":\"";
        out += name_of(kEntries, event.entry);
        out += '"';
    }
    if (event.type == SimType::kTransfer) {
        out += event.new_payee ? ",\"new_payee\":true" : ",\"new_payee\":false";
    }
    if (event.type == SimType::kCreditApplication) {
        out += ",\"annual_income\":";
        append_number(out, event.income);
        out += ",\"existing_debt\":";
        append_number(out, event.debt);
        out += ",\"employment_months\":";
        append_number(out, event.employed_months);
        out += ",\"term_months\":";
        append_number(out, event.term_months);
    }
    out += '}';
}

void SimLineWriter::append_outcome(std::string& out, const SimEvent& event) {
    const auto report = report_of(event.scenario);
    SimRandom random(sim_key(world_.seed(), 101, event.number));
    if (!with_outcomes_ || !random.chance(report.per_mille)) {
        out += "null";
        return;
    }
    auto kind = report.kind;
    auto note = report.note;
    auto fraud = sim_is_fraud(event.scenario);
    if (event.scenario == SimScenario::kFalseClaim) {
        // Two claims in three are seen through and cleared; the third stands as a fraud.
        fraud = random.chance(333);
        kind = fraud ? kind : "cleared";
        note = fraud ? note : "claim withdrawn";
    }
    const auto delay =
        random.between_low(report.first_hours * kHourMs, report.last_hours * kHourMs);
    out += "{\"outcome_id\":\"";
    append_id(out, 'o', event.number);
    out += "\",\"event_id\":\"";
    append_id(out, 's', event.number);
    out += "\",\"label\":\"";
    out += fraud ? "fraud" : "legit";
    out += "\",\"kind\":\"";
    out += kind;
    out += "\",\"known_at\":\"";
    append_time(out, event.time_ms + delay);
    out += "\",\"note\":\"";
    out += note;
    out += "\"}";
}

void SimLineWriter::append_time(std::string& out, std::int64_t time_ms) {
    const auto day = time_ms / kDayMs;
    if (day != day_) {
        const std::chrono::year_month_day date{
            std::chrono::sys_days{std::chrono::days{static_cast<int>(day)}}};
        date_.clear();
        append_digits(date_, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
        date_ += '-';
        append_digits(date_, static_cast<unsigned>(date.month()), 2);
        date_ += '-';
        append_digits(date_, static_cast<unsigned>(date.day()), 2);
        date_ += 'T';
        day_ = day;
    }
    const auto in_day = static_cast<std::uint64_t>(time_ms % kDayMs);
    out += date_;
    append_digits(out, in_day / 3'600'000, 2);
    out += ':';
    append_digits(out, in_day / 60'000 % 60, 2);
    out += ':';
    append_digits(out, in_day / 1'000 % 60, 2);
    out += '.';
    append_digits(out, in_day % 1'000, 3);
    out += 'Z';
}

// The seed is part of the id, so that two runs can be sent to one tenant.
void SimLineWriter::append_id(std::string& out, char prefix, std::uint64_t number) {
    out += prefix;
    append_hex(out, sim_mix(world_.seed() + 1), 6);
    out += '-';
    append_digits(out, number, 10);
}

}  // namespace tollgate::pipeline
