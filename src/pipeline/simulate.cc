// The simulator's clock: minute by minute it opens campaigns, fills up with background and sorts.
#include "pipeline/simulate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "pipeline/simulate_event.h"
#include "pipeline/simulate_json.h"

namespace tollgate::pipeline {
namespace {

constexpr std::int64_t kMinutesPerDay = 1'440;

Error out_of_range(std::string_view name, const std::string& value, std::string_view range) {
    return {Fault::kBadInput,
            std::string(name) + " is " + value + "; allowed: " + std::string(range)};
}

bool later(const SimEvent& a, const SimEvent& b) {
    return a.time_ms != b.time_ms ? a.time_ms > b.time_ms : a.number > b.number;
}

// Volume of a weekday, Monday first, in per cent of the mean.
constexpr std::array<std::int64_t, 7> kWeekdays = {96, 96, 98, 102, 114, 108, 86};

// The day of the month, 1 to 31.
unsigned day_of_month(std::int64_t day) {
    const std::chrono::sys_days date{std::chrono::days{static_cast<int>(day)}};
    return static_cast<unsigned>(std::chrono::year_month_day{date}.day());
}

}  // namespace

Status validate(const SimulateOptions& o) {
    if (o.events < 1 || o.events > 200'000'000) {
        return out_of_range("events", std::to_string(o.events), "1 .. 200000000");
    }
    if (o.days < 1 || o.days > 3'660) {
        return out_of_range("days", std::to_string(o.days), "1 .. 3660");
    }
    if (o.customers < 100 || o.customers > 10'000'000) {
        return out_of_range("customers", std::to_string(o.customers), "100 .. 10000000");
    }
    if (o.terminals < 100 || o.terminals > 1'000'000) {
        return out_of_range("terminals", std::to_string(o.terminals), "100 .. 1000000");
    }
    if (!(o.fraud_share >= 0.0 && o.fraud_share <= 0.3)) {  // also refuses NaN
        return out_of_range("fraud_share", std::to_string(o.fraud_share), "0 .. 0.3");
    }
    constexpr EventTime kLast{std::chrono::sys_days{std::chrono::year{2199} / 1 / 1}};
    const auto micros = to_micros(o.start);
    if (micros < 0 || o.start >= kLast || o.start + std::chrono::days{o.days + 150} > kLast) {
        // 150 days behind the end are kept for the latest outcomes.
        return out_of_range("start", std::to_string(micros) + " us",
                            "1970-01-01 .. 150 days before 2199 less the run's days");
    }
    if (micros % 1'000 != 0) {
        return out_of_range("start", std::to_string(micros) + " us", "whole milliseconds");
    }
    return ok();
}

struct Simulator::Impl {
    explicit Impl(const SimulateOptions& o);

    bool next(std::string& line);
    void open_day();
    void open_minute();
    void start_campaigns(std::int64_t minute_lines);
    void add_background(std::int64_t lines);
    void add_ordinary(std::int64_t at);
    bool regular_event(std::int64_t at);
    void route();
    std::uint8_t country_at(std::int64_t at);
    std::uint32_t draw_size(std::size_t kind);

    std::uint64_t lines_total;
    std::int64_t start_ms;
    int days;
    std::int64_t share_ppm;
    SimWorld world;
    SimContext ctx;
    SimLineWriter writer;

    std::vector<SimEvent> pending{};  // heap, earliest on top, at or past minute_end
    std::vector<SimEvent> due{};      // this minute, sorted, due[due_at] is next
    std::size_t due_at = 0;
    std::int64_t minute_end;
    std::int64_t minute = 0;     // of the run
    std::uint64_t released = 0;  // lines given out or due
    std::uint64_t yielded = 0;

    std::int64_t weight_total = 0;   // of all days
    std::int64_t weight_before = 0;  // of the days before this one
    std::uint64_t day_target = 0;    // lines at the end of the day before
    std::uint64_t day_lines = 0;
    std::uint64_t minute_target = 0;            // lines at the end of this minute
    std::int64_t day_weight = 0;                // of all minutes of this day
    std::int64_t minute_weight = 0;             // of the minutes so far
    std::array<std::uint32_t, 3> regular_at{};  // salary, rent, subscription
    std::array<std::array<std::uint32_t, kSimCountries>, 24> by_hour{};  // running sums

    std::array<std::int64_t, 7> credit{};  // millionths of a fraud each campaign kind may spend
    std::array<std::uint32_t, 7> size{};   // of its next campaign
};

Simulator::Impl::Impl(const SimulateOptions& o)
    : lines_total(o.events),
      start_ms(to_micros(o.start) / 1'000),
      days(o.days),
      share_ppm(std::llround(o.fraud_share * 1e6)),
      world(o.seed, o.customers, o.terminals),
      ctx{world, SimRandom(sim_key(o.seed, 99, 0)), start_ms, start_ms + o.days * kDayMs,
          1,     world.first_free_account()},
      writer(world, o.with_outcomes),
      minute_end(start_ms) {
    for (std::uint32_t hour = 0; hour < 24; ++hour) {
        std::uint32_t sum = 0;
        for (std::size_t c = 0; c < kSimCountries; ++c) {
            const auto& country = sim_countries()[c];
            const auto local = hour + 24 + static_cast<std::uint32_t>(country.utc_offset_hours);
            sum += sim_hour_weight(local) * country.customer_weight;
            by_hour[hour][c] = sum;
        }
    }
    for (int d = 0; d < days; ++d) {
        weight_total += kWeekdays[static_cast<std::size_t>((start_ms / kDayMs + d + 3) % 7)];
    }
    for (std::size_t kind = 0; kind < size.size(); ++kind) {
        size[kind] = draw_size(kind);
        // The first campaign comes early, so that each kind has time to unfold.
        credit[kind] = std::int64_t{size[kind]} * ctx.random.between(500'000, 900'000);
    }
}

std::uint32_t Simulator::Impl::draw_size(std::size_t kind) {
    const auto& campaign = sim_campaigns()[kind];
    const auto budget =
        static_cast<std::int64_t>(lines_total) * share_ppm / 1'000'000 * campaign.weight / 100;
    const auto most = std::clamp<std::int64_t>(budget / 3, campaign.least, campaign.most);
    return static_cast<std::uint32_t>(ctx.random.between(campaign.least, most));
}

bool Simulator::Impl::next(std::string& line) {
    line.clear();
    while (due_at == due.size()) {
        if (minute == days * kMinutesPerDay) {
            return false;
        }
        open_minute();
    }
    if (yielded == lines_total) {
        return false;
    }
    ++yielded;
    writer.append(line, due[due_at++]);
    return true;
}

void Simulator::Impl::open_day() {
    const auto day = minute / kMinutesPerDay;
    if (minute > 0) {
        day_target += day_lines;
    }
    weight_before += kWeekdays[static_cast<std::size_t>((start_ms / kDayMs + day + 3) % 7)];
    const auto target = lines_total * static_cast<std::uint64_t>(weight_before) /
                        static_cast<std::uint64_t>(weight_total);
    day_lines = target - day_target;
    ctx.month_day = day_of_month(start_ms / kDayMs + day);
    minute_weight = 0;
    day_weight = 0;
    for (const auto& hour : by_hour) {
        day_weight += std::int64_t{60} * hour.back();
    }
    for (auto& at : regular_at) {
        at = 0;
    }
}

void Simulator::Impl::open_minute() {
    if (minute % kMinutesPerDay == 0) {
        open_day();
    }
    const auto hour = static_cast<std::size_t>(minute_end / kHourMs % 24);
    minute_weight += by_hour[hour].back();
    ++minute;
    minute_end += kMinuteMs;
    due.clear();
    due_at = 0;
    while (!pending.empty() && pending.front().time_ms < minute_end) {
        due.push_back(pending.front());
        std::pop_heap(pending.begin(), pending.end(), later);
        pending.pop_back();
    }
    const auto target = day_target + day_lines * static_cast<std::uint64_t>(minute_weight) /
                                         static_cast<std::uint64_t>(day_weight);
    const auto wanted = static_cast<std::int64_t>(target) - static_cast<std::int64_t>(released);
    start_campaigns(static_cast<std::int64_t>(target - minute_target));
    minute_target = target;
    add_background(wanted);
    released += due.size();
    std::sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return later(b, a); });
}

// Every line earns each kind its share of the frauds; a kind that can pay for its next campaign
// starts it.
void Simulator::Impl::start_campaigns(std::int64_t minute_lines) {
    if (share_ppm == 0) {
        return;
    }
    for (std::size_t kind = 0; kind < size.size(); ++kind) {
        const auto& campaign = sim_campaigns()[kind];
        credit[kind] += minute_lines * share_ppm * campaign.weight / 100;
        while (credit[kind] >= std::int64_t{size[kind]} * 1'000'000 &&
               pending.size() < kMaxPending) {
            const auto at = minute_end - kMinuteMs + ctx.random.below(kMinuteMs);
            const auto made = campaign.make(ctx, at, size[kind]);
            credit[kind] -= std::int64_t{made} * 1'000'000;
            size[kind] = draw_size(kind);
            route();
        }
    }
    // An honest collection for about every 4,000 lines.
    if (minute_lines > 0 && pending.size() < kMaxPending &&
        ctx.random.below(4'000) < std::min<std::int64_t>(minute_lines, 4'000)) {
        sim_collection(ctx, minute_end - kMinuteMs);
        route();
    }
}

void Simulator::Impl::add_background(std::int64_t lines) {
    while (static_cast<std::int64_t>(due.size()) < lines) {
        add_ordinary(minute_end - kMinuteMs + ctx.random.below(kMinuteMs));
        route();
    }
}

void Simulator::Impl::add_ordinary(std::int64_t at) {
    if (ctx.random.chance(80) && regular_event(at)) {
        return;
    }
    sim_background(ctx, country_at(at), at);
}

// Customers whose number is d modulo 28 have their regular day on the d-th of the month. They are
// taken one after the other; false when all of this day have had theirs.
bool Simulator::Impl::regular_event(std::int64_t at) {
    const auto day = ctx.month_day;
    const auto which = ctx.random.below(3);
    if (day > 28) {
        return false;
    }
    const auto index = std::uint64_t{regular_at[which]} * 28 + day - 1;
    if (index >= world.customers()) {
        return false;
    }
    ++regular_at[which];
    const auto customer = static_cast<std::uint32_t>(index);
    switch (which) {
        case 0:
            sim_salary(ctx, customer, at);
            break;
        case 1:
            sim_rent(ctx, customer, at);
            break;
        default:
            sim_subscription(ctx, customer, at);
    }
    return true;
}

void Simulator::Impl::route() {
    for (const auto& event : ctx.out) {
        if (event.time_ms >= ctx.end_ms) {
            continue;  // past the end of the run
        }
        if (event.time_ms < minute_end) {
            due.push_back(event);
        } else {
            pending.push_back(event);
            std::push_heap(pending.begin(), pending.end(), later);
        }
    }
    ctx.out.clear();
}

std::uint8_t Simulator::Impl::country_at(std::int64_t at) {
    const auto& sums = by_hour[static_cast<std::size_t>(at / kHourMs % 24)];
    const auto drawn = ctx.random.below(sums.back());
    const auto found = std::upper_bound(sums.begin(), sums.end(), drawn);
    return static_cast<std::uint8_t>(found - sums.begin());
}

Simulator::Simulator(const SimulateOptions& options) {
    const auto valid = validate(options);
    TG_CHECK(valid.has_value(), "Simulator needs valid options");
    impl_ = std::make_unique<Impl>(options);
}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

bool Simulator::next(std::string& json_line) {
    return impl_->next(json_line);
}

}  // namespace tollgate::pipeline
