// Fault switches: the ways a drill or a test breaks this process on purpose. All off in service;
// set by tests, by `tollgate serve --enable-faults` through /admin/faults, and shown by /readyz
// while on.
#pragma once

#include <atomic>
#include <cstdint>

namespace tollgate {

// One instance per process, made in main, passed by reference. Relaxed atomics: a switch may be
// seen a moment late.
struct FaultSwitches {
    std::atomic<std::int64_t> store_delay_us{0};  // each commit of the store takes this much longer
    std::atomic<bool> store_full{false};          // each commit fails as a full disk does
    std::atomic<bool> store_frozen{false};        // the commit thread stops taking work
    std::atomic<bool> worker_frozen{false};       // the model seam's worker stops answering
    std::atomic<std::int64_t> scorer_delay_us{0};  // each model answer takes this much longer
    std::atomic<bool> encoder_crash{false};        // the encoder's lane dies at its next request
    std::atomic<bool> encoder_nan{false};          // the encoder's scores are not numbers
    std::atomic<std::int64_t> clock_jump_us{0};    // added to the wall clock (stream clock "wall")
};

}  // namespace tollgate
