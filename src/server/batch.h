// Batch: the NDJSON body of :batch cut into lines, and the answers put back in order; no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "server/error_map.h"

namespace tollgate::server {

struct BatchLimits {
    std::size_t line_bytes = 262'144;
    std::size_t in_flight = 64;
    std::size_t buffer_bytes = 4U << 20;
};

// Takes the lines. Called from pump(); answer() may be called before it returns.
class BatchLines {
  public:
    virtual ~BatchLines() = default;
    virtual void on_line(std::uint64_t sequence, std::string_view text) = 0;
};

// One owner. feed() what was read, pump() to hand lines on, answer() each line once in any order,
// take() what is ready in the order of the lines. Lines are numbered from 1; blank lines are
// counted and passed over. Bounded: input held <= one line and one feed, output <= buffer_bytes and
// what is in flight.
class Batch {
  public:
    explicit Batch(const BatchLimits& limits) : limits_(limits) {}

    void feed(std::string_view bytes);
    void end_input() { ended_ = true; }  // the body is complete; a last line without newline counts
    // Hands on at most `lines` lines. True when more could be handed on at once: call again.
    bool pump(std::size_t lines, BatchLines& to);
    // The answer of a line, without its newline.
    void answer(std::uint64_t sequence, std::string text);
    // An error object in place of the line's answer.
    void refuse(std::uint64_t sequence, const Problem& problem);
    // The body broke off: what was not handed on is dropped, an error object goes behind the last
    // line.
    void fail(const Problem& problem);
    std::size_t line_of(std::uint64_t sequence) const;  // its number in the body

    bool wants_input() const;  // everything fed was handed on and there is room
    bool has_output() const { return !out_.empty(); }
    void take(std::string& out);                         // swaps the finished lines out
    void unsent(std::size_t bytes) { unsent_ = bytes; }  // taken, but not yet read by the client
    bool done() const { return ended_ && input_.size() == at_ && lines_.empty() && line_done_; }
    std::size_t in_flight() const { return open_; }

  private:
    struct Line {
        std::size_t number = 0;
        bool answered = false;
        std::string text;
    };
    bool room() const;
    bool next_line(BatchLines& to);
    std::uint64_t add_line();
    void flush();

    BatchLimits limits_;
    std::string input_;  // bytes fed; those before at_ were handed on
    std::size_t at_ = 0;
    std::size_t scanned_ = 0;  // no newline in [at_, scanned_)
    bool ended_ = false;
    bool line_done_ = true;  // false: an overlong line is being skipped
    std::size_t number_ = 0;
    std::deque<Line> lines_;   // admitted, not yet in out_
    std::uint64_t first_ = 0;  // sequence of lines_.front()
    std::size_t open_ = 0;     // of them unanswered
    std::size_t held_ = 0;     // bytes of answered lines behind an unanswered one
    std::string out_;
    std::size_t unsent_ = 0;
};

}  // namespace tollgate::server
