// The batch side of a connection: lines in and answers out at the same time.
#include <array>
#include <charconv>
#include <utility>

#include "server/session.h"
#include "server/session_hub.h"

namespace tollgate::server {
namespace {

// Lines handed to the service before the loop serves others: at 50 us a line a single assessment
// waits 200 us at the most for one batch's turn.
constexpr std::size_t kLinesPerTurn = 4;
constexpr std::string_view kLastChunk = "0\r\n\r\n";

void append_chunk_head(std::string& out, std::size_t size) {
    std::array<char, 24> text{};
    const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), size, 16);
    (void)fault;  // 24 digits hold any size
    out.append(text.data(), end);
    out += "\r\n";
}

}  // namespace

void Session::begin_batch() {
    state_ = State::kBatch;
    deadline_ = Steady::time_point::max();  // none while it waits for its turn
    const ServerConfig& config = hub_.config();
    batch_ =
        std::make_unique<Batch>(BatchLimits{static_cast<std::size_t>(config.batch_line_bytes),
                                            static_cast<std::size_t>(config.batch_in_flight),
                                            static_cast<std::size_t>(config.batch_buffer_bytes)});
    batch_headed_ = batch_last_ = batch_broken_ = false;
    if (hub_.take_batch_place(id_)) {
        batch_begun_ = true;
        feed_batch();
    }
}

void Session::resume_batch() {
    if (state_ != State::kBatch) {
        return;
    }
    yielded_ = false;
    if (!batch_begun_) {
        if (!hub_.take_batch_place(id_)) {
            return;
        }
        batch_begun_ = true;
    }
    feed_batch();
}

// Parses what is buffered as far as the batch wants it, hands lines on and sends what is ready.
void Session::feed_batch() {
    if (!batch_begun_ || batch_broken_) {
        return;
    }
    while (batch_->wants_input() && !parser_.done() && begin_ < end_) {
        const std::size_t used = parser_.put(buffered(), false, *this);
        begin_ += used;
        if (parser_.fault()) {
            return fail_batch(*parser_.fault());
        }
        if (used == 0) {
            break;
        }
    }
    if (parser_.done()) {
        batch_->end_input();
    }
    pump_batch();
    if (state_ != State::kBatch || batch_broken_) {
        return;
    }
    if (batch_->wants_input() && !parser_.done() && !reading_) {
        if (end_of_stream_) {
            return fail_batch(
                Problem{400, "bad_request", "the batch ends before it is complete", ""});
        }
        set_deadline(hub_.config().body_timeout_ms);
        read_more();
    } else if (!reading_ && !writing_) {
        deadline_ = Steady::time_point::max();  // only the service is waited for
    }
}

void Session::pump_batch() {
    if (!yielded_) {
        pumping_ = true;
        const bool more = batch_->pump(kLinesPerTurn, *this);
        pumping_ = false;
        if (more) {
            yielded_ = true;
            hub_.loop().post([hub = &hub_, id = id_] { hub->resume_batch(id); });
        }
    }
    flush_batch();
}

void Session::on_line(std::uint64_t sequence, std::string_view text) {
    hub_.handlers().handle_line(exchange_, text, [hub = &hub_, id = id_, sequence](Answer answer) {
        hub->line_answered(id, sequence, std::move(answer));
    });
}

void Session::line_answered(std::uint64_t sequence, Answer&& answer) {
    if (state_ != State::kBatch) {
        return;
    }
    hub_.metrics().batch_lines.add();
    if (answer.error) {
        hub_.metrics().batch_errors.add();
        batch_->refuse(sequence, problem_of(*answer.error));
    } else {
        batch_->answer(sequence, std::move(answer.body));
    }
    if (batch_broken_) {
        flush_batch();
    } else if (!pumping_) {
        feed_batch();
    }
}

void Session::batch_written() {
    batch_->unsent(0);
    if (batch_last_) {
        end_batch();
    } else if (batch_broken_) {
        flush_batch();
    } else {
        feed_batch();
    }
}

void Session::flush_batch() {
    if (writing_ || batch_last_) {
        return;
    }
    const bool finished = batch_->done() && !batch_->has_output();
    if (finished && batch_broken_) {
        return linger();
    }
    const bool last = finished;
    if (!batch_->has_output() && !last) {
        return;
    }
    head_out_.clear();
    if (!std::exchange(batch_headed_, true)) {
        Response response;
        response.content_type = "application/x-ndjson";
        response.headers = "Transfer-Encoding: chunked\r\n";
        write_head(response);
        head_out_ += "\r\n";
    }
    batch_->take(body_out_);
    if (last) {
        batch_last_ = true;
        body_out_ = kLastChunk;
    } else {
        append_chunk_head(head_out_, body_out_.size());
        body_out_ += "\r\n";
    }
    batch_->unsent(body_out_.size());
    set_deadline(hub_.config().write_timeout_ms);
    writing_ = true;
    transport_->write(head_out_, body_out_);
}

void Session::end_batch() {
    batch_.reset();
    batch_begun_ = false;
    hub_.give_batch_place();
    hub_.metrics().answered(
        exchange_.route, 200,
        std::chrono::duration_cast<std::chrono::microseconds>(hub_.loop().now() - read_at_));
    if (close_after_) {
        return linger();
    }
    next_request();
}

// The framing broke: the lines admitted are answered as far as they are, an error object follows
// and the connection ends without the last chunk, so that the client sees that it is not whole.
void Session::fail_batch(const Problem& problem) {
    hub_.metrics().faults.add();
    close_after_ = true;
    batch_broken_ = true;
    if (!batch_headed_ && batch_->in_flight() == 0 && !batch_->has_output() && !writing_) {
        batch_.reset();
        batch_begun_ = false;
        hub_.give_batch_place();
        return refuse(problem);
    }
    batch_->fail(problem);
    flush_batch();
}

}  // namespace tollgate::server
