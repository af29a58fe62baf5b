// Places, sweeps and look-up of connections.
#include "server/session_hub.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/log.h"

namespace tollgate::server {
namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr std::size_t kTicksPerRound = 20;  // each place is looked at once a second
// A search for a place to free is bounded; at 10,000 places it comes round in forty tries.
constexpr std::size_t kEvictTries = 256;
constexpr std::chrono::seconds kSlow{1};  // headers that take longer may be cut off when full

}  // namespace

SessionHub::SessionHub(const ServerConfig& config, pipeline::Loop& loop, Handlers& handlers,
                       const HttpMetrics& metrics)
    : config_(config), loop_(loop), handlers_(handlers), metrics_(metrics) {}

SessionHub::~SessionHub() {
    loop_.cancel(timer_);
}

SessionId SessionHub::name(std::size_t place, std::uint32_t generation) {
    return SessionId{(std::uint64_t{generation} << 32U) | place};
}

Session* SessionHub::find(SessionId id) {
    const auto value = static_cast<std::uint64_t>(id);
    const auto index = static_cast<std::size_t>(value & 0xFFFFFFFFU);
    if (index >= places_.size() || places_[index].generation != value >> 32U) {
        return nullptr;
    }
    return places_[index].session.get();
}

bool SessionHub::make_room() {
    if (open_ < config_.max_connections) {
        return true;
    }
    const auto slow_since = loop_.now() - kSlow;
    for (std::size_t i = 0; i < std::min(kEvictTries, places_.size()); ++i) {
        evict_at_ = (evict_at_ + 1) % places_.size();
        Session* session = places_[evict_at_].session.get();
        if (session != nullptr && session->evictable(slow_since)) {
            metrics_.evicted.add();
            session->close();
            // Its place is free when its cancelled read has come back; the bound may be passed by
            // one.
            return true;
        }
    }
    metrics_.refused.add();
    return false;
}

void SessionHub::open(std::unique_ptr<Transport> transport, ListenerKind listener) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(places_.size()));
        places_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Place& place = places_[index];
    place.session = std::make_unique<Session>(*this, name(index, place.generation),
                                              std::move(transport), listener);
    ++open_;
    metrics_.accepted.add();
    metrics_.connections.set(static_cast<double>(open_));
    place.session->start();
}

void SessionHub::retire(SessionId id) {
    if (find(id) == nullptr) {
        return;
    }
    const auto index = static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) & 0xFFFFFFFFU);
    Place& place = places_[index];
    // The caller is a member function of the session: it is freed by the next posted call.
    if (retired_.empty()) {
        loop_.post([this] { retired_.clear(); });
    }
    retired_.push_back(std::move(place.session));
    ++place.generation;
    free_.push_back(index);
    --open_;
    metrics_.connections.set(static_cast<double>(open_));
    if (open_ == 0) {
        finish_drain();
    }
}

void SessionHub::respond(SessionId id, Response&& response) {
    if (Session* session = find(id)) {
        session->respond(std::move(response));
    }
}

void SessionHub::line_answered(SessionId id, std::uint64_t sequence, Answer&& answer) {
    if (Session* session = find(id)) {
        session->line_answered(sequence, std::move(answer));
    }
}

void SessionHub::resume_batch(SessionId id) {
    if (Session* session = find(id)) {
        session->resume_batch();
    }
}

bool SessionHub::take_batch_place(SessionId id) {
    if (batches_ < config_.batch_connections) {
        ++batches_;
        return true;
    }
    if (batch_queue_.size() > 2 * places_.size()) {  // names of closed connections add up
        std::erase_if(batch_queue_, [this](SessionId waiting) { return find(waiting) == nullptr; });
    }
    batch_queue_.push_back(id);
    return false;
}

void SessionHub::give_batch_place() {
    --batches_;
    if (!batch_queue_.empty()) {
        loop_.post([this] { wake_batches(); });
    }
}

void SessionHub::wake_batches() {
    while (batches_ < config_.batch_connections && !batch_queue_.empty()) {
        const SessionId next = batch_queue_.front();
        batch_queue_.pop_front();
        resume_batch(next);  // takes the place, unless the connection is gone
    }
}

void SessionHub::start() {
    timer_ = loop_.call_at(loop_.now() + kTick, [this] { tick(); });
}

void SessionHub::tick() {
    const auto now = loop_.now();
    const std::size_t slice = places_.size() / kTicksPerRound + 1;
    for (std::size_t i = 0; i < slice && !places_.empty(); ++i) {
        sweep_at_ = (sweep_at_ + 1) % places_.size();
        Session* session = places_[sweep_at_].session.get();
        if (session != nullptr && session->deadline() <= now) {
            session->expire();
        }
    }
    if (now >= drain_until_) {
        drain_until_ = Steady::time_point::max();
        log_event(Level::kWarn, "drain_timeout",
                  {{"connections", static_cast<std::int64_t>(open_)}});
        for (Place& place : places_) {
            if (place.session != nullptr) {
                place.session->close();
            }
        }
    }
    start();
}

void SessionHub::drain(std::function<void()> done) {
    drained_ = std::move(done);
    drain_until_ = loop_.now() + std::chrono::milliseconds(config_.drain_timeout_ms);
    for (Place& place : places_) {
        if (place.session != nullptr) {
            place.session->finish_soon();
        }
    }
    if (open_ == 0) {
        finish_drain();
    }
}

void SessionHub::finish_drain() {
    if (drained_) {
        drain_until_ = Steady::time_point::max();
        loop_.post(std::exchange(drained_, nullptr));
    }
}

std::string_view SessionHub::date_line() {
    const auto now = loop_.now();
    if (now >= date_until_) {
        const std::time_t time =
            std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
        std::tm parts{};
        (void)::gmtime_r(&time, &parts);
        std::array<char, 64> text{};
        // The process never sets a locale: %a and %b are English.
        const std::size_t size =
            std::strftime(text.data(), text.size(), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
        date_.assign(text.data(), size);
        date_until_ = now + std::chrono::seconds(1);
    }
    return date_;
}

}  // namespace tollgate::server
