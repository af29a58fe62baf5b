// Open-loop load: requests leave by the clock, whatever the server does.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>

#include "apps/cli.h"
#include "apps/load_client.h"
#include "apps/replay.h"
#include "apps/stall_meter.h"

namespace tollgate::apps {

namespace {

std::int64_t monotonic_us(Steady::time_point t) {
    return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}

// Gives the load client one request after the other and takes the answers. Tags: event number * 2,
// outcomes 1.
class Sender {
  public:
    Sender(const ReplayOptions& options, TrafficFeed& feed)
        : options_(options), feed_(feed), bar_("replay", options.quiet) {}

    bool next(LoadRequest& request) {
        const auto more = feed_.next(step_);
        if (!more) {
            failure_ = more.error();
            return false;
        }
        if (!*more) {
            return false;
        }
        if (!began_) {
            began_ = Steady::now() + std::chrono::milliseconds(100);  // connections open meanwhile
            first_ = step_.at;
        }
        request.scheduled = due();
        if (step_.is_outcome) {
            request.target = "/v1/outcomes";
            request.body = step_.outcome_json;
            request.tag = 1;
            return true;
        }
        ++sent_events_;
        request.body = std::move(step_.item.event_json);
        request.tag = collector_.add_event(step_.item) * 2;
        return true;
    }

    void take(const LoadReply& reply) {
        last_ = std::max(last_, reply.received);
        const unsigned status = reply.answered ? reply.status : 0;
        if (reply.tag % 2 == 1) {
            collector_.outcome_answer(status);
            return;
        }
        const Exchange times{.scheduled_us = monotonic_us(reply.scheduled),
                             .sent_us = monotonic_us(reply.sent),
                             .received_us = monotonic_us(reply.received)};
        collector_.answer(reply.tag / 2, times, status, reply.body, reply.server_timing);
    }

    void tick() { bar_.show(feed_.progress(), sent_events_, "events"); }

    Result<ReplayReport> finish(const std::vector<Stall>& stalls) {
        bar_.finish();
        if (failure_) {
            return *failure_;
        }
        ReplayReport report = collector_.finish(&stalls);
        report.seconds =
            began_ ? std::max(0.0, std::chrono::duration<double>(last_ - *began_).count()) : 0.0;
        report.outcomes_after_end = feed_.waiting_outcomes();
        return report;
    }

  private:
    // When the step at hand is due: events evenly by rate (an outcome with the event it comes
    // before), or as they came.
    Steady::time_point due() const {
        double seconds = 0.0;
        if (options_.rate > 0.0) {
            seconds = static_cast<double>(sent_events_) / options_.rate;
        } else if (options_.speed > 0.0) {
            seconds = std::chrono::duration<double>(step_.at - first_).count() / options_.speed;
        }
        return *began_ + std::chrono::duration_cast<Steady::duration>(
                             std::chrono::duration<double>(std::max(0.0, seconds)));
    }

    const ReplayOptions& options_;
    TrafficFeed& feed_;
    ReplayCollector collector_;
    ProgressBar bar_;
    FeedStep step_;
    std::optional<Steady::time_point> began_;
    Steady::time_point last_{};
    EventTime first_{};
    std::uint64_t sent_events_ = 0;
    std::optional<Error> failure_;
};

std::string mode_text(const ReplayOptions& options) {
    char text[64] = "flat out";
    if (options.rate > 0.0) {
        (void)std::snprintf(text, sizeof text, "%g events/s", options.rate);
    } else if (options.speed > 0.0) {
        (void)std::snprintf(text, sizeof text, "%g times as fast as it was", options.speed);
    }
    return text;
}

}  // namespace

Result<ReplayReport> replay_load(const ReplayOptions& options) {
    LoadOptions load;
    TG_TRY([[maybe_unused]] const auto parsed, parse_server_url(options.server, load));
    load.key = options.key;
    load.connections = options.connections;
    load.flat_out = options.flat_out;
    TG_TRY(const auto feed, TrafficFeed::open(options.input, options.feed));
    // Best effort: a page of ours that comes back from the disk would look like a slow server.
    (void)mlockall(MCL_CURRENT | MCL_FUTURE);
    TG_TRY(auto meter, StallMeter::start());
    Sender sender(options, *feed);
    const Status ran = run_load(
        load, [&sender](LoadRequest& request) { return sender.next(request); },
        [&sender](const LoadReply& reply) { sender.take(reply); }, [&sender] { sender.tick(); });
    const std::vector<Stall> stalls = meter.stop();
    if (!ran) {
        return ran.error();
    }
    TG_TRY(ReplayReport report, sender.finish(stalls));
    report.mode = mode_text(options);
    return report;
}

}  // namespace tollgate::apps
