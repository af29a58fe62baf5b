// SessionHub: all connections of the server: their places, time limits and the way answers find
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/loop.h"
#include "server/config.h"
#include "server/exchange.h"
#include "server/handlers.h"
#include "server/http_metrics.h"
#include "server/session.h"

namespace tollgate::server {

// Loop thread only. Time limits are checked in slices, every place once a second, so that ten
// thousand connections cost a few microseconds a tick and no timer each.
class SessionHub final : public AnswerTarget {
  public:
    SessionHub(const ServerConfig& config, pipeline::Loop& loop, Handlers& handlers,
               const HttpMetrics& metrics);
    ~SessionHub() override;
    SessionHub(const SessionHub&) = delete;
    SessionHub& operator=(const SessionHub&) = delete;

    // True when a connection may be opened, if need be by closing an idle or slow one.
    bool make_room();
    void open(std::unique_ptr<Transport> transport, ListenerKind listener);

    void respond(SessionId id, Response&& response) override;
    void line_answered(SessionId id, std::uint64_t sequence, Answer&& answer);
    void resume_batch(SessionId id);
    void retire(SessionId id);  // a session is gone; freed after the current call

    // Places for batches; a session without one is resumed when its turn comes.
    bool take_batch_place(SessionId id);
    void give_batch_place();

    void start();  // begins the ticks
    // No request after the current ones; `done` once every connection is closed, at the latest
    // after the drain timeout.
    void drain(std::function<void()> done);
    std::size_t size() const { return open_; }

    const ServerConfig& config() const { return config_; }
    pipeline::Loop& loop() { return loop_; }
    Handlers& handlers() { return handlers_; }
    const HttpMetrics& metrics() const { return metrics_; }
    std::string_view date_line();  // "Date: ...\r\n", made once a second

  private:
    struct Place {
        std::unique_ptr<Session> session;
        std::uint32_t generation = 1;
    };
    static SessionId name(std::size_t place, std::uint32_t generation);
    Session* find(SessionId id);
    void tick();
    void wake_batches();
    void finish_drain();

    const ServerConfig& config_;
    pipeline::Loop& loop_;
    Handlers& handlers_;
    const HttpMetrics& metrics_;
    std::vector<Place> places_;
    std::vector<std::uint32_t> free_;
    std::vector<std::unique_ptr<Session>> retired_;
    std::size_t open_ = 0;
    std::size_t sweep_at_ = 0;
    std::size_t evict_at_ = 0;
    std::size_t batches_ = 0;
    std::deque<SessionId> batch_queue_;
    pipeline::Loop::TimerId timer_ = 0;
    std::string date_;
    Steady::time_point date_until_{};
    std::function<void()> drained_;
    Steady::time_point drain_until_ = Steady::time_point::max();
};

}  // namespace tollgate::server
