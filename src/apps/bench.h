// `tollgate bench`: what its parts share.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tollgate::apps {

struct BenchRulesOptions {
    std::string input;                // empty: simulated
    std::string policy;               // empty: the embedded bench pack
    std::string json;                 // file for the figures; empty: none
    std::uint64_t events = 100'000;   // timed, 1,000..10,000,000
    std::uint64_t history = 400'000;  // recorded before the clock starts, 0..10,000,000
    std::uint64_t seed = 1;           // of the simulated events
    bool quiet = false;
};
Status bench_rules(const BenchRulesOptions& options);

struct BenchEchoOptions {
    std::string input;
    std::uint64_t events = 95'720;
    std::size_t connections = 32;
};
// Sends the bodies of `input` flat out to an echo server that does nothing else.
Status bench_echo(const BenchEchoOptions& options);

}  // namespace tollgate::apps
