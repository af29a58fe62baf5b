// EncoderText: a pack's encoder.j2, which says how an event becomes the text that the encoder
// reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "decision/buckets.h"
#include "decision/schema.h"
#include "decision/value.h"
#include "decision/window_def.h"
#include "decision/windows.h"

namespace tollgate {

// What one rendering reads; borrowed for the call.
struct EncoderInput {
    std::span<const Value> fields;   // by FieldId
    std::span<const Value> windows;  // by WindowId
    const WindowStore* store = nullptr;
    const EventKeys* keys = nullptr;
    EventTime at;
    std::uint64_t arrival = 0;  // the event's own; the history is what came before it
};

// A number that a template handed to `bucket`; NaN for none.
struct BucketNumber {
    std::string name;
    double value = 0.0;
};

// docs/encoder_text.md says what the template sees. Immutable; any thread.
class EncoderText {
  public:
    static constexpr std::size_t kMaxText = std::size_t{16} << 10;  // bytes of one text
    static constexpr std::int64_t kMaxHistory = 64;                 // events of one history()

    // Compiles, and renders once over an empty event: a name that the pack does not have is found
    // here when that rendering comes by it. kBadInput with file and line.
    static Result<std::unique_ptr<const EncoderText>> compile(const std::string& source,
                                                              const FieldTable& fields,
                                                              const WindowPlan& plan,
                                                              Currency currency,
                                                              std::string_view zone);
    ~EncoderText();
    EncoderText(const EncoderText&) = delete;
    EncoderText& operator=(const EncoderText&) = delete;

    // Appends the text, white space squeezed. On an error `out` is as it was.
    Status render(const EncoderInput& input, const Buckets& buckets, std::string& out) const;
    // The numbers that rendering hands to `bucket`, in order, with every field wanted: what buckets
    // are fitted on.
    Status numbers(const EncoderInput& input, std::vector<BucketNumber>& out) const;

    // Names that the template gave to `bucket` or asked of `wants`, sorted.
    const std::vector<std::string>& names() const;
    // kBadInput when the model wants a field that the template never makes.
    Status check(const Buckets& buckets) const;

  private:
    struct Impl;
    explicit EncoderText(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate
