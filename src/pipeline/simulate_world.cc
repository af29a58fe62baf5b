// Tables of the simulated world and the profiles drawn from the seed.
#include "pipeline/simulate_world.h"

#include <algorithm>

#include "base/check.h"

namespace tollgate::pipeline {
namespace {

// Streams of the seed; the numbers are part of the format (changing one changes every run).
enum Stream : std::uint64_t {
    kCustomer = 1,
    kTerminal,
    kMerchant,
    kUsualTerminal,
    kUsualMerchant,
    kFriend,
    kTravel,
    kPhone,
    kComputer,
    kPublic,
};

// Thresholds: 10,000 in the dollar, euro and pound; the cash reporting amounts of Japan (2 million
// yen), Korea (10 million won) and Kuwait (3,000 dinar) elsewhere.
constexpr std::array<SimCurrency, 6> kCurrencies = {{
    {"USD", 2, 10'000, 1, 1'000'000},
    {"EUR", 2, 9'200, 1, 1'000'000},
    {"GBP", 2, 7'900, 1, 1'000'000},
    {"JPY", 0, 15'000, 10, 2'000'000},
    {"KRW", 0, 135'000, 100, 10'000'000},
    {"KWD", 3, 30'700, 5, 3'000'000},
}};

constexpr std::array<SimCountry, kSimCountries> kCountries = {{
    {"US", 0, -6, 28, 22},
    {"KR", 4, 9, 16, 13},
    {"JP", 3, 9, 13, 11},
    {"DE", 1, 1, 13, 11},
    {"GB", 2, 0, 11, 10},
    {"FR", 1, 1, 9, 9},
    {"ES", 1, 1, 6, 8},
    {"KW", 5, 3, 4, 4},
    {"IT", 1, 1, 0, 4},
    {"PT", 1, 0, 0, 2},
    {"NL", 1, 1, 0, 2},
    {"IE", 1, 0, 0, 2},
    {"EC", 0, -5, 0, 2},
}};

constexpr std::int32_t q16(double v) {
    return static_cast<std::int32_t>(v * kQ16);
}

constexpr std::array<SimCategory, 12> kShops = {{
    {5411, q16(0.3), 26},   // groceries
    {5812, q16(0.0), 16},   // restaurants
    {5814, q16(-1.7), 15},  // fast food, coffee
    {5541, q16(0.5), 9},    // fuel
    {5912, q16(-0.4), 8},   // pharmacies
    {4111, q16(-2.0), 7},   // local transport
    {5651, q16(0.9), 6},    // clothing
    {5732, q16(2.2), 3},    // electronics
    {7011, q16(2.4), 3},    // hotels
    {5944, q16(2.6), 1},    // jewellery
    {7832, q16(-0.7), 3},   // cinemas
    {5999, q16(0.1), 3},    // other shops
}};
constexpr std::array<SimCategory, 8> kOnline = {{
    {5999, q16(0.2), 34},   // general web shops
    {5734, q16(0.0), 14},   // software
    {5732, q16(2.0), 9},    // electronics
    {5651, q16(0.8), 16},   // clothing
    {4722, q16(2.8), 5},    // travel agencies
    {5815, q16(-1.5), 12},  // digital goods
    {5947, q16(0.4), 5},    // gift cards
    {5942, q16(-0.5), 5},   // books
}};

template <std::size_t N>
SimCategory pick_category(SimRandom& random, const std::array<SimCategory, N>& from) {
    std::uint32_t total = 0;
    for (const auto& category : from) {
        total += category.weight;
    }
    auto at = random.below(total);
    for (const auto& category : from) {
        if (at < category.weight) {
            return category;
        }
        at -= category.weight;
    }
    return from.back();
}

// Splits `total` into contiguous ranges by percent; the last country with a share takes the rest.
template <class Weight>
std::array<std::uint32_t, kSimCountries + 1> ranges(std::uint32_t total, Weight weight) {
    std::array<std::uint32_t, kSimCountries + 1> begin{};
    std::uint64_t sum = 0;
    for (std::size_t c = 0; c < kSimCountries; ++c) {
        sum += weight(kCountries[c]);
        begin[c + 1] = static_cast<std::uint32_t>(std::uint64_t{total} * sum / 100);
    }
    TG_CHECK(begin.back() == total, "country weights add up to 100");
    return begin;
}

std::uint32_t low_of_two(SimRandom& random, std::uint32_t n) {
    const auto first = random.below(n);
    return std::min(first, random.below(n));
}

}  // namespace

std::array<SimCurrency, 6> sim_currencies() {
    return kCurrencies;
}
const std::array<SimCountry, kSimCountries>& sim_countries() {
    return kCountries;
}

SimWorld::SimWorld(std::uint64_t seed, std::uint32_t customers, std::uint32_t terminals)
    : seed_(seed),
      customers_(customers),
      businesses_(std::max<std::uint32_t>(200, customers / 100)),
      merchants_(std::max<std::uint32_t>(20, terminals / 5)),
      customer_begin_(ranges(customers, [](const SimCountry& c) { return c.customer_weight; })),
      terminal_begin_(ranges(terminals, [](const SimCountry& c) { return c.terminal_weight; })) {
    TG_CHECK(customers >= 100 && terminals >= 100, "every country needs a customer and a terminal");
}

std::uint8_t SimWorld::country_of_customer(std::uint32_t index) const {
    const auto end = std::upper_bound(customer_begin_.begin(), customer_begin_.end(), index);
    return static_cast<std::uint8_t>(end - customer_begin_.begin() - 1);
}

// Businesses are spread over the countries as the customers are.
std::uint8_t SimWorld::country_of_business(std::uint32_t business) const {
    return country_of_customer(
        static_cast<std::uint32_t>(std::uint64_t{business} * customers_ / businesses_));
}

std::uint32_t SimWorld::business_in(SimRandom& random, std::uint8_t country) const {
    std::uint32_t business = 0;
    // A draw misses only at the edge of the country's range.
    for (int i = 0; i < 16; ++i) {
        const auto beside = customer_begin_[country] + random.below(customer_range(country));
        business = static_cast<std::uint32_t>(std::uint64_t{beside} * businesses_ / customers_);
        if (country_of_business(business) == country) {
            break;
        }
    }
    return customers_ + business;
}

SimCustomer SimWorld::customer(std::uint32_t index) const {
    SimRandom random(sim_key(seed_, kCustomer, index));
    SimCustomer c;
    c.index = index;
    if (index < customers_) {
        c.country = country_of_customer(index);
    } else if (index < first_free_account()) {
        c.country = country_of_business(index - customers_);
    } else {
        c.country = country_of_customer(random.below(customers_));
    }
    c.amount_q16 =
        q16(11.4) + static_cast<std::int32_t>(random.normal_q16() * std::int64_t{6} / 10);
    c.spread_q16 = q16(0.7) + static_cast<std::int32_t>(random.below(q16(0.5)));
    // One in twelve is a new customer; the others have been here for up to 15 years.
    c.age_days = static_cast<std::uint32_t>(random.chance(83) ? random.between(0, 90)
                                                              : random.between_low(91, 5'500));
    // Median 38,000 dollars a year; follows the card amounts loosely.
    c.income_cents = random.log_normal(q16(21.85) + (c.amount_q16 - q16(11.4)) / 2, q16(0.5));
    c.employed_months = static_cast<std::uint16_t>(random.between_low(0, 300));
    c.phone_phase = random.next();
    return c;
}

SimShop SimWorld::terminal(std::uint32_t index) const {
    SimRandom random(sim_key(seed_, kTerminal, index));
    const auto end = std::upper_bound(terminal_begin_.begin(), terminal_begin_.end(), index);
    return {index, static_cast<std::uint8_t>(end - terminal_begin_.begin() - 1),
            pick_category(random, kShops)};
}

SimShop SimWorld::merchant(std::uint32_t index) const {
    SimRandom random(sim_key(seed_, kMerchant, index));
    return {index, static_cast<std::uint8_t>(random.below(kSimCountries)),
            pick_category(random, kOnline)};
}

std::uint32_t SimWorld::pick_customer(SimRandom& random, std::uint8_t country) const {
    return customer_begin_[country] + low_of_two(random, customer_range(country));
}

std::uint32_t SimWorld::pick_customer(SimRandom& random) const {
    return pick_customer(random, country_of_customer(random.below(customers_)));
}

std::uint32_t SimWorld::usual_terminal(SimRandom& random, const SimCustomer& customer) const {
    SimRandom own(
        sim_key(seed_, kUsualTerminal, customer.index * std::uint64_t{8} + low_of_two(random, 6)));
    return any_terminal(own, customer.country);
}

std::uint32_t SimWorld::usual_merchant(SimRandom& random, const SimCustomer& customer) const {
    SimRandom own(
        sim_key(seed_, kUsualMerchant, customer.index * std::uint64_t{8} + low_of_two(random, 6)));
    return any_merchant(own);
}

std::uint32_t SimWorld::any_terminal(SimRandom& random, std::uint8_t country) const {
    const auto size = terminal_begin_[country + 1] - terminal_begin_[country];
    return terminal_begin_[country] + low_of_two(random, size);
}

std::uint32_t SimWorld::any_merchant(SimRandom& random) const {
    return low_of_two(random, merchants_);
}

std::uint32_t SimWorld::friend_of(SimRandom& random, const SimCustomer& customer) const {
    SimRandom own(
        sim_key(seed_, kFriend, customer.index * std::uint64_t{8} + low_of_two(random, 5)));
    return customer_begin_[customer.country] + own.below(customer_range(customer.country));
}

std::uint32_t SimWorld::landlord_of(const SimCustomer& customer) const {
    SimRandom own(sim_key(seed_, kFriend, customer.index * std::uint64_t{8} + 6));
    return business_in(own, customer.country);
}

std::uint32_t SimWorld::employer_of(const SimCustomer& customer) const {
    SimRandom own(sim_key(seed_, kFriend, customer.index * std::uint64_t{8} + 7));
    return business_in(own, customer.country);
}

std::uint8_t SimWorld::place_of(const SimCustomer& customer, std::int64_t day) const {
    const auto week = (static_cast<std::uint64_t>(day) + customer.phone_phase % 7) / 7;
    SimRandom own(sim_key(seed_, kTravel, customer.index * std::uint64_t{100'000} + week));
    return own.chance(25) ? static_cast<std::uint8_t>(own.below(kSimCountries)) : customer.country;
}

std::uint64_t SimWorld::phone_of(const SimCustomer& customer, std::int64_t day) const {
    const auto life = 365 + customer.phone_phase % 365;
    const auto age = static_cast<std::uint64_t>(day) + (customer.phone_phase >> 32) % life;
    return sim_key(seed_, kPhone, customer.index * std::uint64_t{1'000} + age / life);
}

std::uint64_t SimWorld::computer_of(const SimCustomer& customer) const {
    return sim_key(seed_, kComputer, customer.index);
}

std::uint32_t SimWorld::public_number(std::uint32_t index, std::uint32_t space) const {
    auto x = index ^ static_cast<std::uint32_t>(sim_key(seed_, kPublic, space));
    x *= 0x9E3779B1U;  // odd, hence a bijection; so are the shifts
    x ^= x >> 15;
    x *= 0x85EBCA77U;
    x ^= x >> 13;
    return x;
}

std::uint32_t sim_hour_weight(std::uint32_t local_hour) {
    constexpr std::array<std::uint32_t, 24> kHours = {45,  25,  15,   15,  25,  60,  180, 380,
                                                      560, 640, 700,  840, 960, 840, 720, 690,
                                                      720, 860, 1000, 930, 730, 500, 260, 110};
    return kHours[local_hour % 24];
}

std::int64_t sim_minor(std::int64_t usd_cents, std::uint8_t currency, std::int64_t least) {
    return std::max(least, usd_cents * kCurrencies[currency].minor_per_100_usd / 10'000);
}

}  // namespace tollgate::pipeline
