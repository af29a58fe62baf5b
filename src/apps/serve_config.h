// Settings of `tollgate serve`: the HTTP server's, the store's and the decision loop's, from one
// TOML file.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/encoder_service.h"
#include "pipeline/pipeline.h"
#include "server/config.h"
#include "store/store.h"

namespace tollgate::apps {

struct ServeConfig {
    server::ServerConfig server;
    store::StoreOptions store;
    pipeline::PipelineOptions pipeline;
    EncoderServiceOptions encoder;
    std::uint64_t model_threads = 0;       // of the fast lane; 0: one per core
    std::uint64_t model_memory_mb = 8192;  // a model whose weights need more is refused
};

// [server] as server::properties() says; [store] journal_capacity, block_cache_mb; [windows]
// memory_mb, max_events_per_key, max_scan_rows; [pipeline] max_in_flight, max_tenants,
// idempotency_entries, max_parked_outcomes, retention_days, snapshot_every_s; [model] threads,
// queue, batch_texts, batch_tokens, memory_mb. Unknown keys are refused by name; values out of
// range with the range.
Result<ServeConfig> read_serve_config(const std::string& path);

// The file that would give this configuration.
std::string effective_config(const ServeConfig& config);

}  // namespace tollgate::apps
