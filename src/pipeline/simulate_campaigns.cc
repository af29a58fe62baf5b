// The frauds: seven kinds of campaign, each with its tell and with events that blur it.
#include <algorithm>

#include "pipeline/simulate_event.h"

namespace tollgate::pipeline {
namespace {

constexpr std::int32_t q16(double v) {
    return static_cast<std::int32_t>(v * kQ16);
}

// Moves a moment into the waking hours of that country on the same local day, if that still lies
// in [now, end of the run).
std::int64_t waking(SimContext& ctx, std::int64_t now, std::int64_t at, std::uint8_t country) {
    const auto offset = sim_countries()[country].utc_offset_hours * kHourMs;
    const auto day = (at + offset) / kDayMs * kDayMs;
    const auto moved = day + ctx.random.between(8 * kHourMs, 22 * kHourMs) - offset;
    return moved >= now && moved < ctx.end_ms ? moved : at;
}

std::uint8_t other_country(SimContext& ctx, std::uint8_t home) {
    const auto away = 1 + ctx.random.below(kSimCountries - 1);
    return static_cast<std::uint8_t>((home + away) % kSimCountries);
}

std::uint64_t new_device(SimContext& ctx) {
    return ctx.random.next() | 1;
}

std::int64_t cents_to_minor(SimContext& ctx, std::uint8_t currency, double log2_cents,
                            double spread) {
    const auto minor = sim_minor(ctx.random.log_normal(q16(log2_cents), q16(spread)), currency);
    const auto step = sim_currencies()[currency].price_step;
    return std::max(step, minor - minor % step);
}

// A web shop for goods that sell well; any shop when sixteen tries find none.
SimShop goods_shop(SimContext& ctx) {
    auto shop = ctx.world.merchant(ctx.world.any_merchant(ctx.random));
    for (int i = 0; i < 16 && shop.category.mcc != 5732 && shop.category.mcc != 5947; ++i) {
        shop = ctx.world.merchant(ctx.world.any_merchant(ctx.random));
    }
    return shop;
}

void add(SimContext& ctx, const SimEvent& event, SimScenario scenario) {
    ctx.out.push_back(event);
    ctx.out.back().scenario = scenario;
}

// Stolen card numbers are tried with tiny amounts at one web shop, from one computer, within
// minutes; those that work are used for goods that sell well, hours or days later.
std::uint32_t card_testing(SimContext& ctx, std::int64_t now, std::uint32_t size) {
    auto& random = ctx.random;
    const auto device = new_device(ctx);
    const auto from = static_cast<std::uint8_t>(random.below(kSimCountries));
    const auto shop = ctx.world.merchant(ctx.world.any_merchant(random));
    const auto span = random.between(2 * kMinuteMs, 25 * kMinuteMs);
    std::uint32_t made = 0;
    while (made < size) {
        const auto who = ctx.world.customer(ctx.world.pick_customer(random));
        const auto at = sim_later(ctx, now, 0, span);
        auto e = sim_ecom_payment(ctx, who, at, shop);
        e.channel = SimChannel::kEcom;
        e.device = device;
        e.ip_country = from;
        e.memo = MemoKind::kNone;
        // Zero-amount authorisations check a card without a charge.
        e.minor = random.chance(120) ? 0 : sim_minor(random.between(40, 260), e.currency);
        add(ctx, e, SimScenario::kCardTesting);
        ++made;
        if (random.chance(180) && made < size) {
            const auto where = goods_shop(ctx);
            auto big = sim_ecom_payment(ctx, who, sim_later(ctx, at, kHourMs, 3 * kDayMs), where);
            big.minor = cents_to_minor(ctx, big.currency, 15.4, 0.8);
            big.device = random.chance(500) ? device : new_device(ctx);
            big.ip_country = random.chance(700) ? from : who.country;
            add(ctx, big, SimScenario::kCardTesting);
            ++made;
        }
    }
    return made;
}

// Somebody else signs in: a new device, mostly from another country, and within an hour the money
// goes to an account the customer never paid.
std::uint32_t account_takeover(SimContext& ctx, std::int64_t now, std::uint32_t size) {
    auto& random = ctx.random;
    const auto who = ctx.world.customer(ctx.world.pick_customer(random));
    const auto device = new_device(ctx);
    const auto from = random.chance(750) ? other_country(ctx, who.country) : who.country;
    const auto payee =
        random.chance(700) ? ctx.next_account++ : ctx.world.pick_customer(random, who.country);
    auto at = now;
    for (std::uint32_t i = 0; i < size; ++i) {
        at = sim_later(ctx, at, kMinuteMs, 25 * kMinuteMs);
        auto e = sim_transfer(ctx, who, at, payee);
        e.device = device;
        e.ip_country = from;
        e.new_payee = i == 0;
        e.minor = i == 0 && random.chance(300) ? sim_minor(random.between(100, 2'000), e.currency)
                                               : cents_to_minor(ctx, e.currency, 17.6, 0.9);
        e.memo = random.chance(700) ? MemoKind::kVague : MemoKind::kEveryday;
        add(ctx, e, SimScenario::kAccountTakeover);
    }
    return size;
}

// A terminal copies cards for some days. Its visitors' payments are honest; days later the copies
// are used at other terminals and cash machines, and some are charged again at the terminal itself.
std::uint32_t compromised_terminal(SimContext& ctx, std::int64_t now, std::uint32_t size) {
    auto& random = ctx.random;
    const auto country = ctx.world.customer(ctx.world.pick_customer(random)).country;
    const auto where = ctx.world.terminal(ctx.world.any_terminal(random, country));
    const auto period = random.between(3 * kDayMs, 12 * kDayMs);
    std::uint32_t made = 0;
    while (made < size) {
        const auto who = ctx.world.customer(ctx.world.pick_customer(random, country));
        const auto visit = waking(ctx, now, sim_later(ctx, now, 0, period), country);
        add(ctx, sim_pos_payment(ctx, who, visit, where), SimScenario::kLegit);
        if (random.chance(350)) {
            continue;  // read, but never used
        }
        const auto uses = 1 + random.below(3);
        auto at = sim_later(ctx, visit, kDayMs, 10 * kDayMs);
        for (std::uint32_t i = 0; i < uses && made < size; ++i, ++made) {
            const bool same = random.chance(300);
            const auto shop =
                same ? where : ctx.world.terminal(ctx.world.any_terminal(random, country));
            auto e = sim_pos_payment(ctx, who, at, shop);
            e.entry = random.chance(500) ? SimEntry::kMagstripe : e.entry;
            if (!same && random.chance(350)) {
                e.channel = SimChannel::kAtm;
                e.mcc = 6011;
                e.minor =
                    sim_currencies()[e.currency].report_threshold / 500 * random.between(5, 30);
            } else {
                e.minor = cents_to_minor(ctx, e.currency, 13.8, 1.0);
            }
            add(ctx, e, SimScenario::kCompromisedTerminal);
            at = sim_later(ctx, at, 5 * kMinuteMs, 12 * kHourMs);
        }
    }
    return made;
}

// Many accounts pay into a young one within days; nearly all of it leaves again at once.
std::uint32_t mule_fan_in(SimContext& ctx, std::int64_t now, std::uint32_t size) {
    auto& random = ctx.random;
    const auto exits = std::min<std::uint32_t>(1 + random.below(3), size / 4 + 1);
    const auto inflows = size - exits;
    auto mule = ctx.world.customer(ctx.next_account++);
    mule.age_days = static_cast<std::uint32_t>(random.between(3, 60));
    const auto period = random.between(kDayMs, 4 * kDayMs);
    auto last = now;
    std::int64_t total = 0;
    std::uint8_t currency = 0;
    for (std::uint32_t i = 0; i < inflows; ++i) {
        const auto who = ctx.world.customer(ctx.world.pick_customer(random, mule.country));
        const auto at = waking(ctx, now, sim_later(ctx, now, 0, period), mule.country);
        auto e = sim_transfer(ctx, who, at, mule.index);
        e.party_country = mule.country;
        e.new_payee = true;
        e.minor = cents_to_minor(ctx, e.currency, 15.8, 0.9);
        e.memo = random.chance(600) ? MemoKind::kVague : MemoKind::kEveryday;
        total += e.minor;
        currency = e.currency;
        last = std::max(last, at);
        add(ctx, e, SimScenario::kMuleFanIn);
    }
    for (std::uint32_t i = 0; i < exits; ++i) {
        auto e = sim_transfer(ctx, mule, sim_later(ctx, last, 10 * kMinuteMs, kDayMs),
                              ctx.next_account++);
        e.minor = std::max<std::int64_t>(total * random.between(88, 97) / 100 / exits, 1);
        e.currency = currency;
        e.new_payee = true;
        e.party_country = random.chance(500) ? other_country(ctx, mule.country) : mule.country;
        e.memo = MemoKind::kVague;
        add(ctx, e, SimScenario::kMuleFanIn);
    }
    return size;
}

// The same account sends amounts just below the reporting threshold, day after day.
std::uint32_t structuring(SimContext& ctx, std::int64_t now, std::uint32_t size) {
    auto& random = ctx.random;
    const auto who = ctx.world.customer(ctx.world.pick_customer(random));
    const std::array<std::uint32_t, 2> payees = {ctx.next_account++,
                                                 ctx.world.pick_customer(random, who.country)};
    const auto period = random.between(kDayMs, 8 * kDayMs);
    for (std::uint32_t i = 0; i < size; ++i) {
        const auto at = waking(ctx, now, sim_later(ctx, now, 0, period), who.country);
        auto e = sim_transfer(ctx, who, at, random.pick(payees));
        e.channel = random.chance(450) ? SimChannel::kBranch : e.channel;
        e.device = e.channel == SimChannel::kBranch ? 0 : e.device;
        e.minor = sim_currencies()[e.currency].report_threshold / 1'000 * random.between(870, 999);
        e.new_payee = i < 2;
        e.memo = random.chance(500) ? MemoKind::kBusiness : MemoKind::kVague;
        add(ctx, e, SimScenario::kStructuring);
    }
    return size;
}

// The customer is talked into it: own device, own place, own hours, amounts as in an honest first
// payment (the lookalikes draw from the same distribution). Only the memo tells.
std::uint32_t scam_transfer(SimContext& ctx, std::int64_t now, std::uint32_t size) {
    auto& random = ctx.random;
    constexpr std::array<MemoKind, 5> kKinds = {MemoKind::kScamInvoice, MemoKind::kScamRomance,
                                                MemoKind::kScamTax, MemoKind::kScamCrypto,
                                                MemoKind::kScamSafeAccount};
    const auto kind = random.pick(kKinds);
    const auto who = ctx.world.customer(ctx.world.pick_customer(random));
    const auto payee =
        random.chance(120) ? ctx.next_account++ : ctx.world.pick_customer(random, who.country);
    auto at = waking(ctx, now, now, who.country);
    for (std::uint32_t i = 0; i < size; ++i) {
        auto e = sim_transfer(ctx, who, at, payee);
        e.minor = sim_first_payment(ctx, e.currency);
        e.new_payee = i == 0 && random.chance(850);
        e.memo = kind;
        add(ctx, e, SimScenario::kScamTransfer);
        const auto next = sim_later(ctx, at, 6 * kHourMs, 6 * kDayMs);
        at = waking(ctx, at, next, who.country);
    }
    return size;
}

// Young accounts behind one device ask for much credit on good papers within days, then spend it.
std::uint32_t bust_out(SimContext& ctx, std::int64_t now, std::uint32_t size) {
    auto& random = ctx.random;
    auto who = ctx.world.customer(ctx.next_account++);
    who.age_days = static_cast<std::uint32_t>(random.between(45, 240));
    who.employed_months = static_cast<std::uint16_t>(random.between(1, 20));
    who.income_cents = random.log_normal(q16(23.0), q16(0.3));
    const auto device = new_device(ctx);
    const auto applications = std::max<std::uint32_t>(size * 6 / 10, 1);
    auto at = now;
    for (std::uint32_t i = 0; i < size; ++i) {
        SimEvent e;
        if (i < applications) {
            e = sim_credit_application(ctx, who, at);
            e.minor += e.minor / 2 * (i + 1);
            e.debt = e.debt / 10;
            e.device = device;
            e.channel = SimChannel::kMobile;
            e.ip_country = who.country;
        } else {
            e = sim_ecom_payment(ctx, who, at, goods_shop(ctx));
            e.minor = cents_to_minor(ctx, e.currency, 17.2, 0.6);
            e.device = device;
        }
        add(ctx, e, SimScenario::kBustOut);
        at = sim_later(ctx, at, kHourMs, 3 * kDayMs);
    }
    return size;
}

}  // namespace

const std::array<SimCampaignKind, 7>& sim_campaigns() {
    static constexpr std::array<SimCampaignKind, 7> kCampaigns = {{
        {SimScenario::kCardTesting, 24, 6, 40, card_testing},
        {SimScenario::kAccountTakeover, 14, 1, 4, account_takeover},
        {SimScenario::kCompromisedTerminal, 26, 4, 36, compromised_terminal},
        {SimScenario::kMuleFanIn, 12, 6, 36, mule_fan_in},
        {SimScenario::kStructuring, 7, 3, 9, structuring},
        {SimScenario::kScamTransfer, 12, 1, 3, scam_transfer},
        {SimScenario::kBustOut, 5, 3, 9, bust_out},
    }};
    return kCampaigns;
}

}  // namespace tollgate::pipeline
