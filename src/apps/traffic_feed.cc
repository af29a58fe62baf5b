// Merges events and waiting outcomes by time.
#include "apps/traffic_feed.h"

#include <algorithm>
#include <utility>

namespace tollgate::apps {

Result<std::unique_ptr<TrafficFeed>> TrafficFeed::open(const std::string& path,
                                                       const FeedOptions& options) {
    TG_TRY(auto reader, TrafficReader::open(path));
    return std::make_unique<TrafficFeed>(std::move(reader), options);
}

// The next event that is wanted into upcoming_; false at the end.
Result<bool> TrafficFeed::read_event() {
    if (options_.limit > 0 && events_ >= options_.limit) {
        return false;
    }
    for (;;) {
        TrafficItem item;
        TG_TRY(const bool more, reader_->next(item));
        if (!more || (options_.until && item.at >= *options_.until)) {
            return false;
        }
        if (last_ && item.at < *last_) {
            return Error{Fault::kBadInput, "event_id \"" + item.event_id + "\" of " +
                                               format_rfc3339(item.at) + " comes after one of " +
                                               format_rfc3339(*last_) +
                                               "; traffic must be in order of occurred_at"};
        }
        last_ = item.at;
        if (!options_.from || item.at >= *options_.from) {
            upcoming_ = std::move(item);
            return true;
        }
    }
}

Result<bool> TrafficFeed::next(FeedStep& step) {
    if (!upcoming_ && !ended_) {
        TG_TRY(const bool more, read_event());
        ended_ = !more;
    }
    if (!upcoming_) {
        return false;
    }
    if (!waiting_.empty() && waiting_.top().at <= upcoming_->at) {
        step.is_outcome = true;
        step.at = waiting_.top().at;
        step.outcome_json = waiting_.top().json;
        waiting_.pop();
        return true;
    }
    step.is_outcome = false;
    step.at = upcoming_->at;
    step.item = *std::move(upcoming_);
    upcoming_.reset();
    if (options_.outcomes && !step.item.outcome_json.empty()) {
        const EventTime known =
            options_.feedback_delay ? step.at + *options_.feedback_delay : step.item.known_at;
        // Never before its event: a known_at in the event's past is known when the event comes.
        waiting_.push(
            {.at = std::max(known, step.at), .order = events_, .json = step.item.outcome_json});
    }
    ++events_;
    return true;
}

double TrafficFeed::progress() const {
    const double by_bytes = reader_->progress();
    return options_.limit == 0 ? by_bytes
                               : std::max(by_bytes, static_cast<double>(events_) /
                                                        static_cast<double>(options_.limit));
}

}  // namespace tollgate::apps
