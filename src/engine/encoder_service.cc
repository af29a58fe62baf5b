// The fast lane's queue, its loop, and the watchdog that notices when it hangs or dies.
#include "engine/encoder_service.h"

#include <cmath>

namespace tollgate {

namespace {

constexpr std::uint64_t kProbe = UINT64_MAX;  // the ticket of a probe
constexpr auto kLook = std::chrono::milliseconds(10);

std::int64_t micros_between(Steady::time_point from, Steady::time_point to) {
    return std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
}

std::int64_t nanos(Steady::time_point at) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

}  // namespace

EncoderService::EncoderService(const ScoringModel& model, const EncoderServiceOptions& options,
                               LaneGate& gate, FaultSwitches& faults, Metrics& metrics)
    : model_(model),
      options_(options),
      gate_(gate),
      faults_(faults),
      breaker_(options.breaker),
      lane_(options.threads, ThreadRole::kFastCompute, "fast"),
      batch_(model, options.batch_tokens, options.batch_texts, lane_.threads()) {
    const auto outcome = [&](std::string_view word) {
        return metrics.counter("tollgate_encoder_requests_total",
                               "Requests to the encoder by what came of them.",
                               {{"outcome", word}});
    };
    scored_ = outcome("scored");
    expired_ = outcome("expired");
    failed_ = outcome("failed");
    refused_ = outcome("refused");
    batches_ = metrics.counter("tollgate_encoder_batches_total", "Forward passes of the encoder.");
    restarts_ = metrics.counter("tollgate_encoder_restarts_total",
                                "Times that the encoder's lane died and was started again.");
    queue_length_ = metrics.gauge("tollgate_encoder_queue", "Requests that wait for the encoder.");
    breaker_open_ =
        metrics.gauge("tollgate_encoder_breaker_open", "1 while the encoder is not asked.");
    lane_stuck_ = metrics.gauge("tollgate_encoder_stuck", "1 while the encoder's lane hangs.");
    gate_waits_ = metrics.gauge("tollgate_deep_tile_waits",
                                "Deep tiles that had to wait for a fast request, since the start.");
    warm_up();
    start_lane();
    last_progress_ = Steady::now();
    watchdog_ = std::jthread([this] { watch(); });
}

EncoderService::~EncoderService() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    ready_.notify_all();
    stopped_.notify_all();
    watchdog_ = {};
    lane_thread_ = {};
    fail_all();
}

// Touches every weight and the arena at its full size, on the caller's thread, before the lane is
// there.
void EncoderService::warm_up() {
    std::string longest;
    while (longest.size() < 4 * model_.encoder->config().max_positions) {
        longest += "warm up ";
    }
    for (int round = 0; round < 3; ++round) {
        batch_.clear();
        while (batch_.add(round == 0 ? std::string_view("warm") : std::string_view(longest))) {
        }
        (void)batch_.score(lane_);
    }
    batch_.clear();
}

void EncoderService::start_lane() {
    dead_.store(false, std::memory_order_release);
    lane_thread_ = std::jthread([this] { run_lane(); });
}

EncoderService::Accepted EncoderService::submit(EncodeRequest& request) {
    if (!breaker_.allows() || stuck_.load(std::memory_order_relaxed) ||
        dead_.load(std::memory_order_acquire)) {
        refused_.add();
        return Accepted::kUnavailable;
    }
    {
        const std::scoped_lock lock(mutex_);
        if (stop_ || queue_.size() >= options_.queue) {
            refused_.add();
            return stop_ ? Accepted::kUnavailable : Accepted::kOverloaded;
        }
        gate_.close();
        queue_.push_back(std::move(request));
        queue_length_.set(static_cast<double>(queue_.size()));
    }
    ready_.notify_one();
    return Accepted::kTaken;
}

void EncoderService::missed() {
    breaker_.failed(Steady::now());
}

std::string_view EncoderService::state() const {
    if (dead_.load(std::memory_order_acquire)) {
        return "dead";
    }
    if (stuck_.load(std::memory_order_relaxed)) {
        return "stuck";
    }
    return breaker_.allows() ? "ready" : "open";
}

std::size_t EncoderService::bytes() const {
    return batch_.bytes();
}

void EncoderService::answer(EncodeRequest& job, EncodeAnswer answer) {
    answer.ticket = job.ticket;
    if (job.ticket == kProbe) {
        const bool well = answer.outcome == EncodeAnswer::Outcome::kScored &&
                          answer.tokenize_us + answer.encoder_us <
                              micros_between({}, Steady::time_point(options_.probe_limit));
        breaker_.probe_ended(well, Steady::now());
        return;
    }
    gate_.open();
    switch (answer.outcome) {
        case EncodeAnswer::Outcome::kScored:
            scored_.add();
            break;
        case EncodeAnswer::Outcome::kExpired:
            expired_.add();
            break;
        case EncodeAnswer::Outcome::kFailed:
            failed_.add();
            breaker_.failed(Steady::now());
            break;
    }
    job.done(answer);
}

void EncoderService::fail_all() {
    std::deque<EncodeRequest> left;
    {
        const std::scoped_lock lock(mutex_);
        left.swap(queue_);
        queue_length_.set(0.0);
    }
    for (EncodeRequest& job : left) {
        answer(job, {});
    }
}

// Waits for work and fills the batch with what is there; false at the end.
bool EncoderService::take_jobs(std::vector<EncodeRequest>& jobs, TextBatch& batch) {
    std::deque<EncodeRequest> expired;
    {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (stop_) {
            return false;
        }
        const auto now = Steady::now();
        busy_since_.store(nanos(now), std::memory_order_relaxed);
        while (!queue_.empty() && jobs.size() < options_.batch_texts) {
            EncodeRequest& next = queue_.front();
            if (next.deadline <= now) {
                expired.push_back(std::move(next));
            } else {
                jobs.push_back(std::move(next));
            }
            queue_.pop_front();
        }
        queue_length_.set(static_cast<double>(queue_.size()));
    }
    batch.clear();
    for (EncodeRequest& job : expired) {
        EncodeAnswer late;
        late.outcome = EncodeAnswer::Outcome::kExpired;
        answer(job, late);
    }
    return true;
}

void EncoderService::score_jobs(std::vector<EncodeRequest>& jobs, TextBatch& batch,
                                Steady::time_point began) {
    // Tokenized in rounds when the batch's token budget is smaller than what queued.
    for (std::size_t first = 0; first < jobs.size();) {
        const auto start = Steady::now();
        batch.clear();
        while (first + batch.size() < jobs.size() && batch.add(jobs[first + batch.size()].text)) {
        }
        const auto tokenized = Steady::now();
        const std::span<const ScoredText> scored = batch.score(lane_);
        suffer_faults();
        const auto ended = Steady::now();
        batches_.add();
        for (std::size_t i = 0; i < scored.size(); ++i) {
            EncodeRequest& job = jobs[first + i];
            EncodeAnswer result;
            result.text = scored[i];
            if (faults_.encoder_nan.load(std::memory_order_relaxed)) {
                result.text.logit = NAN;
            }
            result.outcome = std::isfinite(result.text.logit) ? EncodeAnswer::Outcome::kScored
                                                              : EncodeAnswer::Outcome::kFailed;
            result.queue_us = micros_between(began, start);
            result.tokenize_us = micros_between(start, tokenized);
            result.encoder_us = micros_between(tokenized, ended);
            if (result.outcome == EncodeAnswer::Outcome::kScored && job.deadline > ended) {
                breaker_.succeeded();
            }
            answer(job, result);
        }
        first += scored.size();
    }
}

// The fault switches that drills set; each is off in service.
void EncoderService::suffer_faults() {
    const auto delay = faults_.scorer_delay_us.load(std::memory_order_relaxed);
    if (delay > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(delay));
    }
    while (faults_.worker_frozen.load(std::memory_order_relaxed)) {
        std::unique_lock lock(mutex_);
        if (stopped_.wait_for(lock, std::chrono::milliseconds(1), [this] { return stop_; })) {
            return;
        }
    }
}

void EncoderService::run_lane() {
    enter_thread(ThreadRole::kFastCompute, "fast-0");
    std::vector<EncodeRequest> jobs;
    jobs.reserve(options_.batch_texts);
    for (;;) {
        jobs.clear();
        if (!take_jobs(jobs, batch_)) {
            return;
        }
        if (!jobs.empty() && faults_.encoder_crash.load(std::memory_order_relaxed)) {
            for (EncodeRequest& job : jobs) {
                answer(job, {});
            }
            busy_since_.store(0, std::memory_order_relaxed);
            dead_.store(true, std::memory_order_release);
            return;
        }
        score_jobs(jobs, batch_, Steady::now());
        busy_since_.store(0, std::memory_order_relaxed);
    }
}

void EncoderService::watch() {
    enter_thread(ThreadRole::kIo, "encoder-watch");
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            if (stopped_.wait_for(lock, kLook, [this] { return stop_; })) {
                return;
            }
        }
        const auto now = Steady::now();
        look_at_lane(now);
        if (!dead_.load(std::memory_order_acquire) && breaker_.take_probe(now)) {
            send_probe();
        }
        breaker_open_.set(breaker_.allows() ? 0.0 : 1.0);
        lane_stuck_.set(stuck_.load(std::memory_order_relaxed) ? 1.0 : 0.0);
        gate_waits_.set(static_cast<double>(gate_.waits()));
    }
}

void EncoderService::look_at_lane(Steady::time_point now) {
    const std::uint64_t tiles = lane_.tiles_begun();
    const bool busy = busy_since_.load(std::memory_order_relaxed) != 0;
    if (!busy || tiles != last_tiles_) {
        last_tiles_ = tiles;
        last_progress_ = now;
    }
    const bool stuck = now - last_progress_ > options_.stuck_after;
    if (stuck && !stuck_.load(std::memory_order_relaxed)) {
        breaker_.force_open(now);  // it is let in again by a probe, not by one tile
    }
    if (stuck) {
        fail_all();
    }
    stuck_.store(stuck, std::memory_order_relaxed);
    if (!dead_.load(std::memory_order_acquire)) {
        died_ = now;
        return;
    }
    breaker_.force_open(now);
    fail_all();
    if (now - died_ >= options_.restart_after) {
        lane_thread_ = {};
        restarts_.add();
        start_lane();
    }
}

void EncoderService::send_probe() {
    EncodeRequest probe{
        .ticket = kProbe, .text = "probe", .deadline = Steady::time_point::max(), .done = {}};
    {
        const std::scoped_lock lock(mutex_);
        queue_.push_front(std::move(probe));
    }
    ready_.notify_one();
}

}  // namespace tollgate
