// Lockstep replay: the pipeline in this process under virtual time, one event at a time.
#include <cstdio>
#include <memory>

#include "apps/cli.h"
#include "apps/log_hash.h"
#include "apps/open_pack.h"
#include "apps/replay.h"
#include "base/faults.h"
#include "base/metrics.h"
#include "build_info.h"
#include "decision/event_json.h"
#include "pipeline/pipeline.h"
#include "pipeline/virtual_loop.h"
#include "store/store.h"
#include "text/json.h"

namespace tollgate::apps {

namespace {

class Lockstep {
  public:
    Lockstep(const ReplayOptions& options, pipeline::Pipeline& pipeline,
             pipeline::VirtualLoop& loop)
        : options_(options), pipeline_(pipeline), loop_(loop) {}

    Status run(TrafficFeed& feed) {
        ProgressBar bar("lockstep", options_.quiet);
        FeedStep step;
        for (std::uint64_t steps = 0;; ++steps) {
            TG_TRY(const bool more, feed.next(step));
            if (!more) {
                return ok();
            }
            go_to(step.at);
            const Status done = step.is_outcome ? outcome(step) : event(step);
            if (!done) {
                return done;
            }
            if (steps % 256 == 0) {
                bar.show(feed.progress(), feed.events(), "events");
            }
        }
    }

    ReplayReport finish() { return collector_.finish(nullptr); }

    // Windows snapshot and everything on disk.
    Status drain() {
        bool done = false;
        pipeline_.drain([&done] { done = true; });
        return wait(done, "the end");
    }

  private:
    // Virtual time moves to the step's own; it never goes back (outcomes of one time with their
    // events).
    void go_to(EventTime at) {
        if (!began_) {
            began_ = true;
            loop_.set_wall(at);
        }
        if (at > loop_.wall()) {
            loop_.advance(at - loop_.wall());
        }
    }

    Status wait(const bool& done, const std::string& what) {
        if (!loop_.run_until([&done] { return done; })) {
            return Error{Fault::kTimeout, what + ": the store did not answer for 30 s"};
        }
        return ok();
    }

    Status event(const FeedStep& step) {
        const std::uint64_t number = collector_.add_event(step.item);
        const pipeline::PackPtr pack = pipeline_.pack_of(options_.tenant);
        const auto root = json_.parse(step.item.event_json);
        auto event = root ? parse_event(*root, pack->schema()) : Result<Event>(root.error());
        if (!event) {
            return Error{event.error().fault,
                         "event " + step.item.event_id + ": " + event.error().message};
        }
        bool done = false;
        pipeline_.assess({.tenant = options_.tenant,
                          .pack = pack,
                          .event = *std::move(event),
                          .received = loop_.now(),
                          .reply = [&done, this, number](pipeline::Reply reply) {
                              done = true;
                              const std::string text =
                                  reply.error ? reply.error->message : reply.body;
                              collector_.answer(number, {}, reply.error ? 400 : 200, text, {});
                          }});
        return wait(done, "event " + step.item.event_id);
    }

    Status outcome(const FeedStep& step) {
        TG_TRY(const JsonValue root, json_.parse(step.outcome_json));
        TG_TRY(Outcome outcome, parse_outcome(root));
        const std::string id = outcome.outcome_id;
        bool done = false;
        pipeline_.outcome(options_.tenant, std::move(outcome),
                          [&done, this](const pipeline::Reply& reply) {
                              done = true;
                              collector_.outcome_answer(reply.error ? 400 : 200);
                          });
        return wait(done, "outcome " + id);
    }

    const ReplayOptions& options_;
    pipeline::Pipeline& pipeline_;
    pipeline::VirtualLoop& loop_;
    ReplayCollector collector_;
    JsonDocument json_;
    bool began_ = false;
};

}  // namespace

Result<ReplayReport> replay_lockstep(const ReplayOptions& options) {
    TG_TRY(const auto feed, TrafficFeed::open(options.input, options.feed));
    TG_TRY(const auto pack, open_pack(options.policy));
    FaultSwitches faults;
    Metrics metrics;
    store::StoreOptions store_options;
    store_options.path = options.data;
    TG_TRY(const auto store, store::Store::open(store_options, faults, metrics));
    pipeline::VirtualLoop loop(EventTime{}, &faults);
    pipeline::PipelineOptions pipeline_options;
    pipeline_options.virtual_time = true;
    pipeline_options.build = kBuildVersion;
    TG_TRY(const auto pipeline, pipeline::Pipeline::open(pipeline_options, pack, *store, loop,
                                                         metrics, faults, nullptr));
    TG_TRY([[maybe_unused]] const auto known, pipeline->ensure_tenant(options.tenant));
    Lockstep lockstep(options, *pipeline, loop);
    const auto began = Steady::now();
    TG_TRY([[maybe_unused]] const auto ran, lockstep.run(*feed));
    ReplayReport report = lockstep.finish();
    report.seconds = std::chrono::duration<double>(Steady::now() - began).count();
    TG_TRY([[maybe_unused]] const auto drained, lockstep.drain());
    TG_TRY(const LogHash hash, log_hash(*store, options.tenant));
    report.mode = "lockstep";
    report.log_hash = hash.hex;
    report.outcomes_after_end = feed->waiting_outcomes();
    return report;
}

}  // namespace tollgate::apps
