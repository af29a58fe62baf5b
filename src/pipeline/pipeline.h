// Pipeline: the decision loop. An event goes in, windows, rules and the model's vote are combined
// before the deadline, the decision is stored and answered. One instance per process; all tenants.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/faults.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/time.h"
#include "decision/account.h"
#include "decision/event.h"
#include "decision/pack.h"
#include "decision/windows.h"
#include "pipeline/grey_seam.h"
#include "pipeline/loop.h"
#include "pipeline/model_seam.h"
#include "store/store.h"

namespace tollgate::pipeline {

// What may stand behind the decision loop; either may be null.
struct Seams {
    // NOLINTNEXTLINE(google-explicit-constructor): most have a model alone, or none.
    Seams(ModelSeam* m = nullptr, GreySeam* g = nullptr) : model(m), grey(g) {}
    ModelSeam* model;
    GreySeam* grey;
};

struct PipelineOptions {
    WindowLimits windows;
    std::size_t max_in_flight =
        10'000;  // assessments past it are answered by the pack default, windows recorded
    std::size_t max_tenants = 256;
    std::size_t max_parked_outcomes = 100'000;  // a tenant
    std::size_t idempotency_entries =
        8'000'000;  // event ids held in memory, a tenant; older ones are asked of the store
    std::chrono::milliseconds max_deadline{1'000};
    std::chrono::seconds snapshot_every{600};  // 0: only on close; recovery replays the log since
    std::int64_t retention_days =
        400;                    // of log; 0: for ever. Never less than the windows and 35 days need
    bool virtual_time = false;  // lockstep: no wall timeouts
    std::string build;          // for provenance and /version
    std::string kernels = "none";
};

// A shared owner: a decision keeps the pack it began with while another is activated (docs/adr,
// shared packs).
using PackPtr = std::shared_ptr<const PolicyPack>;

struct StageTimes {  // microseconds
    std::int64_t parse = 0, windows = 0, rules = 0, queue = 0, tokenize = 0, encoder = 0,
                 policy = 0, store = 0, total = 0;
};

struct Reply {
    std::optional<Error> error;  // set: no body; the server renders a problem document
    std::string body;            // JSON
    bool replayed = false;       // Idempotency-Replayed: true
    StageTimes
        // store and total include the confirmation, unlike the body's (Server-Timing header)
        times;
};
using ReplyFn = std::function<void(Reply)>;  // called once, on the loop's thread

struct AssessInput {
    std::string tenant;
    PackPtr pack;  // the pack whose schema parsed the event
    Event event;
    Steady::time_point received;          // last body byte; a batch line: its admission
    std::chrono::microseconds budget{0};  // 0: the pack's decide_ms; never above max_deadline
    std::int64_t parse_us = 0;
    ReplyFn reply;
};

struct Readiness {
    bool ready = false;
    std::vector<std::pair<std::string, std::string>>
        parts;  // "store": "ok", "faults": "store_delay_us=10000", ...
};

// Loop thread only, unless said otherwise. Every ReplyFn is answered by its deadline whatever the
// store or model do.
class Pipeline {
  public:
    // Opens every tenant that the store knows: packs, accounts, windows (snapshot + log),
    // idempotency. `fallback_pack` serves tenants that have activated none.
    static Result<std::unique_ptr<Pipeline>> open(const PipelineOptions& options,
                                                  PackPtr fallback_pack, store::Store& store,
                                                  Loop& loop, Metrics& metrics,
                                                  FaultSwitches& faults, const Seams& seams);
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    PackPtr pack_of(std::string_view tenant) const;

    // Well-formed input is always answered with a decision, except kConflict (same event_id,
    // another event) and kBadInput for an occurred_at too far ahead.
    void assess(AssessInput input);
    void outcome(const std::string& tenant, Outcome outcome, ReplyFn reply);

    // {"id":…}, 404 as kNotFound. Reads happen on the store's read thread.
    void get_assessment(const std::string& tenant, const std::string& id, ReplyFn reply);
    void get_account(const std::string& tenant, const std::string& account_id, ReplyFn reply);

    // Admin. A new pack is compiled off the loop (background thread), windows rebuilt from the log
    // when its signature differs, then swapped between two events. Errors carry the diagnostics in
    // the message; the old pack stays.
    void activate_policy(const std::string& tenant, PackFiles files, const std::string& by,
                         ReplyFn reply);
    void rollback_policy(const std::string& tenant, const std::string& by, ReplyFn reply);
    void list_policies(const std::string& tenant, ReplyFn reply);
    void change_account(const std::string& tenant, AccountChange change, ReplyFn reply);
    // Makes keys of new tenants known (from the key file); at most max_tenants.
    Status ensure_tenant(const std::string& tenant);

    // Writes the tenant's windows as they are, so that recovery replays the log from here. Runs on
    // the background thread; at once ok() while one is running.
    void snapshot(const std::string& tenant, std::function<void(Status)> done);

    // Stops taking new work quietly: in-flight assessments finish, snapshot written, everything
    // flushed.
    void drain(std::function<void()> done);
    bool draining() const;
    Readiness readiness() const;
    std::string version_json(std::string_view tenant) const;
    std::size_t in_flight() const;
    // The tenant's windows, for tools on a stopped folder; null for an unknown tenant.
    WindowStore* windows_of(std::string_view tenant) const;
    const PipelineOptions& options() const;

  private:
    friend class Importer;
    struct Impl;
    explicit Pipeline(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate::pipeline
