// Writes a simulated event and what became known about it as one line of a traffic file.
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/simulate_event.h"

namespace tollgate::pipeline {

// Not thread-safe (keeps the last day's date as text). Allocates nothing once `out` has room.
class SimLineWriter {
  public:
    SimLineWriter(const SimWorld& world, bool with_outcomes)
        : world_(world), with_outcomes_(with_outcomes) {}

    // Appends {"event":{...},"outcome":{...}|null,"scenario":"..."} without a line end. The
    // outcome's chance, kind and delay are drawn from the seed and the event's number.
    void append(std::string& out, const SimEvent& event);

  private:
    void append_event(std::string& out, const SimEvent& event);
    void append_counterparty(std::string& out, const SimEvent& event);
    void append_attributes(std::string& out, const SimEvent& event);
    void append_outcome(std::string& out, const SimEvent& event);
    void append_time(std::string& out, std::int64_t time_ms);
    void append_id(std::string& out, char prefix, std::uint64_t number);

    const SimWorld& world_;
    bool with_outcomes_;
    std::int64_t day_ = -1;
    std::string date_{};  // "2026-11-30T"
};

}  // namespace tollgate::pipeline
