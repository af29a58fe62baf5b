// EncoderService: the fast lane. Scores texts on its own threads, batches what queued while it was
// busy, never waits when idle, and says at once when it cannot.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/faults.h"
#include "base/lanes.h"
#include "base/metrics.h"
#include "base/time.h"
#include "engine/breaker.h"
#include "engine/scoring_model.h"

namespace tollgate {

struct EncoderServiceOptions {
    std::size_t threads = 1;          // of the fast lane
    std::size_t queue = 1024;         // requests waiting; more are refused as overloaded
    std::size_t batch_tokens = 2048;  // of one forward pass; at least the model's longest input
    std::size_t batch_texts = 32;
    std::chrono::milliseconds stuck_after{50};     // without a new tile: the lane counts as stuck
    std::chrono::milliseconds probe_limit{15};     // a probe that takes longer failed
    std::chrono::milliseconds restart_after{100};  // a lane that died is started again
    BreakerOptions breaker;
};

struct EncodeAnswer {
    enum class Outcome : std::uint8_t {
        kScored,
        kExpired,  // its deadline had passed before its turn came: not computed
        kFailed,   // the lane died, or the score is not a finite number
    };
    std::uint64_t ticket = 0;
    Outcome outcome = Outcome::kFailed;
    ScoredText text;
    std::int64_t queue_us = 0;
    std::int64_t tokenize_us = 0;
    std::int64_t encoder_us = 0;
};

struct EncodeRequest {
    std::uint64_t ticket = 0;
    std::string text;
    Steady::time_point deadline;
    std::function<void(const EncodeAnswer&)> done;  // called once, on the lane's thread
};

// Threads: submit(), missed() and the reads from any thread; the lane has its own (nice 5) and a
// watchdog (nice 0: it sleeps but for a look every 10 ms).
class EncoderService {
  public:
    // Warms up before it returns: weights touched, the arena used at its full size. `gate` is
    // closed while a request is in flight.
    EncoderService(const ScoringModel& model, const EncoderServiceOptions& options, LaneGate& gate,
                   FaultSwitches& faults, Metrics& metrics);
    ~EncoderService();  // answers what waits as failed
    EncoderService(const EncoderService&) = delete;
    EncoderService& operator=(const EncoderService&) = delete;

    enum class Accepted : std::uint8_t { kTaken, kUnavailable, kOverloaded };
    // Never blocks (one short mutex). On kTaken `request` is moved from.
    Accepted submit(EncodeRequest& request);

    // The caller's own timer went off before an answer came: counts against the breaker.
    void missed();

    // "ready", "open" (the breaker), "stuck", "dead".
    std::string_view state() const;
    std::size_t bytes() const;  // the arena

  private:
    void start_lane();
    void run_lane();
    bool take_jobs(std::vector<EncodeRequest>& jobs, TextBatch& batch);
    void score_jobs(std::vector<EncodeRequest>& jobs, TextBatch& batch, Steady::time_point began);
    void suffer_faults();
    void answer(EncodeRequest& job, EncodeAnswer answer);
    void fail_all();
    void watch();
    void look_at_lane(Steady::time_point now);
    void send_probe();
    void warm_up();

    const ScoringModel& model_;
    const EncoderServiceOptions options_;
    LaneGate& gate_;
    FaultSwitches& faults_;
    Breaker breaker_;
    TileLane lane_;
    TextBatch batch_;  // the lane's thread alone

    std::mutex mutex_;                 // guards queue_, stop_
    std::condition_variable ready_;    // work, for the lane
    std::condition_variable stopped_;  // the end, for the watchdog and a frozen lane
    std::deque<EncodeRequest> queue_;
    bool stop_ = false;

    // Relaxed: the watchdog looks at them every 10 ms and may be one look late.
    std::atomic<std::int64_t> busy_since_{0};  // steady ns of the batch being scored, 0 when idle
    std::atomic<bool> stuck_{false};
    std::atomic<bool> dead_{false};  // release by the dying lane, acquire by the watchdog
    std::uint64_t last_tiles_ = 0;   // watchdog's own, as the two below
    Steady::time_point last_progress_;
    Steady::time_point died_;

    Counter scored_, expired_, failed_, refused_, batches_, restarts_;
    Gauge queue_length_, breaker_open_, lane_stuck_, gate_waits_;
    std::jthread lane_thread_;
    std::jthread watchdog_;
};

}  // namespace tollgate
