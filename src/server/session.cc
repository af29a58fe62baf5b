// Reading, answering and closing of one connection.
#include "server/session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/session_hub.h"

namespace tollgate::server {
namespace {

constexpr std::size_t kFirstBuffer = 4'096;     // what an idle connection holds
constexpr std::size_t kReadSize = 16'384;       // room made for one read of a body
constexpr std::size_t kKeepCapacity = 65'536;   // larger strings are given back after a request
constexpr std::size_t kDrainedBody = 1U << 20;  // a refused body up to this is read past
constexpr std::size_t kLingerBytes = 1U << 20;
constexpr std::uint64_t kLingerMs = 1'000;
constexpr std::string_view kContinueText = "HTTP/1.1 100 Continue\r\n\r\n";

void clear_big(std::string& text) {
    text.clear();
    if (text.capacity() > kKeepCapacity) {
        text.shrink_to_fit();
    }
}

}  // namespace

Session::Session(SessionHub& hub, SessionId id, std::unique_ptr<Transport> transport,
                 ListenerKind listener)
    : hub_(hub),
      id_(id),
      transport_(std::move(transport)),
      listener_(listener),
      since_(hub.loop().now()),
      read_at_(since_),
      buffer_(kFirstBuffer),
      parser_(ParserLimits{static_cast<std::uint32_t>(hub.config().max_header_bytes)}) {}

void Session::set_deadline(std::uint64_t ms) {
    since_ = hub_.loop().now();
    deadline_ = since_ + std::chrono::milliseconds(ms);
}

void Session::start() {
    set_deadline(hub_.config().header_timeout_ms);
    reading_ = true;  // the handshake counts as one
    transport_->start(*this);
}

void Session::on_ready(bool ok) {
    reading_ = false;
    if (!ok || state_ == State::kClosed) {
        return close();
    }
    wait_for_request();
    read_more();
}

void Session::wait_for_request() {
    state_ = State::kIdle;
    set_deadline(hub_.config().idle_timeout_ms);
}

bool Session::evictable(Steady::time_point slow_since) const {
    return state_ == State::kIdle || ((state_ == State::kReading || state_ == State::kStarting) &&
                                      !parser_.header_done() && since_ < slow_since);
}

void Session::finish_soon() {
    close_after_ = true;
    if (state_ == State::kIdle) {
        close();
    }
}

void Session::close() {
    if (state_ != State::kClosed) {
        state_ = State::kClosed;
        deadline_ = Steady::time_point::max();
        transport_->close();
        if (batch_begun_) {
            batch_begun_ = false;
            hub_.give_batch_place();
        }
    }
    if (gone()) {
        hub_.retire(id_);
    }
}

void Session::expire() {
    hub_.metrics().timeouts.add();
    deadline_ = Steady::time_point::max();
    if (state_ != State::kReading) {
        return close();
    }
    const bool header = !parser_.header_done();
    refuse(Problem{408, "request_timeout",
                   header ? "the headers took longer than " +
                                std::to_string(hub_.config().header_timeout_ms) + " ms"
                          : "the body took longer than " +
                                std::to_string(hub_.config().body_timeout_ms) + " ms",
                   ""});
}

// --- reading ---

void Session::read_more() {
    if (reading_ || state_ == State::kClosed) {
        return;
    }
    if (end_of_stream_) {
        return on_end_of_stream();
    }
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    const bool body = parser_.header_done() && !parser_.done();
    const std::size_t wanted = body ? kReadSize : kFirstBuffer;
    if (buffer_.size() - end_ < wanted / 2) {
        buffer_.resize(end_ + wanted);  // bounded: step() refuses what does not fit a header
    }
    reading_ = true;
    transport_->read(buffer_.data() + end_, buffer_.size() - end_);
}

void Session::on_read(std::size_t bytes, bool ok) {
    reading_ = false;
    hub_.metrics().bytes_in.add(static_cast<double>(bytes));
    if (state_ == State::kClosed) {
        return close();
    }
    if (state_ == State::kLinger) {
        lingered_ += bytes;
        if (!ok || lingered_ > kLingerBytes) {
            return close();
        }
        end_ = begin_ = 0;
        return read_more();
    }
    end_of_stream_ = end_of_stream_ || !ok;
    end_ += bytes;
    read_at_ = hub_.loop().now();
    if (state_ == State::kIdle || state_ == State::kReading) {
        process();
    } else if (state_ == State::kBatch) {
        feed_batch();
    }
}

void Session::on_end_of_stream() {
    if (state_ == State::kReading && parser_.started()) {
        return refuse(Problem{400, "bad_request", "the request ends before it is complete", ""});
    }
    close();
}

void Session::process() {
    while (step()) {
    }
}

// Parses what is buffered. False when it waits for bytes, or another part has taken over.
bool Session::step() {
    const std::string_view bytes = buffered();
    if (bytes.empty()) {
        read_more();
        return false;
    }
    if (state_ == State::kIdle) {
        state_ = State::kReading;
        set_deadline(hub_.config().header_timeout_ms);
    }
    const bool header = !parser_.header_done();
    const std::size_t used = parser_.put(bytes, header, *this);
    begin_ += used;
    if (parser_.fault()) {
        refuse(*parser_.fault());
        return false;
    }
    if (header && parser_.header_done()) {
        return on_header();
    }
    if (parser_.done()) {
        on_request();
        return false;
    }
    if (used == 0 && bytes.size() >= hub_.config().max_header_bytes + kReadSize) {
        refuse(Problem{400, "bad_request", "a chunk's header is longer than allowed", ""});
        return false;
    }
    if (used == 0) {
        read_more();
        return false;
    }
    return true;
}

bool Session::on_header() {
    exchange_.head = parser_.head();
    if (!parser_.head().keep_alive) {
        close_after_ = true;
    }
    hub_.handlers().admit(listener_, exchange_);
    parser_.set_body_limit(hub_.handlers().body_limit(exchange_));
    if (parser_.fault()) {
        refuse(exchange_.refusal ? *exchange_.refusal : *parser_.fault());
        return false;
    }
    if (parser_.done()) {
        on_request();
        return false;
    }
    discard_ = exchange_.refusal.has_value();
    if (discard_ && (exchange_.head.expect_continue ||
                     exchange_.head.content_length.value_or(0) > kDrainedBody)) {
        close_after_ = true;  // the body will not be read
        on_request();
        return false;
    }
    set_deadline(hub_.config().body_timeout_ms);
    if (exchange_.head.expect_continue && buffered().empty()) {
        state_ = State::kContinue;
        writing_ = true;
        transport_->write(kContinueText, {});
        return false;
    }
    if (!discard_ && exchange_.route->body == BodyKind::kLines) {
        begin_batch();
        return false;
    }
    return true;
}

void Session::on_body(std::string_view bytes) {
    if (batch_ != nullptr) {
        batch_->feed(bytes);
    } else if (!discard_) {
        exchange_.body.append(bytes);  // bounded by the parser's body limit
    }
}

void Session::on_request() {
    state_ = State::kHandling;
    deadline_ = Steady::time_point::max();
    exchange_.received = read_at_;
    if (exchange_.route != nullptr && exchange_.route->body == BodyKind::kLines &&
        !exchange_.refusal) {
        return begin_batch();  // an empty one
    }
    hub_.handlers().handle(exchange_, Responder{&hub_, id_});
}

// --- writing ---

void Session::write_head(const Response& response) {
    close_after_ = close_after_ || response.close || hub_.handlers().draining();
    head_out_.clear();
    head_out_ += "HTTP/1.1 ";
    head_out_ += std::to_string(response.status);
    head_out_ += ' ';
    head_out_ += reason_of(response.status);
    head_out_ += "\r\nContent-Type: ";
    head_out_ += response.content_type;
    head_out_ += "\r\nCache-Control: no-store\r\n";
    head_out_ += hub_.date_line();
    head_out_ += response.headers;
    if (close_after_) {
        head_out_ += "Connection: close\r\n";
    } else if (exchange_.head.version == 10) {
        head_out_ += "Connection: keep-alive\r\n";
    }
}

void Session::respond(Response&& response) {
    if (state_ != State::kHandling) {
        return;
    }
    write_head(response);
    head_out_ += "Content-Length: ";
    head_out_ += std::to_string(response.body.size());
    head_out_ += "\r\n\r\n";
    body_out_ = std::move(response.body);
    hub_.metrics().answered(
        exchange_.route, response.status,
        std::chrono::duration_cast<std::chrono::microseconds>(hub_.loop().now() - read_at_));
    state_ = State::kWriting;
    set_deadline(hub_.config().write_timeout_ms);
    writing_ = true;
    transport_->write(head_out_, exchange_.head.head_only ? std::string_view() : body_out_);
}

void Session::refuse(const Problem& problem) {
    hub_.metrics().faults.add(problem.status == 408 ? 0 : 1);
    close_after_ = true;
    state_ = State::kHandling;
    respond(problem_response(problem));
}

void Session::on_written(bool ok) {
    writing_ = false;
    if (!ok || state_ == State::kClosed || state_ == State::kLinger) {
        return close();
    }
    hub_.metrics().bytes_out.add(static_cast<double>(head_out_.size() + body_out_.size()));
    if (state_ == State::kContinue) {
        state_ = State::kReading;
        if (!discard_ && exchange_.route->body == BodyKind::kLines) {
            return begin_batch();
        }
        return process();
    }
    if (state_ == State::kBatch) {
        return batch_written();
    }
    if (close_after_) {
        return linger();
    }
    next_request();
}

void Session::next_request() {
    parser_.next();
    exchange_.route = nullptr;
    exchange_.tenant.clear();
    exchange_.key_id.clear();
    exchange_.id.clear();
    exchange_.budget = std::chrono::microseconds(0);
    exchange_.refusal.reset();
    exchange_.refusal_headers.clear();
    clear_big(exchange_.body);
    clear_big(body_out_);
    discard_ = false;
    if (begin_ == end_ && buffer_.size() > 4 * kReadSize) {
        buffer_ = std::vector<char>(kFirstBuffer);
    }
    read_at_ = hub_.loop().now();  // a pipelined request's turn begins now
    wait_for_request();
    process();
}

// Closing at once with unread input would make the kernel send a reset, which can destroy the
// answer on its way: the sending side is closed first and what still comes is read past for a
// while.
void Session::linger() {
    state_ = State::kLinger;
    set_deadline(kLingerMs);
    if (end_of_stream_) {
        return close();
    }
    // A read is under way only after a time limit; it goes on, and TLS allows no close beside it.
    if (!reading_) {
        begin_ = end_ = 0;
    }
    if (reading_ && transport_->tls()) {
        return close();
    }
    if (transport_->shutdown_send()) {
        writing_ = true;
        return;
    }
    read_more();
}

}  // namespace tollgate::server
