// Pipeline: construction, the background thread and the public face of the steps.
#include "pipeline/pipeline.h"

#include <utility>

#include "base/threads.h"
#include "pipeline/impl.h"
#include "text/json_writer.h"

namespace tollgate::pipeline {

Pipeline::Impl::Impl(const PipelineOptions& o, PackPtr fallback, store::Store& s, Loop& l,
                     Metrics& m, FaultSwitches& f, const Seams& seams)
    : options(o),
      fallback_pack(std::move(fallback)),
      store(s),
      loop(l),
      metrics(m),
      faults(f),
      model(seams.model),
      grey(seams.grey),
      started(l.now()),
      started_wall(l.wall()) {
    salts = options.virtual_time ? derived_salts("lockstep") : SaltFn(random_salt);
    const auto stage = [this](std::string_view name) {
        return metrics.histogram("tollgate_stage_seconds", "Time of one stage of an assessment.",
                                 {{"stage", name}});
    };
    stage_windows = stage("windows");
    stage_rules = stage("rules");
    stage_store = stage("store");
    stage_total = stage("total");
    in_flight =
        metrics.gauge("tollgate_assessments_in_flight", "Assessments admitted and not answered.");
    stage_queue = stage("queue");
    stage_encoder = stage("encoder");
    stage_takeover = stage("takeover");
    encoder_text_failed = metrics.counter("tollgate_encoder_text_failed_total",
                                          "Events whose encoder.j2 did not render.");
    text_cut = metrics.counter("tollgate_encoder_text_cut_total",
                               "Events whose text was longer than the encoder's input.");
    model_late = metrics.counter("tollgate_model_late_total",
                                 "Model answers that came after the rules had decided.");
    worker = std::jthread([this] {
        (void)enter_thread(ThreadRole::kBackground, "tg-upkeep");
        while (!work.closed() || work.size() > 0) {
            if (auto job = work.pop_for(std::chrono::milliseconds(500))) {
                (*job)();
            }
        }
    });
}

Pipeline::Impl::~Impl() {
    work.close();
    for (const Loop::TimerId timer : {upkeep_timer, drain_timer}) {
        if (timer != 0) {
            loop.cancel(timer);
        }
    }
    const std::unique_lock closing(gate->mutex);
    gate->closed = true;
}

Pipeline::Pipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::open(const PipelineOptions& options,
                                                 PackPtr fallback_pack, store::Store& store,
                                                 Loop& loop, Metrics& metrics,
                                                 FaultSwitches& faults, const Seams& seams) {
    TG_CHECK(fallback_pack != nullptr, "a pack is needed");
    auto impl = std::make_unique<Impl>(options, std::move(fallback_pack), store, loop, metrics,
                                       faults, seams);
    TG_TRY(const auto recovered, impl->recover_tenants());
    (void)recovered;
    impl->schedule_upkeep();
    return std::unique_ptr<Pipeline>(new Pipeline(std::move(impl)));
}

PackPtr Pipeline::pack_of(std::string_view tenant) const {
    const Tenant* found = impl_->find_tenant(tenant);
    return found == nullptr ? impl_->fallback_pack : found->pack;
}

void Pipeline::assess(AssessInput input) {
    impl_->assess(std::move(input));
}
void Pipeline::outcome(const std::string& tenant, Outcome outcome, ReplyFn reply) {
    impl_->outcome(tenant, std::move(outcome), std::move(reply));
}
void Pipeline::get_assessment(const std::string& tenant, const std::string& id, ReplyFn reply) {
    impl_->get_assessment(tenant, id, std::move(reply));
}
void Pipeline::get_account(const std::string& tenant, const std::string& account_id,
                           ReplyFn reply) {
    impl_->get_account(tenant, account_id, std::move(reply));
}
void Pipeline::activate_policy(const std::string& tenant, PackFiles files, const std::string& by,
                               ReplyFn reply) {
    impl_->activate_policy(tenant, std::move(files), by, std::move(reply));
}
void Pipeline::rollback_policy(const std::string& tenant, const std::string& by, ReplyFn reply) {
    impl_->rollback_policy(tenant, by, std::move(reply));
}
void Pipeline::list_policies(const std::string& tenant, ReplyFn reply) {
    impl_->list_policies(tenant, std::move(reply));
}
void Pipeline::change_account(const std::string& tenant, AccountChange change, ReplyFn reply) {
    impl_->change_account(tenant, std::move(change), std::move(reply));
}

Status Pipeline::ensure_tenant(const std::string& tenant) {
    TG_TRY(const Tenant* made, impl_->make_tenant(tenant));
    (void)made;
    return ok();
}

void Pipeline::snapshot(const std::string& tenant, std::function<void(Status)> done) {
    if (Tenant* found = impl_->find_tenant(tenant)) {
        impl_->snapshot(*found, std::move(done));
    } else {
        done(Error{Fault::kNotFound, "tenant " + tenant + " is not known"});
    }
}

void Pipeline::drain(std::function<void()> done) {
    impl_->draining = true;
    impl_->drained = std::move(done);
    impl_->force_drain_later();
    impl_->finish_drain_if_idle();
}
bool Pipeline::draining() const {
    return impl_->draining;
}
std::size_t Pipeline::in_flight() const {
    return impl_->flights.size();
}
const PipelineOptions& Pipeline::options() const {
    return impl_->options;
}

WindowStore* Pipeline::windows_of(std::string_view tenant) const {
    const Tenant* found = impl_->find_tenant(tenant);
    return found == nullptr ? nullptr : found->windows.get();
}

Readiness Pipeline::readiness() const {
    Readiness out;
    const store::StoreHealth health = impl_->store.health();
    const bool store_ok = !health.failing && health.oldest_wait < std::chrono::seconds(1);
    out.parts.emplace_back(
        "store",
        store_ok ? "ok"
                 : "degraded: " + (health.last_error.empty() ? "commits wait" : health.last_error));
    out.parts.emplace_back("journal", std::to_string(health.queued));
    out.parts.emplace_back("tenants", std::to_string(impl_->tenants.size()));
    out.parts.emplace_back("draining", impl_->draining ? "yes" : "no");
    out.parts.emplace_back("model", impl_->model == nullptr
                                        ? "none"
                                        : (impl_->model->state() == "ready" ? "" : "degraded: ") +
                                              std::string(impl_->model->state()));
    std::string on;
    const FaultSwitches& f = impl_->faults;
    const auto number = [&on](const char* name, std::int64_t value) {
        if (value != 0) {
            on += std::string(on.empty() ? "" : ",") + name + "=" + std::to_string(value);
        }
    };
    number("store_delay_us", f.store_delay_us.load(std::memory_order_relaxed));
    number("store_full", f.store_full.load(std::memory_order_relaxed) ? 1 : 0);
    number("store_frozen", f.store_frozen.load(std::memory_order_relaxed) ? 1 : 0);
    number("worker_frozen", f.worker_frozen.load(std::memory_order_relaxed) ? 1 : 0);
    number("scorer_delay_us", f.scorer_delay_us.load(std::memory_order_relaxed));
    number("encoder_crash", f.encoder_crash.load(std::memory_order_relaxed) ? 1 : 0);
    number("encoder_nan", f.encoder_nan.load(std::memory_order_relaxed) ? 1 : 0);
    number("clock_jump_us", f.clock_jump_us.load(std::memory_order_relaxed));
    out.parts.emplace_back("faults", on.empty() ? "none" : on);
    // A slow store degrades answers to "memory" but does not make the server unready.
    out.ready = !impl_->draining;
    return out;
}

std::string Pipeline::version_json(std::string_view tenant) const {
    const PackPtr pack = pack_of(tenant);
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    out.key("build");
    out.string(impl_->options.build);
    out.key("policy");
    out.string(pack->hash);
    out.key("policy_name");
    out.string(pack->policy.name);
    out.key("model");
    if (impl_->model == nullptr) {
        out.null();
    } else {
        out.string(impl_->model->profile().digest);
    }
    out.key("prompt");
    out.null();
    out.key("kernels");
    out.string(impl_->options.kernels);
    out.end_object();
    return body;
}

}  // namespace tollgate::pipeline
