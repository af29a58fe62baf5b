// History: feeds log records into a window store, for recovery after a crash and for a pack that
// needs other rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "decision/pack.h"
#include "decision/record.h"
#include "decision/windows.h"
#include "pipeline/pipeline.h"
#include "store/store.h"

namespace tollgate::pipeline {

// Where the fields and rows of one event go in a pack's window store; reused between events.
class WindowLoader {
  public:
    WindowLoader(const PolicyPack& pack, WindowStore& windows) : pack_(pack), windows_(windows) {}
    // `event` in this pack's schema. `kept` by this pack's keeps; empty: unknown.
    const EventKeys& keys(const Event& event);
    void load(const Event& event, std::uint64_t arrival, const std::vector<std::int64_t>& kept,
              Label label = Label::kNone, EventTime known_at = {});
    Status label(const Event& event, std::uint64_t arrival, Label label, EventTime known_at);

  private:
    const PolicyPack& pack_;
    WindowStore& windows_;
    std::vector<Value> fields_;
    EventKeys keys_;
    WindowValues values_;
};

using PackByHash = std::function<PackPtr(const std::string& hash)>;
PackByHash by_hash(std::map<std::string, PackPtr> packs);  // null for an unknown hash

// One tenant's log into one window store. One thread.
class HistoryReader {
  public:
    HistoryReader(const store::Store& store, std::string tenant, PackPtr pack, WindowStore& windows,
                  PackByHash packs)
        : store_(store),
          tenant_(std::move(tenant)),
          pack_(std::move(pack)),
          loader_(*pack_, windows),
          packs_(std::move(packs)) {}

    // Applies one record; events with an arrival number >= `before` are left out. What was seen
    // raises last_arrival().
    Status apply(const store::LogEntry& entry, std::uint64_t before = UINT64_MAX);
    std::uint64_t last_arrival() const { return last_arrival_; }
    std::uint64_t last_change() const { return last_change_; }
    std::uint64_t events() const { return events_; }
    std::uint64_t redacted() const { return redacted_; }

  private:
    struct Seen {
        Event event;
        std::uint64_t arrival = 0;
    };
    Status apply_event(const Record& record, const PolicyPack& written_with, std::uint64_t before);
    Status apply_label(const Outcome& outcome, std::uint64_t before);

    const store::Store& store_;
    std::string tenant_;
    PackPtr pack_;
    WindowLoader loader_;
    PackByHash packs_;
    // Imports write an outcome right behind its event: the newest events are at hand without a
    // read.
    std::unordered_map<std::string, Seen> recent_;
    std::vector<std::string> recent_order_;
    std::size_t recent_at_ = 0;
    std::uint64_t last_arrival_ = 0;
    std::uint64_t last_change_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t redacted_ = 0;
};

// The event of a stored assessment or import in `pack`'s schema; kNotFound when it was never
// recorded.
struct StoredEvent {
    Event event;
    std::uint64_t arrival = 0;
    bool recorded = true;  // false: it came too late for the windows
};
Result<StoredEvent> read_stored_event(const store::Store& store, const std::string& tenant,
                                      std::uint64_t seq, const PolicyPack& pack,
                                      const PackByHash& packs);

}  // namespace tollgate::pipeline
