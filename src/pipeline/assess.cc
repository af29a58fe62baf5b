// Steps of one assessment up to its decision: repeat check, admission, cold keys, windows, rules,
// model.
#include <algorithm>

#include "decision/event_fields.h"
#include "decision/event_json.h"
#include "decision/record.h"
#include "pipeline/impl.h"
#include "pipeline/stored.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

namespace {

// Kept back of every deadline for rendering and writing the answer.
constexpr auto kReserve = std::chrono::milliseconds(1);
// Kept back of the model's time: rules again, 5 ms for the store, the answer.
constexpr auto kModelReserve = std::chrono::milliseconds(7);

Error conflict(const std::string& event_id) {
    return {Fault::kConflict,
            "event_id \"" + event_id +
                "\" is taken by another event of this tenant; repeat that event unchanged "
                "or use a new event_id"};
}

std::int64_t micros_between(Steady::time_point from, Steady::time_point to) {
    return std::max<std::int64_t>(
        0, std::chrono::duration_cast<std::chrono::microseconds>(to - from).count());
}

Digest digest_of(const Event& event, const Schema& schema) {
    thread_local std::string text;  // scratch, so that hashing an event allocates nothing
    text.clear();
    JsonWriter writer(text);
    append_event(writer, event, schema);
    return sha256(text);
}

}  // namespace

void Flight::reset() {
    stage = Stage::kLookup;
    tenant = nullptr;
    in = {};
    registered = false;
    counted_undecided = false;
    admission = Admission::kFresh;
    limit.reset();
    account = nullptr;
    rules.clear();
    cold_loads = 0;
    arrival = 0;
    seq = 0;
    source = Source::kRules;
    fault = FaultCause::kNone;
    fault_after_us = 0;
    vote.reset();
    encoded.reset();
    combined = {};
    body.clear();
    times = {};
    timer = 0;
    waiters.clear();
}

Flight* Pipeline::Impl::flight(std::uint64_t number) {
    const auto found = flights.find(number);
    return found == flights.end() ? nullptr : found->second.get();
}

std::unique_ptr<Flight> Pipeline::Impl::take_flight() {
    if (spare.empty()) {
        return std::make_unique<Flight>();
    }
    std::unique_ptr<Flight> reused = std::move(spare.back());
    spare.pop_back();
    return reused;
}

void Pipeline::Impl::assess(AssessInput input) {
    Tenant* tenant = find_tenant(input.tenant);
    if (tenant == nullptr) {
        Result<Tenant*> made = make_tenant(input.tenant);
        if (!made) {
            input.reply({.error = made.error(), .body = {}, .replayed = false, .times = {}});
            return;
        }
        tenant = *made;
    }
    std::unique_ptr<Flight> fresh = take_flight();
    Flight& f = *fresh;
    f.number = next_flight++;
    f.tenant = tenant;
    f.in = std::move(input);
    auto budget = f.in.budget;
    if (budget.count() <= 0) {
        budget = f.in.pack->policy.timeouts.decide;
    }
    f.in.budget = std::min(budget, std::chrono::microseconds(options.max_deadline));
    f.deadline = f.in.received + f.in.budget;
    f.times.parse = f.in.parse_us;
    f.event_digest = digest_of(f.in.event, f.in.pack->schema());
    flights.emplace(f.number, std::move(fresh));
    in_flight.set(static_cast<double>(flights.size()));
    if (join_or_register(f)) {
        f.counted_undecided = true;
        ++tenant->undecided;
        look_up(f);
    }
}

// False when the event is already in flight: the repeat then waits for the first, or is answered.
bool Pipeline::Impl::join_or_register(Flight& f) {
    const auto [at, fresh] = f.tenant->pending.try_emplace(f.in.event.event_id);
    PendingEvent& pending = at->second;
    if (fresh) {
        pending.flight = f.number;
        pending.digest = f.event_digest;
        f.registered = true;
        return true;
    }
    if (pending.digest != f.event_digest) {
        f.tenant->metrics.conflicts.add();
        answer_error(f, conflict(f.in.event.event_id));
        return false;
    }
    Flight* first = pending.flight == 0 ? nullptr : flight(pending.flight);
    if (first == nullptr) {
        const std::string body = pending.sent;
        answer_repeat(f, body);
    } else {
        wait_for(f, *first);
    }
    return false;
}

// Its own deadline is kept by a timer that answers from the rules, recorded nowhere.
void Pipeline::Impl::wait_for(Flight& f, Flight& first) {
    first.waiters.push_back({.number = f.number, .reply = f.in.reply});
    if (options.virtual_time) {
        return;
    }
    const std::uint64_t first_number = first.number;
    f.timer = loop.call_at(f.deadline - kReserve, [this, number = f.number, first_number] {
        Flight* late = flight(number);
        if (late == nullptr) {
            return;
        }
        late->timer = 0;
        if (Flight* running = flight(first_number); running != nullptr) {
            std::erase_if(running->waiters,
                          [number](const Waiter& w) { return w.number == number; });
        }
        answer_by_rules_unrecorded(*late);
    });
}

void Pipeline::Impl::look_up(Flight& f) {
    Tenant& tenant = *f.tenant;
    if (!tenant.seen->maybe_seen(f.in.event.event_id)) {
        tenant.seen->add(f.in.event.event_id);
        admit(f);
        return;
    }
    const std::uint64_t number = f.number;
    const std::string name = tenant.name;
    const std::string event_id = f.in.event.event_id;
    if (!options.virtual_time) {
        f.timer = loop.call_at(f.deadline - kReserve, [this, number] {
            if (Flight* late = flight(number);
                late != nullptr && late->stage == Flight::Stage::kLookup) {
                late->timer = 0;
                answer_by_rules_unrecorded(*late);
            }
        });
    }
    const bool posted = store.post_read(guarded([this, number, name, event_id] {
        auto found = store.get(store::Family::kEvents, name, event_id);
        std::optional<KnownEvent> known;
        std::string body;
        if (found && *found) {
            known = parse_known_event(**found);
        }
        if (known) {
            if (auto stored = store.get(store::Family::kReplies, name, be64_key(known->seq));
                stored && *stored) {
                body = std::move(**stored);
            }
        }
        loop.post([this, number, known, body = std::move(body)]() mutable {
            Flight* back = flight(number);
            if (back == nullptr || back->stage != Flight::Stage::kLookup) {
                return;
            }
            if (back->timer != 0) {
                loop.cancel(back->timer);
                back->timer = 0;
            }
            if (!known) {
                back->tenant->seen->add(back->in.event.event_id);
                admit(*back);
                return;
            }
            if (known->digest != back->event_digest) {
                back->tenant->metrics.conflicts.add();
                answer_error(*back, conflict(back->in.event.event_id));
            } else if (body.empty()) {  // imported as history: there never was an answer
                answer_error(*back, {Fault::kConflict,
                                     "event_id \"" + back->in.event.event_id +
                                         "\" was imported as history and has no decision"});
            } else {
                answer_repeat(*back, body);
            }
        });
    }));
    if (!posted) {  // too many look-ups: the rules answer, nothing is recorded twice
        answer_by_rules_unrecorded(f);
    }
}

void Pipeline::Impl::admit(Flight& f) {
    Tenant& tenant = *f.tenant;
    f.admission = tenant.clock->admit(f.in.event.occurred_at, loop.wall());
    if (f.admission == Admission::kAhead) {
        answer_error(f,
                     {Fault::kBadInput, "occurred_at = " + format_rfc3339(f.in.event.occurred_at) +
                                            " is ahead of the clock (" +
                                            format_rfc3339(tenant.clock->now(loop.wall())) +
                                            ") by more than max_ahead"});
        return;
    }
    if (f.admission == Admission::kLate) {
        tenant.metrics.late.add();
    } else if (f.admission == Admission::kTooLate) {
        tenant.metrics.too_late.add();
    }
    prepare(f);
    load_cold_keys(f);
}

// Fields, limit and keys of the event.
void Pipeline::Impl::prepare(Flight& f) {
    const PolicyPack& pack = *f.in.pack;
    const EventTime now = f.tenant->clock->now(loop.wall());
    f.account = f.tenant->accounts.find(f.in.event.account_id);
    f.limit = limit_of(f.account, pack.policy, f.in.event.type, now);
    f.fields.resize(pack.fields.size());
    fill_fields(f.in.event, pack.fields, pack.rates, pack.zones, f.limit, f.fields);
    WindowStore::keys_of(pack.rules->plan, f.fields, f.keys);
}

// The windows are about to be read: from here on another pack may be installed.
void Pipeline::Impl::decided(Flight& f) {
    if (f.counted_undecided) {
        f.counted_undecided = false;
        --f.tenant->undecided;
    }
}

void Pipeline::Impl::load_cold_keys(Flight& f) {
    thread_local std::vector<WindowStore::KeyRef> missing;
    missing.clear();
    f.tenant->windows->missing(f.keys, missing);
    const std::uint64_t number = f.number;
    for (const WindowStore::KeyRef& key : missing) {
        const std::string name = f.tenant->name;
        Tenant* tenant = f.tenant;
        WindowStore* windows = f.tenant->windows.get();
        const bool posted = store.post_read(guarded([this, number, name, key, tenant, windows] {
            auto blob = store.get(store::Family::kKeys, name, key_name(key));
            loop.post([this, number, key, tenant, windows, blob = std::move(blob)] {
                if (blob && *blob && tenant->windows.get() == windows) {
                    (void)windows->load_key(key, parse_key_blob(**blob).rows);
                }
                Flight* back = flight(number);
                if (back == nullptr || back->stage != Flight::Stage::kColdKeys) {
                    return;
                }
                if (--back->cold_loads == 0) {
                    if (back->timer != 0) {
                        loop.cancel(back->timer);
                        back->timer = 0;
                    }
                    decide(*back);
                }
            });
        }));
        if (posted) {
            ++f.cold_loads;
        }
    }
    if (f.cold_loads == 0) {
        decide(f);
        return;
    }
    f.stage = Flight::Stage::kColdKeys;
    if (!options.virtual_time) {
        const auto wait = f.in.pack->policy.timeouts.cold_key;
        f.timer = loop.call_at(std::min(loop.now() + wait, f.deadline - kReserve), [this, number] {
            if (Flight* late = flight(number);
                late != nullptr && late->stage == Flight::Stage::kColdKeys) {
                late->timer = 0;
                decide(*late);
            }
        });
    }
}

void Pipeline::Impl::decide(Flight& f) {
    Tenant& tenant = *f.tenant;
    const PolicyPack& pack = *f.in.pack;
    const auto began = loop.now();
    decided(f);
    f.arrival = tenant.next_arrival++;
    if (f.registered) {
        tenant.pending[f.in.event.event_id].arrival = f.arrival;
    }
    EvalInput input{
        .fields = f.fields, .windows = {}, .lists = &pack.lists, .now = f.in.event.occurred_at};
    const WindowEvent event{
        .at = f.in.event.occurred_at, .arrival = f.arrival, .id_hash = hash64(f.in.event.event_id)};
    const RecordMode mode =
        f.admission == Admission::kTooLate ? RecordMode::kReadOnly : RecordMode::kRecord;
    tenant.windows->assess(pack.rules->plan, f.keys, event, input, mode, f.windows);
    if (tenant.rebuilding && mode == RecordMode::kRecord) {
        remember_tail(f);
    }
    tenant.metrics.cold_keys.add(f.windows.cold_keys);
    tenant.metrics.overflow_keys.add(f.windows.overflow_keys);
    const auto ruled = loop.now();
    f.times.windows = micros_between(began, ruled);
    // Over capacity or out of time: the pack's default answers; the windows have been recorded all
    // the same.
    if (flights.size() > options.max_in_flight || (!options.virtual_time && ruled >= f.deadline)) {
        f.source = Source::kDefault;
        f.fault = ruled >= f.deadline ? FaultCause::kDeadline : FaultCause::kOverloaded;
        f.fault_after_us = micros_between(f.in.received, ruled);
        f.rules.clear();
        conclude(f);
        return;
    }
    input.windows = f.windows.values;
    evaluate_rules(*pack.rules, input, false, f.rules);
    f.times.rules = micros_between(ruled, loop.now());
    stage_windows.observe(static_cast<double>(f.times.windows) * 1e-6);
    stage_rules.observe(static_cast<double>(f.times.rules) * 1e-6);
    // A pack without encoder.j2 does not ask: nothing is at fault then.
    if (model == nullptr || pack.encoder == nullptr) {
        conclude(f);
    } else {
        ask_model(f);
    }
}

void Pipeline::Impl::ask_model(Flight& f) {
    const std::uint64_t number = f.number;
    const PolicyPack& pack = *f.in.pack;
    f.stage = Flight::Stage::kModel;
    f.stage_began = loop.now();
    const auto wait = pack.policy.timeouts.model;
    const auto until = std::min(f.stage_began + wait, f.deadline - kModelReserve);
    if (until <= f.stage_began) {
        model_fault(f, FaultCause::kDeadline);
        return;
    }
    ScoreRequest request{.tenant = f.tenant->name, .ticket = number, .text = {}, .deadline = until};
    const Status rendered = pack.encoder->render({.fields = f.fields,
                                                  .windows = f.windows.values,
                                                  .store = f.tenant->windows.get(),
                                                  .keys = &f.keys,
                                                  .at = f.in.event.occurred_at,
                                                  .arrival = f.arrival},
                                                 model->profile().buckets, request.text);
    f.times.tokenize = micros_between(f.stage_began, loop.now());
    if (!rendered) {
        encoder_text_failed.add();
        model_fault(f, FaultCause::kUnavailable);
        return;
    }
    const auto taken = model->submit(std::move(request), [this](const ScoreAnswer& score) {
        loop.post([this, score] { model_answered(score.ticket, score); });
    });
    if (taken != ModelSeam::Accepted::kTaken) {
        model_fault(f, taken == ModelSeam::Accepted::kOverloaded ? FaultCause::kOverloaded
                                                                 : FaultCause::kUnavailable);
        return;
    }
    if (options.virtual_time) {
        return;  // lockstep waits for the score, however long it takes
    }
    const FaultCause cause =
        until < f.stage_began + wait ? FaultCause::kDeadline : FaultCause::kTimeout;
    f.timer = loop.call_at(until, [this, number, cause] {
        if (Flight* late = flight(number);
            late != nullptr && late->stage == Flight::Stage::kModel) {
            late->timer = 0;
            if (cause == FaultCause::kTimeout) {
                model->missed();
            }
            remember_missed(*late);
            model_fault(*late, cause);
        }
    });
}

// The score of this request may still come: what it was for is kept for a while.
void Pipeline::Impl::remember_missed(const Flight& f) {
    constexpr std::size_t kMost = 4096;
    missed.push_back({.number = f.number,
                      .tenant = f.tenant->name,
                      .event_id = f.in.event.event_id,
                      .seq = f.tenant->next_seq,  // the record that is written next
                      .pack = f.in.pack});
    if (missed.size() > kMost) {
        missed.pop_front();
    }
}

// A score that came too late for its decision: recorded, and offered for a second look when it
// would have been more than low.
void Pipeline::Impl::late_score(std::uint64_t number, const ScoreAnswer& score) {
    model_late.add();
    const auto found = std::find_if(missed.begin(), missed.end(),
                                    [number](const Missed& m) { return m.number == number; });
    if (found == missed.end()) {
        return;
    }
    const Missed was = std::move(*found);
    missed.erase(found);
    Tenant* tenant = find_tenant(was.tenant);
    if (tenant == nullptr || !score.ok || draining) {
        return;
    }
    submit_simple(
        *tenant,
        make_late_score_record(was.tenant, {.event_id = was.event_id,
                                            .probability = score.probability,
                                            .model = model->profile().digest}),
        {}, [](std::string_view) { return std::string(); }, [](const Reply&) {});
    const ModelVote vote =
        vote_of(score.probability, model->profile().bands(was.pack->policy.bands));
    if (grey != nullptr && vote.band != Band::kLow) {
        grey->offer({.tenant = was.tenant,
                     .event_id = was.event_id,
                     .seq = was.seq,
                     .probability = vote.probability,
                     .score = vote.score,
                     .late = true});
    }
}

void Pipeline::Impl::model_answered(std::uint64_t number, const ScoreAnswer& score) {
    Flight* f = flight(number);
    if (f == nullptr || f->stage != Flight::Stage::kModel) {
        late_score(number, score);
        return;
    }
    if (f->timer != 0) {
        loop.cancel(f->timer);
        f->timer = 0;
    }
    // A probability outside [0, 1] (NaN included) is a fault of the model, never a vote.
    if (!score.ok || !(score.probability >= 0.0F && score.probability <= 1.0F)) {
        model_fault(*f, FaultCause::kUnavailable);
        return;
    }
    f->vote = vote_of(score.probability, model->profile().bands(f->in.pack->policy.bands));
    f->encoded = {.tokens = score.tokens, .cut = score.cut};
    f->source = Source::kModel;
    f->times.queue = score.queue_us;
    f->times.tokenize += score.tokenize_us;
    f->times.encoder = score.encoder_us;
    stage_queue.observe(static_cast<double>(f->times.queue) * 1e-6);
    stage_encoder.observe(static_cast<double>(f->times.encoder) * 1e-6);
    if (score.cut > 0) {
        text_cut.add();
    }
    watch_grey(*f);
    conclude(*f);
}

// The live share of grey scores, over the last kWindow of them; past twice the pack's share the
// surplus is counted and not offered.
void Pipeline::Impl::watch_grey(const Flight& f) {
    constexpr double kWindow = 2000.0;
    Tenant& tenant = *f.tenant;
    const bool is_grey = f.vote->band == Band::kGrey;
    tenant.grey_share += ((is_grey ? 1.0 : 0.0) - tenant.grey_share) / kWindow;
    tenant.metrics.grey_share.set(tenant.grey_share);
    if (!is_grey) {
        return;
    }
    tenant.metrics.grey.add();
    if (tenant.grey_share > 2.0 * f.in.pack->policy.bands.grey_share) {
        tenant.metrics.grey_capped.add();
        return;
    }
    if (grey != nullptr) {
        grey->offer({.tenant = tenant.name,
                     .event_id = f.in.event.event_id,
                     .seq = tenant.next_seq,
                     .probability = f.vote->probability,
                     .score = f.vote->score,
                     .late = false});
    }
}

void Pipeline::Impl::model_fault(Flight& f, FaultCause cause) {
    const auto known = loop.now();
    f.fault = cause;
    f.fault_after_us = micros_between(f.stage_began, known);
    f.source = Source::kRules;
    const EvalInput input{.fields = f.fields,
                          .windows = f.windows.values,
                          .lists = &f.in.pack->lists,
                          .now = f.in.event.occurred_at};
    evaluate_rules(*f.in.pack->rules, input, true, f.rules);
    stage_takeover.observe(static_cast<double>(micros_between(known, loop.now())) * 1e-6);
    conclude(f);
}

}  // namespace tollgate::pipeline
