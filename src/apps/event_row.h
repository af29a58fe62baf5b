// EventRow: an event's fields and keys in a pack, and its windows, for tools that drive a
// WindowStore by hand.
#pragma once

#include <cstdint>
#include <vector>

#include "decision/event.h"
#include "decision/pack.h"
#include "decision/windows.h"

namespace tollgate::apps {

// Reused between events: after warm-up nothing is allocated. One thread. `pack` must outlive it.
class EventRow {
  public:
    explicit EventRow(const PolicyPack& pack) : pack_(pack) {}

    // Fields and keys of `event`, which must outlive the other calls.
    void set(const Event& event);
    // The windows of the event that was set, in `windows` as of `mode`; see WindowStore::assess.
    const WindowValues& assess(WindowStore& windows, std::uint64_t arrival, RecordMode mode,
                               Label label = Label::kNone, EventTime known_at = {});
    Status label(WindowStore& windows, std::uint64_t arrival, Label label, EventTime known_at);
    EvalInput input() const;  // for rules; valid until the next set()
    const EventKeys& keys() const { return keys_; }

  private:
    const PolicyPack& pack_;
    const Event* event_ = nullptr;
    std::vector<Value> fields_;
    EventKeys keys_;
    WindowValues values_;
};

}  // namespace tollgate::apps
