// Steps of one assessment from its votes to its confirmed write and its answer.
#include <algorithm>

#include "base/ids.h"
#include "decision/combine.h"
#include "decision/record.h"
#include "pipeline/impl.h"

namespace tollgate::pipeline {

namespace {

std::string_view durability_word(const Policy& policy) {
    return policy.store.durability == StoreDurability::kFsync ? "fsync" : "os";
}

std::string_view source_word(Source source) {
    constexpr std::string_view kWords[] = {"model", "rules", "default"};
    return kWords[static_cast<std::size_t>(source)];
}

std::string_view cause_word(FaultCause cause) {
    constexpr std::string_view kWords[] = {"", "timeout", "unavailable", "overloaded", "deadline"};
    return kWords[static_cast<std::size_t>(cause)];
}

std::int64_t micros_between(Steady::time_point from, Steady::time_point to) {
    return std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::microseconds>(to - from).count());
}

}  // namespace

void Pipeline::Impl::combine_votes(Flight& f) {
    const PolicyPack& pack = *f.in.pack;
    const EventTime now = f.tenant->clock->now(loop.wall());
    f.account = f.tenant->accounts.find(f.in.event.account_id);
    const bool blocked = f.account != nullptr && f.account->block_at(now) != nullptr;
    if (f.source == Source::kDefault) {
        f.combined = default_decision(pack.policy, blocked);
        return;
    }
    f.combined = combine({.rules = pack.rules.get(),
                          .results = &f.rules,
                          .policy = &pack.policy,
                          .at = f.in.event.occurred_at,
                          .blocked = blocked,
                          .limit = check_limit(f.in.event, f.limit, pack.rates),
                          .vote = f.vote,
                          .model_fault = f.fault != FaultCause::kNone});
}

void Pipeline::Impl::conclude(Flight& f) {
    const auto began = loop.now();
    combine_votes(f);
    f.times.policy = micros_between(began, loop.now());
    store_and_answer(f);
}

bool Pipeline::Impl::submit_decision(Flight& f) {
    Tenant& tenant = *f.tenant;
    const PolicyPack& pack = *f.in.pack;
    const EventTime now = tenant.clock->now(loop.wall());
    const AccountLimit* limit = f.account == nullptr ? nullptr : f.account->limit_at(now);
    const AccountBlock* block = f.account == nullptr ? nullptr : f.account->block_at(now);
    const Provenance provenance{.build = options.build,
                                .policy = pack.hash,
                                .model = model == nullptr ? std::string() : model->profile().digest,
                                .prompt = {},
                                .kernels = options.kernels};
    const bool ruled = f.source != Source::kDefault;
    const RecordInput input{
        .tenant = tenant.name,
        .pack = &pack,
        .event = &f.in.event,
        .arrival = f.arrival,
        .windows = &f.windows,
        .rules = ruled ? &f.rules : nullptr,
        .admission = f.admission,
        .fault = cause_word(f.fault),
        .probability = f.vote ? std::optional(f.vote->probability) : std::nullopt,
        .encoded = f.encoded,
        .limit_sequence = limit == nullptr ? std::nullopt : std::optional(limit->sequence),
        .block_sequence = block == nullptr ? std::nullopt : std::optional(block->sequence),
        .combined = f.combined,
        .source = source_word(f.source),
        .provenance = &provenance};
    Sealed sealed = make_assessment_record(input, salts);
    store::Commit commit;
    commit.tenant = tenant.name;
    commit.seq = f.seq;
    commit.record = std::move(sealed.text);
    commit.durability = pack.policy.store.durability == StoreDurability::kFsync
                            ? store::Durability::kFsync
                            : store::Durability::kOs;
    commit.puts.push_back(
        {.family = store::Family::kReplies, .key = be64_key(f.seq), .value = f.body});
    commit.puts.push_back({.family = store::Family::kEvents,
                           .key = f.in.event.event_id,
                           .value = to_bytes(KnownEvent{.seq = f.seq,
                                                        .arrival = f.arrival,
                                                        .at = f.in.event.occurred_at,
                                                        .digest = f.event_digest})});
    if (!sealed.personal.empty()) {
        commit.puts.push_back({.family = store::Family::kPersonal,
                               .key = be64_key(f.seq),
                               .value = std::move(sealed.personal)});
    }
    Tenant* owner = &tenant;
    commit.done = guarded([this, number = f.number, owner, event_id = f.in.event.event_id] {
        loop.post([this, number, owner, event_id] { confirmed(number, *owner, event_id); });
    });
    return store.submit(commit);
}

void Pipeline::Impl::store_and_answer(Flight& f) {
    Tenant& tenant = *f.tenant;
    const PolicyPack& pack = *f.in.pack;
    f.stage = Flight::Stage::kStore;
    f.stage_began = loop.now();
    f.seq = tenant.next_seq;
    f.times.total = micros_between(f.in.received, f.stage_began) + f.in.parse_us;
    f.body = render(f, encode_id("as_", f.seq, tenant.id_secret), durability_word(pack.policy));
    if (!submit_decision(f)) {
        // The journal is full: what is answered now cannot be kept. The policy says what that
        // means.
        tenant.metrics.store_lost.add();
        if (pack.policy.store.on_store_lost == StoreLost::kDecline) {
            f.combined = {
                .decision = Verdict::kDecline, .decided_by = DecidedBy::kDefault, .rule = 0};
        }
        // Windows are a view of the log: what it cannot hold is not counted, and a repeat is new.
        tenant.windows->forget_event(f.keys, f.in.event.occurred_at, f.arrival);
        const std::uint64_t lost = (std::uint64_t{1} << 62) + next_lost++;
        answer(f, render(f, encode_id("as_", lost, tenant.id_secret), "memory"), false);
        return;
    }
    ++tenant.next_seq;
    tenant.submitted.emplace_back(f.seq, f.arrival);
    ++tenant.pending[f.in.event.event_id].writes;
    f.times.store = micros_between(f.stage_began, loop.now());
    if (options.virtual_time) {
        return;
    }
    const std::uint64_t number = f.number;
    const auto until =
        std::min(f.stage_began + std::chrono::microseconds(pack.policy.timeouts.store_confirm),
                 f.deadline - std::chrono::milliseconds(1));
    f.timer = loop.call_at(until, [this, number] {
        if (Flight* late = flight(number);
            late != nullptr && late->stage == Flight::Stage::kStore) {
            late->timer = 0;
            confirm_timeout(*late);
        }
    });
}

// Not confirmed in time: the answer goes out as "memory"; the commit stays in the journal, followed
// by the body as it was sent, so that a repeat gets the same bytes.
void Pipeline::Impl::confirm_timeout(Flight& f) {
    Tenant& tenant = *f.tenant;
    std::string body = f.body;
    body.replace(f.persisted_at, f.persisted_size, "memory");
    store::Commit patch;
    patch.tenant = tenant.name;
    patch.puts.push_back(
        {.family = store::Family::kReplies, .key = be64_key(f.seq), .value = body});
    Tenant* owner = &tenant;
    patch.done = guarded([this, owner, event_id = f.in.event.event_id] {
        loop.post([this, owner, event_id] { confirmed(0, *owner, event_id); });
    });
    if (store.submit(patch)) {
        ++tenant.pending[f.in.event.event_id].writes;
    } else {
        tenant.metrics.store_lost.add();
    }
    answer(f, std::move(body), false);
}

void Pipeline::Impl::confirmed(std::uint64_t number, Tenant& tenant, const std::string& event_id) {
    Flight* f = number == 0 ? nullptr : flight(number);
    if (f != nullptr && f->stage == Flight::Stage::kStore) {
        if (f->timer != 0) {
            loop.cancel(f->timer);
            f->timer = 0;
        }
        f->times.store = micros_between(f->stage_began, loop.now());
        answer(*f, std::move(f->body), true);
    }
    const auto at = tenant.pending.find(event_id);
    if (at != tenant.pending.end() && --at->second.writes <= 0) {
        tenant.pending.erase(at);
    }
    finish_drain_if_idle();
}

void Pipeline::Impl::answer(Flight& f, std::string body, bool in_log) {
    Tenant& tenant = *f.tenant;
    f.times.total = micros_between(f.in.received, loop.now()) + f.in.parse_us;
    tenant.metrics.by_source[static_cast<std::size_t>(f.source)].add();
    tenant.metrics.by_decision[static_cast<std::size_t>(f.combined.decision)].add();
    (in_log ? tenant.metrics.persisted_log : tenant.metrics.persisted_memory).add();
    stage_store.observe(static_cast<double>(f.times.store) * 1e-6);
    stage_total.observe(static_cast<double>(f.times.total) * 1e-6);
    std::vector<Waiter> waiters = std::move(f.waiters);
    const ReplyFn reply = std::move(f.in.reply);
    const StageTimes times = f.times;
    const auto at = tenant.pending.find(f.in.event.event_id);
    if (at != tenant.pending.end()) {
        if (at->second.writes <= 0) {
            tenant.pending.erase(at);  // nothing was or will be stored
        } else {
            at->second.flight = 0;
            at->second.sent = body;
        }
    }
    if (f.admission != Admission::kTooLate && tenant.parked > 0) {
        unpark(tenant, f.in.event.event_id);
    }
    release(f.number);
    for (Waiter& waiter : waiters) {
        tenant.metrics.replayed.add();
        release(waiter.number);
        waiter.reply({.error = {}, .body = body, .replayed = true, .times = times});
    }
    reply({.error = {}, .body = std::move(body), .replayed = false, .times = times});
}

void Pipeline::Impl::answer_repeat(Flight& f, const std::string& body) {
    f.tenant->metrics.replayed.add();
    const ReplyFn reply = std::move(f.in.reply);
    std::vector<Waiter> waiters = std::move(f.waiters);
    const StageTimes times = f.times;
    if (f.registered) {
        f.tenant->pending.erase(f.in.event.event_id);
    }
    release(f.number);
    for (Waiter& waiter : waiters) {
        release(waiter.number);
        waiter.reply({.error = {}, .body = body, .replayed = true, .times = times});
    }
    reply({.error = {}, .body = body, .replayed = true, .times = times});
}

void Pipeline::Impl::answer_error(Flight& f, Error error) {
    const ReplyFn reply = std::move(f.in.reply);
    std::vector<Waiter> waiters = std::move(f.waiters);
    if (f.registered) {
        f.tenant->pending.erase(f.in.event.event_id);
    }
    release(f.number);
    for (Waiter& waiter : waiters) {
        release(waiter.number);
        waiter.reply({.error = error, .body = {}, .replayed = false, .times = {}});
    }
    reply({.error = std::move(error), .body = {}, .replayed = false, .times = {}});
}

// A repeat that cannot be matched in time: the rules' answer on read-only windows, recorded
// nowhere.
void Pipeline::Impl::answer_by_rules_unrecorded(Flight& f) {
    prepare(f);
    const PolicyPack& pack = *f.in.pack;
    EvalInput input{
        .fields = f.fields, .windows = {}, .lists = &pack.lists, .now = f.in.event.occurred_at};
    const WindowEvent event{.at = f.in.event.occurred_at,
                            .arrival = f.tenant->next_arrival,
                            .id_hash = hash64(f.in.event.event_id)};
    f.tenant->windows->assess(pack.rules->plan, f.keys, event, input, RecordMode::kReadOnly,
                              f.windows);
    input.windows = f.windows.values;
    evaluate_rules(*pack.rules, input, false, f.rules);
    f.source = Source::kRules;
    f.fault = FaultCause::kDeadline;
    f.fault_after_us = micros_between(f.in.received, loop.now());
    combine_votes(f);
    f.times.total = micros_between(f.in.received, loop.now()) + f.in.parse_us;
    std::string body = render(f, {}, "memory");
    const ReplyFn reply = std::move(f.in.reply);
    const StageTimes times = f.times;
    if (f.registered) {
        f.tenant->pending.erase(f.in.event.event_id);
    }
    release(f.number);
    reply({.error = {}, .body = std::move(body), .replayed = false, .times = times});
}

void Pipeline::Impl::release(std::uint64_t number) {
    const auto at = flights.find(number);
    if (at == flights.end()) {
        return;
    }
    std::unique_ptr<Flight> f = std::move(at->second);
    flights.erase(at);
    in_flight.set(static_cast<double>(flights.size()));
    if (f->timer != 0) {
        loop.cancel(f->timer);
    }
    if (f->counted_undecided) {
        --f->tenant->undecided;
    }
    if (spare.size() < 256) {  // keeps its vectors' memory for the next decision
        f->reset();
        spare.push_back(std::move(f));
    }
    finish_drain_if_idle();
}

}  // namespace tollgate::pipeline
