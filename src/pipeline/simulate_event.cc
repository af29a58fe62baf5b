// Ordinary customers: what they buy, whom they pay, and what looks like a fraud without being one.
#include "pipeline/simulate_event.h"

#include <algorithm>

#include "base/check.h"

namespace tollgate::pipeline {
namespace {

constexpr std::int32_t q16(double v) {
    return static_cast<std::int32_t>(v * kQ16);
}

std::int64_t day_of(std::int64_t at) {
    return at / kDayMs;
}

std::uint8_t currency_of(std::uint8_t country) {
    return sim_countries()[country].currency;
}

// Shop prices: multiples of the currency's step; one in five ends just below a round amount.
std::int64_t price(SimRandom& random, std::int64_t usd_cents, std::uint8_t currency) {
    const auto money = sim_currencies()[currency];
    auto minor = sim_minor(usd_cents, currency, money.price_step);
    minor -= minor % money.price_step;
    const auto hundred = money.price_step * 100;
    if (minor > hundred && random.chance(200)) {
        minor = minor - minor % hundred - money.price_step;
    }
    return std::max(minor, money.price_step);
}

// Transfers between people are mostly round.
std::int64_t round_amount(SimRandom& random, std::int64_t usd_cents, std::uint8_t currency) {
    const auto minor = sim_minor(usd_cents, currency);
    const auto unit =
        std::max<std::int64_t>(sim_minor(random.chance(700) ? 500 : 100, currency), 1);
    const std::int64_t nice = currency == 3 || currency == 4 ? 1'000 : currency == 5 ? 1'000 : 100;
    const auto step = std::max(nice, unit - unit % nice);
    return random.chance(800) ? std::max(step, minor - minor % step) : minor;
}

SimEvent base_event(SimContext& ctx, const SimCustomer& who, std::int64_t at) {
    SimEvent e;
    e.time_ms = at;
    e.number = ctx.next_number++;
    e.memo_seed = ctx.random.next();
    e.account = who.index;
    e.age_days = sim_age_days(ctx, who, at);
    e.home = who.country;
    return e;
}

void retry_sometimes(SimContext& ctx, const SimEvent& first) {
    if (!ctx.random.chance(3)) {
        return;
    }
    auto again = first;
    again.number = ctx.next_number++;
    again.parent = first.number;
    again.time_ms += ctx.random.between(4'000, 90'000);
    ctx.out.push_back(again);
}

void pay_somebody(SimContext& ctx, const SimCustomer& who, std::int64_t at) {
    auto& random = ctx.random;
    if (random.chance(880)) {
        auto e = sim_transfer(ctx, who, at, ctx.world.friend_of(random, who));
        e.memo = random.chance(850) ? MemoKind::kEveryday : MemoKind::kNone;
        ctx.out.push_back(e);
        return;
    }
    // Somebody new: a business, a person, or an account that has just been opened.
    const auto business = random.chance(550);
    auto to = ctx.world.first_free_account();
    if (business) {
        const auto abroad = random.chance(120);
        const auto country =
            abroad ? ctx.world.customer(ctx.world.pick_customer(random)).country : who.country;
        to = ctx.world.business_in(random, country);
    } else {
        to = random.chance(120) ? ctx.next_account++ : ctx.world.pick_customer(random, who.country);
    }
    auto e = sim_transfer(ctx, who, at, to);
    e.new_payee = true;
    e.memo = business ? MemoKind::kBusiness : MemoKind::kEveryday;
    if (business) {
        e.minor = round_amount(random, random.log_normal(q16(15.3), q16(1.2)), e.currency);
    }
    ctx.out.push_back(e);
}

// Honest events that a rule written for a fraud would catch.
void lookalike(SimContext& ctx, const SimCustomer& who, std::int64_t at) {
    auto& random = ctx.random;
    const auto shape = random.below(10);
    SimEvent e;
    if (shape < 6) {  // the words and the size of a scam
        e = sim_transfer(ctx, who, at, ctx.world.pick_customer(random, who.country));
        e.minor = sim_first_payment(ctx, e.currency);
        e.new_payee = random.chance(850);
        e.memo = MemoKind::kLookalike;
        if (random.chance(400)) {  // the second part, days later
            auto rest =
                sim_transfer(ctx, who, sim_later(ctx, at, 6 * kHourMs, 6 * kDayMs), e.party);
            rest.minor = sim_first_payment(ctx, rest.currency);
            rest.memo = MemoKind::kLookalike;
            rest.scenario = SimScenario::kLookalike;
            ctx.out.push_back(rest);
        }
    } else if (shape < 8) {  // a new phone, maybe abroad, and a large transfer
        e = sim_transfer(ctx, who, at, ctx.world.friend_of(random, who));
        e.minor = round_amount(random, random.log_normal(q16(17.5), q16(1.0)), e.currency);
        e.device = random.next() | 1;
        e.ip_country = random.chance(400) ? static_cast<std::uint8_t>(random.below(kSimCountries))
                                          : who.country;
        e.memo = MemoKind::kEveryday;
    } else if (shape < 9) {  // a car or a deposit just below the threshold
        e = sim_transfer(ctx, who, at, ctx.world.landlord_of(who));
        e.minor =
            sim_currencies()[e.currency].report_threshold / 1'000 * random.between(850, 1'050);
        e.new_payee = random.chance(500);
        e.memo = MemoKind::kBusiness;
    } else {  // a tiny order, then a large one at the same shop
        e = sim_ecom_payment(ctx, who, at, ctx.world.merchant(ctx.world.any_merchant(random)));
        e.minor = price(random, random.between(50, 300), e.currency);
        auto large = e;
        large.number = ctx.next_number++;
        large.scenario = SimScenario::kLookalike;
        large.time_ms += random.between(kMinuteMs, 40 * kMinuteMs);
        large.minor = price(random, random.log_normal(q16(15.6), q16(0.6)), e.currency);
        ctx.out.push_back(large);
    }
    e.scenario = SimScenario::kLookalike;
    ctx.out.push_back(e);
}

// Long after their pay day people spend less: such a customer is drawn again now and then.
SimCustomer pick_spender(SimContext& ctx, std::uint8_t country) {
    auto index = ctx.world.pick_customer(ctx.random, country);
    const auto since_pay = (ctx.month_day + 27 - index % 28) % 28;
    if (since_pay > 20 && ctx.random.chance(300)) {
        index = ctx.world.pick_customer(ctx.random, country);
    }
    return ctx.world.customer(index);
}

}  // namespace

std::string_view sim_scenario_name(SimScenario scenario) {
    constexpr std::array<std::string_view, kSimScenarios> kNames = {
        "legit",        "legit_lookalike",  "false_claim",
        "card_testing", "account_takeover", "compromised_terminal",
        "mule_fan_in",  "structuring",      "scam_transfer",
        "bust_out"};
    return kNames[static_cast<std::size_t>(scenario)];
}

std::uint32_t sim_age_days(const SimContext& ctx, const SimCustomer& customer, std::int64_t now) {
    return customer.age_days + static_cast<std::uint32_t>((now - ctx.start_ms) / kDayMs);
}

std::int64_t sim_later(SimContext& ctx, std::int64_t now, std::int64_t low, std::int64_t high) {
    // Short runs and the end of a run squeeze long delays; at most nine tenths of what is left.
    const auto left = std::max<std::int64_t>((ctx.end_ms - now) / 10 * 9, 1);
    const auto top = std::min(high, left);
    return now + ctx.random.between(std::min(low, top - top / 2), top);
}

SimEvent sim_pos_payment(SimContext& ctx, const SimCustomer& who, std::int64_t at,
                         const SimShop& where) {
    auto& random = ctx.random;
    auto e = base_event(ctx, who, at);
    e.channel = SimChannel::kPos;
    e.party_kind = SimParty::kTerminal;
    e.party = where.index;
    e.party_country = where.country;
    e.mcc = where.category.mcc;
    e.currency = currency_of(where.country);
    e.minor =
        price(random, random.log_normal(who.amount_q16 + where.category.size_q16, who.spread_q16),
              e.currency);
    const auto how = random.below(100);
    e.entry = how < 60 ? SimEntry::kContactless : how < 98 ? SimEntry::kChip : SimEntry::kMagstripe;
    return e;
}

SimEvent sim_ecom_payment(SimContext& ctx, const SimCustomer& who, std::int64_t at,
                          const SimShop& where) {
    auto& random = ctx.random;
    auto e = base_event(ctx, who, at);
    e.channel = random.chance(550) ? SimChannel::kEcom : SimChannel::kMobile;
    e.party_kind = SimParty::kMerchant;
    e.party = where.index;
    e.party_country = where.country;
    e.mcc = where.category.mcc;
    e.currency = currency_of(who.country);
    e.minor =
        price(random, random.log_normal(who.amount_q16 + where.category.size_q16, who.spread_q16),
              e.currency);
    e.device = e.channel == SimChannel::kMobile ? ctx.world.phone_of(who, day_of(at))
                                                : ctx.world.computer_of(who);
    e.ip_country = ctx.world.place_of(who, day_of(at));
    e.memo = random.chance(300) ? MemoKind::kOrder : MemoKind::kNone;
    return e;
}

SimEvent sim_transfer(SimContext& ctx, const SimCustomer& who, std::int64_t at, std::uint32_t to) {
    auto& random = ctx.random;
    auto e = base_event(ctx, who, at);
    e.type = SimType::kTransfer;
    e.channel = random.chance(750) ? SimChannel::kMobile : SimChannel::kEcom;
    e.party_kind = SimParty::kAccount;
    e.party = to;
    e.party_country =
        to < ctx.world.first_free_account() ? ctx.world.customer(to).country : who.country;
    e.currency = currency_of(who.country);
    e.minor =
        round_amount(random, random.log_normal(who.amount_q16 + q16(1.3), q16(1.2)), e.currency);
    e.device = e.channel == SimChannel::kMobile ? ctx.world.phone_of(who, day_of(at))
                                                : ctx.world.computer_of(who);
    e.ip_country = ctx.world.place_of(who, day_of(at));
    return e;
}

SimEvent sim_credit_application(SimContext& ctx, const SimCustomer& who, std::int64_t at) {
    auto& random = ctx.random;
    auto e = base_event(ctx, who, at);
    e.type = SimType::kCreditApplication;
    const auto how = random.below(10);
    e.channel = how < 5 ? SimChannel::kMobile : how < 8 ? SimChannel::kEcom : SimChannel::kBranch;
    e.currency = currency_of(who.country);
    std::int64_t unit = 1;
    for (int i = 0; i < sim_currencies()[e.currency].digits; ++i) {
        unit *= 10;
    }
    const auto income = std::min(who.income_cents, std::int64_t{50'000'000});
    // Requested: a tenth of the income in the middle, up to more than all of it.
    const auto request = income * random.log_normal(q16(10.0), q16(1.3)) / 10'240;
    const auto round =
        std::max<std::int64_t>(sim_minor(50'000, e.currency) / unit / 100 * 100, 100);
    e.minor =
        std::max(sim_minor(request, e.currency) / unit / round, std::int64_t{1}) * round * unit;
    e.income = static_cast<std::uint32_t>(sim_minor(income, e.currency) / unit);
    const std::int64_t share = random.below(80);  // of the income, in per cent
    const std::int64_t used = random.below(100);
    e.debt =
        static_cast<std::uint32_t>(sim_minor(income * share * used / 10'000, e.currency) / unit);
    e.employed_months =
        static_cast<std::uint16_t>(who.employed_months + (at - ctx.start_ms) / kDayMs / 30);
    constexpr std::array<std::uint16_t, 6> kTerms = {6, 12, 24, 36, 48, 60};
    e.term_months = random.pick(kTerms);
    if (e.channel != SimChannel::kBranch) {
        e.device = e.channel == SimChannel::kMobile ? ctx.world.phone_of(who, day_of(at))
                                                    : ctx.world.computer_of(who);
        e.ip_country = ctx.world.place_of(who, day_of(at));
    }
    return e;
}

void sim_background(SimContext& ctx, std::uint8_t country, std::int64_t at) {
    auto& random = ctx.random;
    const auto who = pick_spender(ctx, country);
    const auto kind = random.below(1'000);
    if (kind < 600) {
        const auto place = ctx.world.place_of(who, day_of(at));
        const auto shop = place == who.country && random.chance(780)
                              ? ctx.world.usual_terminal(random, who)
                              : ctx.world.any_terminal(random, place);
        auto e = sim_pos_payment(ctx, who, at, ctx.world.terminal(shop));
        if (kind < 40) {  // cash: round, always chip
            e.channel = SimChannel::kAtm;
            e.entry = SimEntry::kChip;
            e.mcc = 6011;
            const auto note = sim_currencies()[e.currency].report_threshold / 500;
            e.minor = note * random.between_low(1, 20);
        }
        if (random.chance(2, 10'000)) {
            e.scenario = SimScenario::kFalseClaim;
        }
        ctx.out.push_back(e);
        retry_sometimes(ctx, ctx.out.back());
    } else if (kind < 830) {
        const auto shop = random.chance(650) ? ctx.world.usual_merchant(random, who)
                                             : ctx.world.any_merchant(random);
        auto e = sim_ecom_payment(ctx, who, at, ctx.world.merchant(shop));
        if (random.chance(14)) {
            e.device = random.next() | 1;  // a friend's computer, a new one
        }
        if (random.chance(15, 10'000)) {
            e.scenario = SimScenario::kFalseClaim;
        }
        ctx.out.push_back(e);
        retry_sometimes(ctx, ctx.out.back());
    } else if (kind < 972) {
        pay_somebody(ctx, who, at);
    } else if (kind < 982) {
        ctx.out.push_back(sim_credit_application(ctx, who, at));
    } else {
        lookalike(ctx, who, at);
    }
}

std::int64_t sim_first_payment(SimContext& ctx, std::uint8_t currency) {
    return round_amount(ctx.random, ctx.random.log_normal(q16(17.0), q16(1.1)), currency);
}

void sim_salary(SimContext& ctx, std::uint32_t customer, std::int64_t at) {
    const auto to = ctx.world.customer(customer);
    const auto from = ctx.world.customer(ctx.world.employer_of(to));
    auto e = sim_transfer(ctx, from, at, to.index);
    e.channel = SimChannel::kApi;
    e.device = 0;
    e.minor = sim_minor(to.income_cents / 12 * 3 / 4, e.currency);
    e.memo = MemoKind::kSalary;
    ctx.out.push_back(e);
}

void sim_rent(SimContext& ctx, std::uint32_t customer, std::int64_t at) {
    const auto who = ctx.world.customer(customer);
    auto e = sim_transfer(ctx, who, at, ctx.world.landlord_of(who));
    e.channel = SimChannel::kApi;  // a standing order
    e.device = 0;
    const auto rent = sim_minor(who.income_cents / 12 * 3 / 10, e.currency);
    const auto step = sim_minor(500, e.currency);
    e.minor = std::max(step, rent - rent % step);
    e.memo = MemoKind::kRent;
    ctx.out.push_back(e);
}

void sim_subscription(SimContext& ctx, std::uint32_t customer, std::int64_t at) {
    const auto who = ctx.world.customer(customer);
    SimRandom own(sim_key(ctx.world.seed(), 100, customer));  // the same shop and price each month
    const auto shop = ctx.world.merchant(ctx.world.any_merchant(own));
    auto e = sim_ecom_payment(ctx, who, at, shop);
    e.channel = SimChannel::kApi;
    e.device = 0;
    e.minor = price(own, own.between(4, 40) * 100 - 1, e.currency);
    e.memo = MemoKind::kOrder;
    ctx.out.push_back(e);
}

void sim_collection(SimContext& ctx, std::int64_t now) {
    auto& random = ctx.random;
    const auto club = ctx.world.pick_customer(random);
    const auto country = ctx.world.customer(club).country;
    const auto members = random.between(8, 30);
    const auto dues = random.between(10, 80) * 100;
    const auto memo = random.next();
    for (std::int64_t i = 0; i < members; ++i) {
        const auto who = ctx.world.customer(ctx.world.pick_customer(random, country));
        auto e = sim_transfer(ctx, who, sim_later(ctx, now, 0, 5 * kDayMs), club);
        e.minor = sim_minor(dues, e.currency);
        e.memo = MemoKind::kCollection;
        e.memo_seed = random.chance(600) ? memo : e.memo_seed;
        e.new_payee = random.chance(500);
        e.scenario = SimScenario::kLookalike;
        ctx.out.push_back(e);
    }
}

}  // namespace tollgate::pipeline
