// Tenant: everything the decision loop keeps for one bank unit: pack, windows, accounts, clock,
// known events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "base/metrics.h"
#include "decision/account.h"
#include "decision/stream_clock.h"
#include "decision/windows.h"
#include "pipeline/event_index.h"
#include "pipeline/pipeline.h"

namespace tollgate::pipeline {

// A stored event on its way into a window store that is being rebuilt for another pack.
struct TailEvent {
    Event event;
    std::uint64_t arrival = 0;
};
struct TailLabel {
    Event event;
    std::uint64_t arrival = 0;
    Label label = Label::kNone;
    EventTime known_at;
};
using TailEntry = std::variant<TailEvent, TailLabel>;

// An event between admission and confirmed write.
struct PendingEvent {
    std::uint64_t flight = 0;   // while it is not answered
    std::uint64_t arrival = 0;  // 0: the windows have not been read yet
    Digest digest{};
    std::string sent;  // the answer, once given
    int writes = 0;    // commits that are not confirmed yet
};

struct TenantMetrics {
    Counter by_source[3];    // model, rules, default
    Counter by_decision[4];  // approve, challenge, review, decline
    Counter persisted_log;   // answered os or fsync
    Counter persisted_memory;
    Counter late;      // late but recorded
    Counter too_late;  // assessed on read-only windows
    Counter replayed;
    Counter conflicts;
    Counter cold_keys;  // windows unknown because a key was on disk
    Counter overflow_keys;
    Counter store_lost;  // journal full
    Counter outcomes;
    Counter outcomes_parked;
    Counter grey;         // scores in the grey band
    Counter grey_capped;  // of them, past the cap: not offered for a second look
    Gauge grey_share;     // live, over about 2,000 scores
};

// Loop thread owns it; `windows` alone is also read by background threads (it locks its own
// shards).
struct Tenant {
    std::string name;
    std::uint64_t id_secret = 0;  // makes ids opaque; stored in the tenant's meta
    PackPtr pack;
    PackPtr previous;    // what rollback returns to
    PackPtr plan_owner;  // the pack whose plan `windows` was made with
    // A shared owner: a snapshot or a key read on another thread may outlive the swap to a rebuilt
    // store.
    std::shared_ptr<WindowStore> windows;
    AccountTable accounts;
    std::unique_ptr<StreamClock> clock;
    std::unique_ptr<EventIndex> seen;
    std::uint64_t next_seq = 1;
    std::uint64_t next_arrival = 1;
    std::uint64_t next_change = 1;         // account changes
    std::map<std::string, PackPtr> packs;  // every pack that a stored record may name, by hash
    bool snapshot_running = false;
    std::uint64_t parked = 0;       // outcomes waiting for their event
    std::int64_t kept_day = -1;     // UTC day of the last retention run
    std::uint64_t house_retry = 0;  // upkeep tick before which a failed one is not tried again
    // Event ids from admission until their write is confirmed.
    std::unordered_map<std::string, PendingEvent> pending;
    // (seq, arrival) of decisions submitted since the snapshot's floor, in order of seq: the log
    // must be replayed from the first whose arrival is not below it. Pruned once a second.
    std::deque<std::pair<std::uint64_t, std::uint64_t>> submitted;
    std::size_t undecided = 0;  // flights that hold a pack and have not read the windows yet
    double grey_share = 0.0;    // moving share of grey scores
    bool rebuilding = false;    // activation in progress: recorded events also go to `tail`
    std::vector<TailEntry> tail;
    TenantMetrics metrics;
};

}  // namespace tollgate::pipeline
