// The simulator's world: countries, currencies, customers, terminals and merchants, from the seed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/simulate_random.h"

namespace tollgate::pipeline {

struct SimCurrency {
    std::string_view code;           // ISO 4217
    std::uint8_t digits;             // ISO 4217 minor unit
    std::int64_t minor_per_100_usd;  // a round rate, for typical sizes only
    std::int64_t price_step;         // shop prices are multiples of it, in minor units
    std::int64_t report_threshold;   // the reporting threshold that structuring stays under
};

struct SimCountry {
    std::string_view code;         // ISO 3166-1 alpha-2
    std::uint8_t currency;         // index into sim_currencies()
    std::int8_t utc_offset_hours;  // fixed: no daylight saving
    std::uint8_t customer_weight;  // percent of the customers; 0: only travel and fraud
    std::uint8_t terminal_weight;  // percent of the terminals
};

struct SimCategory {
    std::uint16_t mcc;      // ISO 18245 merchant category
    std::int32_t size_q16;  // log2 of the usual amount over the customer's usual amount
    std::uint8_t weight;    // share among the terminals (or merchants)
};

std::array<SimCurrency, 6> sim_currencies();
constexpr std::size_t kSimCountries = 13;
const std::array<SimCountry, kSimCountries>& sim_countries();

struct SimCustomer {
    std::uint32_t index = 0;
    std::uint8_t country = 0;       // index into sim_countries()
    std::int32_t amount_q16 = 0;    // log2 of the usual card amount in US cents
    std::int32_t spread_q16 = 0;    // standard deviation of the log2
    std::uint32_t age_days = 0;     // of the account, when the run starts
    std::int64_t income_cents = 0;  // a year, US cents
    std::uint16_t employed_months = 0;
    std::uint64_t phone_phase = 0;  // when the phone is replaced
};

struct SimShop {
    std::uint32_t index = 0;
    std::uint8_t country = 0;
    SimCategory category{};
};

// Nothing is stored per customer or terminal: each is drawn again from its own random stream when
// needed, so memory does not grow with the population. Immutable; any thread.
class SimWorld {
  public:
    SimWorld(std::uint64_t seed, std::uint32_t customers, std::uint32_t terminals);

    std::uint64_t seed() const { return seed_; }
    std::uint32_t customers() const { return customers_; }
    // Account numbers from here on are free: accounts opened during the run.
    std::uint32_t first_free_account() const { return customers_ + businesses_; }

    SimCustomer customer(std::uint32_t index) const;
    SimShop terminal(std::uint32_t index) const;
    SimShop merchant(std::uint32_t index) const;

    // A customer of that country; low numbers are busier (linear density).
    std::uint32_t pick_customer(SimRandom& random, std::uint8_t country) const;
    // Any country, by its share of the customers.
    std::uint32_t pick_customer(SimRandom& random) const;
    // One of the customer's six usual terminals (or merchants), the first ones most often.
    std::uint32_t usual_terminal(SimRandom& random, const SimCustomer& customer) const;
    std::uint32_t usual_merchant(SimRandom& random, const SimCustomer& customer) const;
    std::uint32_t any_terminal(SimRandom& random, std::uint8_t country) const;
    std::uint32_t any_merchant(SimRandom& random) const;
    // A business account of that country.
    std::uint32_t business_in(SimRandom& random, std::uint8_t country) const;
    // One of five people the customer often pays; the customer's landlord and employer.
    std::uint32_t friend_of(SimRandom& random, const SimCustomer& customer) const;
    std::uint32_t landlord_of(const SimCustomer& customer) const;
    std::uint32_t employer_of(const SimCustomer& customer) const;
    // The country the customer is in that day: home, or one week abroad now and then.
    std::uint8_t place_of(const SimCustomer& customer, std::int64_t day) const;
    // Device number: the phone of that day (replaced every one to two years) or the computer.
    std::uint64_t phone_of(const SimCustomer& customer, std::int64_t day) const;
    std::uint64_t computer_of(const SimCustomer& customer) const;

    // Numbers printed in ids: a bijection, so that an id tells nothing about the role.
    std::uint32_t public_number(std::uint32_t index, std::uint32_t space) const;

  private:
    std::uint8_t country_of_customer(std::uint32_t index) const;
    std::uint8_t country_of_business(std::uint32_t business) const;
    std::uint32_t customer_range(std::uint8_t country) const {
        return customer_begin_[country + 1] - customer_begin_[country];
    }

    std::uint64_t seed_;
    std::uint32_t customers_;
    std::uint32_t businesses_;
    std::uint32_t merchants_;
    std::array<std::uint32_t, kSimCountries + 1> customer_begin_{};
    std::array<std::uint32_t, kSimCountries + 1> terminal_begin_{};
};

// Share of a day's activity in each local hour, in thousandths of the busiest.
std::uint32_t sim_hour_weight(std::uint32_t local_hour);

// US cents to minor units of the currency; at least `least` minor units.
std::int64_t sim_minor(std::int64_t usd_cents, std::uint8_t currency, std::int64_t least = 1);

}  // namespace tollgate::pipeline
