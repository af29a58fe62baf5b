// Importer: loads months of past events and outcomes into a tenant as history, without deciding
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "decision/event.h"
#include "pipeline/pipeline.h"

namespace tollgate::pipeline {

struct ImportStats {
    std::uint64_t events = 0;
    std::uint64_t outcomes = 0;
    std::uint64_t duplicates = 0;  // event ids that were there already; skipped
};

// Over a pipeline that serves nobody (a stopped data folder): events go into the windows at their
// own time, into the log as import records, and their ids into the idempotency index. Not
// thread-safe; one at a time a tenant.
class Importer {
  public:
    static Result<std::unique_ptr<Importer>> open(Pipeline& pipeline, const std::string& tenant);
    ~Importer();
    // In order of occurred_at for keeps to be right. The outcome, when given, must be of that
    // event. Errors of the writer thread come back from the next call.
    Status add(const Event& event, const std::optional<Outcome>& outcome);
    // Waits for the writer, flushes to disk, writes a window snapshot.
    Status finish();
    const ImportStats& stats() const;
    const PolicyPack& pack() const;

  private:
    struct Impl;
    explicit Importer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate::pipeline
