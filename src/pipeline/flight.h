// Flight: one assessment between its admission and its confirmed write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "decision/combine.h"
#include "decision/event.h"
#include "decision/record.h"
#include "decision/rules.h"
#include "decision/stream_clock.h"
#include "decision/windows.h"
#include "pipeline/pipeline.h"

namespace tollgate::pipeline {

struct Tenant;

enum class Source : std::uint8_t { kModel, kRules, kDefault };
enum class FaultCause : std::uint8_t { kNone, kTimeout, kUnavailable, kOverloaded, kDeadline };

// A repeat of an event in flight: answered with the first one's body, or at its own deadline by the
// rules alone. Its own flight keeps the timer.
struct Waiter {
    std::uint64_t number = 0;
    ReplyFn reply;
};

// Owned by Pipeline::Impl::flights until it is answered; callbacks hold the number, never the
// address.
struct Flight {
    enum class Stage : std::uint8_t { kLookup, kColdKeys, kModel, kStore };

    std::uint64_t number = 0;
    Stage stage = Stage::kLookup;
    Tenant* tenant = nullptr;
    AssessInput in;
    Steady::time_point deadline;
    Digest event_digest{};           // of the canonical event: what idempotency compares
    bool registered = false;         // in Tenant::pending under its event id
    bool counted_undecided = false;  // in Tenant::undecided
    Admission admission = Admission::kFresh;

    std::optional<Money> limit;             // in force for this event
    const AccountState* account = nullptr;  // valid only within one step: looked up again in each
    std::vector<Value> fields;              // by FieldId
    EventKeys keys;
    WindowValues windows;
    RuleResults rules;
    std::size_t cold_loads = 0;  // key reads still out

    std::uint64_t arrival = 0;
    std::uint64_t seq = 0;
    Source source = Source::kRules;
    FaultCause fault = FaultCause::kNone;
    std::int64_t fault_after_us = 0;
    std::optional<ModelVote> vote;
    std::optional<EncodedSize> encoded;  // of the text that the vote is on
    Combined combined;
    std::string body;              // as stored: "persisted" says os or fsync
    std::size_t persisted_at = 0;  // where that word starts in `body`
    std::size_t persisted_size = 0;
    StageTimes times;
    Steady::time_point stage_began;
    Loop::TimerId timer = 0;
    std::vector<Waiter> waiters;

    // Ready for another event; the vectors keep their memory.
    void reset();
};

}  // namespace tollgate::pipeline
