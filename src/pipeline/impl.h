// Pipeline::Impl: the decision loop's state and its steps, one .cc per group of steps.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/bounded_queue.h"
#include "decision/record.h"
#include "pipeline/flight.h"
#include "pipeline/pipeline.h"
#include "pipeline/stored.h"
#include "pipeline/tenant.h"

namespace tollgate::pipeline {

struct OutcomeLookup;

struct Pipeline::Impl {
    Impl(const PipelineOptions& o, PackPtr fallback, store::Store& s, Loop& l, Metrics& m,
         FaultSwitches& f, const Seams& seams);
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    // --- tenants (tenants.cc, recover.cc) ---
    Tenant* find_tenant(std::string_view name) const;
    Result<Tenant*> make_tenant(const std::string& name);
    Status recover_tenants();
    Status recover(Tenant& tenant);
    void newest_event(Tenant& tenant, EventTime at);
    // An empty store that knows up to when the tenant's log may lack events. Any thread.
    Result<std::shared_ptr<WindowStore>> make_windows(const std::string& name,
                                                      const PolicyPack& pack) const;
    Status load_meta(Tenant& tenant);
    Status load_accounts(Tenant& tenant);
    Status load_keys(Tenant& tenant, std::uint64_t& replay_from);
    Status replay_log(Tenant& tenant, std::uint64_t from);
    void bind_metrics(Tenant& tenant);

    // --- one assessment (assess.cc, finish.cc) ---
    void assess(AssessInput input);
    Flight* flight(std::uint64_t number);
    std::unique_ptr<Flight> take_flight();
    bool join_or_register(Flight& f);
    void wait_for(Flight& f, Flight& first);
    void answer_repeat(Flight& f, const std::string& body);
    void look_up(Flight& f);
    void admit(Flight& f);
    void load_cold_keys(Flight& f);
    void remember_tail(const Flight& f);
    void load_keys_then(Tenant& tenant, const std::vector<WindowStore::KeyRef>& keys,
                        std::function<void()> then);
    void decide(Flight& f);
    void ask_model(Flight& f);
    void model_answered(std::uint64_t number, const ScoreAnswer& answer);
    void model_fault(Flight& f, FaultCause cause);
    void remember_missed(const Flight& f);
    void late_score(std::uint64_t number, const ScoreAnswer& score);
    void watch_grey(const Flight& f);
    void conclude(Flight& f);
    void store_and_answer(Flight& f);
    bool submit_decision(Flight& f);
    void confirmed(std::uint64_t number, Tenant& tenant, const std::string& event_id);
    void confirm_timeout(Flight& f);
    void answer(Flight& f, std::string body, bool in_log);
    void answer_error(Flight& f, Error error);
    void answer_by_rules_unrecorded(Flight& f);
    void finish_drain_if_idle();
    void force_drain_later();
    void decided(Flight& f);
    void release(std::uint64_t number);
    void prepare(Flight& f);
    void combine_votes(Flight& f);
    std::string render(Flight& f, std::string_view id, std::string_view persisted) const;

    // --- labels, accounts, reads, policies ---
    void outcome(const std::string& tenant, Outcome outcome, ReplyFn reply);
    void outcome_try(Tenant& tenant, Outcome outcome, ReplyFn reply, int tries);
    void outcome_found(Tenant& tenant, const PackPtr& pack, const Outcome& outcome,
                       OutcomeLookup found, const ReplyFn& reply);
    bool is_parked_retry(const Tenant& tenant, const Outcome& outcome,
                         const OutcomeLookup& found) const;
    void store_outcome(Tenant& tenant, const Outcome& outcome, std::string_view status,
                       const ReplyFn& reply);
    void unpark(Tenant& tenant, const std::string& event_id);
    void get_assessment(const std::string& tenant, const std::string& id, ReplyFn reply);
    void get_account(const std::string& tenant, const std::string& account_id, ReplyFn reply);
    void change_account(const std::string& tenant, AccountChange change, ReplyFn reply);
    void activate_policy(const std::string& tenant, PackFiles files, const std::string& by,
                         ReplyFn reply);
    void activate_pack(Tenant& tenant, PackPtr pack, const std::string& by, const ReplyFn& reply);
    void rollback_policy(const std::string& tenant, const std::string& by, ReplyFn reply);
    void list_policies(const std::string& tenant, ReplyFn reply);
    void rebuild(Tenant& tenant, PackPtr pack, const std::string& by, const ReplyFn& reply);
    void rebuild_when_settled(Tenant& tenant, PackPtr pack, std::uint64_t before,
                              const std::string& by, const ReplyFn& reply, int tries);
    void feed_tail(Tenant& tenant, PackPtr pack, std::shared_ptr<WindowStore> windows,
                   const std::string& by, const ReplyFn& reply);
    void install(Tenant& tenant, PackPtr pack, std::shared_ptr<WindowStore> windows,
                 const std::string& by, const ReplyFn& reply);
    // The answer's body for "os", "fsync" or "memory".
    using BodyFn = std::function<std::string(std::string_view persisted)>;
    void submit_simple(Tenant& tenant, Sealed sealed, std::vector<store::Put> puts, BodyFn body,
                       const ReplyFn& reply);
    void confirm_simple(std::uint64_t number, std::string_view persisted);
    PackPtr pack_named(Tenant& tenant, const std::string& hash);

    // --- upkeep (upkeep.cc) ---
    // Wraps what another thread calls: it does nothing once this is gone, and this goes only when
    // none is being called.
    template <class F>
    std::function<void()> guarded(F f) {
        return [gate = gate, f = std::move(f)]() mutable {
            const std::shared_lock open(gate->mutex);
            if (!gate->closed) {
                f();
            }
        };
    }

    void schedule_upkeep();
    EventTime trusted_wall();
    void snapshot(Tenant& tenant, std::function<void(Status)> done);
    void keep_house(Tenant& tenant);
    void report_process();
    void report_windows(const Tenant& tenant);
    void forget_keys(const std::string& name, std::vector<WindowStore::KeyRef> gone);
    Result<bool> forget_other_rows(const std::string& name, const std::string& signature);
    Status load_waiting(const std::string& name, WindowStore& windows);
    static std::uint64_t snapshot_floor(Tenant& tenant);
    struct SnapshotOf {
        std::uint64_t floor = 0;  // first arrival that may not be in the log
        std::uint64_t seq = 0;    // no event up to it has an arrival >= floor; all are confirmed
        std::string clock;        // StreamClock::encode()
        bool pace = false;        // beside traffic: in no hurry until draining
    };
    Status write_snapshot(const std::string& name, WindowStore& windows,
                          const PolicyPack& plan_owner, const SnapshotOf& of);

    PipelineOptions options;
    PackPtr fallback_pack;
    store::Store& store;
    Loop& loop;
    Metrics& metrics;
    FaultSwitches& faults;
    ModelSeam* model;  // null: rules alone
    GreySeam* grey;    // null: no second look

    // Requests that the rules answered in the model's place, newest last; bounded.
    struct Missed {
        std::uint64_t number = 0;
        std::string tenant;
        std::string event_id;
        std::uint64_t seq = 0;
        PackPtr pack;
    };
    std::deque<Missed> missed;

    std::map<std::string, std::unique_ptr<Tenant>, std::less<>> tenants;
    struct SimpleCommit {
        BodyFn body;
        ReplyFn reply;
        Loop::TimerId timer = 0;
    };
    std::unordered_map<std::uint64_t, SimpleCommit> simple;  // outcomes and changes being stored
    std::set<std::string> unparking;                         // outcome ids being taken again
    std::unordered_map<std::uint64_t, std::unique_ptr<Flight>> flights;
    std::vector<std::unique_ptr<Flight>> spare;  // reused, so that a decision allocates little
    std::uint64_t next_flight = 1;
    std::uint64_t upkeep_ticks = 0;
    std::uint64_t next_lost = 1;        // ids of answers that the full journal could not keep
    SaltFn salts;                       // of personal fields; derived in lockstep
    std::atomic<bool> draining{false};  // relaxed: the loop sets it, a paced snapshot hurries on
    std::function<void()> drained;
    Counter model_late, encoder_text_failed, text_cut;
    Histogram stage_windows, stage_rules, stage_store, stage_total;
    Histogram stage_queue, stage_encoder, stage_takeover;
    Gauge in_flight;

    // A shared owner: calls that the store still holds may come after the pipeline (docs/adr/0014).
    struct Gate {
        std::shared_mutex mutex;  // guards `closed`; held shared while a call runs
        bool closed = false;
    };
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
    const Steady::time_point started;
    const EventTime started_wall;
    bool drain_forced = false;
    Loop::TimerId drain_timer = 0;
    Loop::TimerId upkeep_timer = 0;

    // Background thread (nice 10): packs compiled, windows rebuilt, snapshots written.
    BoundedQueue<std::function<void()>> work{64};
    std::jthread worker;
};

}  // namespace tollgate::pipeline
