// Session: one connection: reads requests one after the other, has them answered, writes the
// answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "server/batch.h"
#include "server/exchange.h"
#include "server/request_parser.h"
#include "server/service.h"
#include "server/transport.h"

namespace tollgate::server {

class SessionHub;

// Loop thread only; owned by the hub, which frees it once it is closed and no operation is under
// way. The next request is read only when the answer before it is written: pipelined requests are
// answered in order, and a client that does not read is not read from.
class Session final : public TransportUser, public BodySink, public BatchLines {
  public:
    Session(SessionHub& hub, SessionId id, std::unique_ptr<Transport> transport,
            ListenerKind listener);

    void start();
    void respond(Response&& response);
    void line_answered(std::uint64_t sequence, Answer&& answer);
    void resume_batch();  // its turn came, or it yielded to others
    void expire();        // deadline() has passed
    void close();
    // Draining: no request after the current one.
    void finish_soon();

    Steady::time_point deadline() const { return deadline_; }
    SessionId id() const { return id_; }
    // Waits for a request, or for the rest of its headers since `slow_since` or longer: may be
    // closed to make room for another connection.
    bool evictable(Steady::time_point slow_since) const;
    bool gone() const { return state_ == State::kClosed && !reading_ && !writing_; }

  private:
    enum class State : std::uint8_t {
        kStarting,  // TLS handshake
        kIdle,      // no byte of a request yet
        kReading,   // headers or body
        kContinue,  // 100 Continue is being written
        kHandling,  // the service has it
        kWriting,   // the answer is being written
        kBatch,     // reads lines and writes answers at once
        kLinger,    // all said; the peer's last bytes are read past
        kClosed,
    };

    void on_ready(bool ok) override;
    void on_read(std::size_t bytes, bool ok) override;
    void on_written(bool ok) override;
    void on_body(std::string_view bytes) override;
    void on_line(std::uint64_t sequence, std::string_view text) override;

    std::string_view buffered() const { return {buffer_.data() + begin_, end_ - begin_}; }
    void wait_for_request();
    void process();
    bool step();
    bool on_header();
    void on_request();
    void on_end_of_stream();
    void read_more();
    void refuse(const Problem& problem);  // answers and ends the connection
    void write_head(const Response& response);
    void next_request();
    void linger();
    void set_deadline(std::uint64_t ms);

    void begin_batch();
    void pump_batch();
    void feed_batch();
    void flush_batch();
    void batch_written();
    void end_batch();
    void fail_batch(const Problem& problem);

    SessionHub& hub_;
    const SessionId id_;
    std::unique_ptr<Transport> transport_;
    const ListenerKind listener_;
    State state_ = State::kStarting;
    bool reading_ = false;
    bool writing_ = false;
    bool close_after_ = false;
    bool discard_ = false;  // the body belongs to a refused request
    bool end_of_stream_ = false;
    Steady::time_point deadline_ = Steady::time_point::max();
    Steady::time_point since_;  // when the state was entered
    Steady::time_point read_at_;

    std::vector<char> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t lingered_ = 0;
    RequestParser parser_;
    Exchange exchange_;
    std::string head_out_;
    std::string body_out_;

    std::unique_ptr<Batch> batch_;
    bool batch_begun_ = false;   // its turn came
    bool batch_headed_ = false;  // the answer's head was written
    bool batch_last_ = false;    // the last chunk is being written
    bool batch_broken_ = false;  // ends the connection without a last chunk
    bool pumping_ = false;
    bool yielded_ = false;
};

}  // namespace tollgate::server
