// Memo texts of simulated transfers: a small grammar per purpose, honest or not, never a real name.
#pragma once

#include <cstdint>
#include <string>

namespace tollgate::pipeline {

enum class MemoKind : std::uint8_t {
    kNone,
    kOrder,  // a card payment's order text
    kSalary,
    kRent,
    kEveryday,    // between friends and family
    kBusiness,    // an honest invoice
    kCollection,  // club dues, shared presents
    kVague,       // what a thief writes: next to nothing
    kLookalike,   // honest, with the words of a scam
    kScamInvoice,
    kScamRomance,
    kScamTax,
    kScamCrypto,
    kScamSafeAccount,
};

// Appends the memo of (kind, seed); the same pair gives the same text. UTF-8 without quotes,
// backslashes or control characters, at most 140 bytes; no digit run is longer than 8.
void append_memo(std::string& out, MemoKind kind, std::uint64_t seed);

}  // namespace tollgate::pipeline
