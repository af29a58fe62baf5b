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

struct BenchEncoderOptions {
    std::string model;  // folder: config.json and model.safetensors
    std::string kernels;
    std::string precision = "int8";
    std::string shapes = "1x32,1x64,1x128,1x256,8x64";
    std::string json;
    std::size_t threads = 2;
    double seconds = 10.0;
    bool serve = false;  // answer shapes that come line by line on standard input
    bool quiet = false;
};
Status bench_encoder(const BenchEncoderOptions& options);

}  // namespace tollgate::apps
