// Handlers: what each route does: who may call it, what it asks of the service, how it answers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/faults.h"
#include "base/metrics.h"
#include "pipeline/loop.h"
#include "server/config.h"
#include "server/exchange.h"
#include "server/keys.h"
#include "server/service.h"
#include "server/worker.h"

namespace tollgate::server {

// What the handlers are given; all of it outlives them.
struct HandlerParts {
    const ServerConfig& config;
    pipeline::Loop& loop;
    Service& service;
    Metrics& metrics;
    Worker& worker;
    FaultSwitches* faults = nullptr;  // null: /admin/faults is not served
    std::function<void()> drain;      // begins the drain; the process ends after it
};

// Loop thread only.
class Handlers {
  public:
    explicit Handlers(HandlerParts parts);

    void set_keys(KeyTable keys) { keys_ = std::move(keys); }
    const KeyTable& keys() const { return keys_; }
    void set_draining() { draining_ = true; }
    bool draining() const { return draining_; }

    // Decides on the headers: route, key, scope, content type, deadline. Fills the exchange or its
    // refusal. Reads no body.
    void admit(ListenerKind listener, Exchange& exchange) const;
    std::uint64_t body_limit(const Exchange& exchange) const;

    // Answers a complete request through `respond`, once, now or later.
    void handle(Exchange& exchange, Responder respond);
    // One line of a batch.
    void handle_line(const Exchange& exchange, std::string_view text, AnswerFn answer);

  private:
    void authorize(Exchange& exchange) const;
    void check_type(Exchange& exchange) const;
    void check_deadline(Exchange& exchange) const;
    void handle_public(Exchange& exchange, Responder respond);
    void handle_admin(Exchange& exchange, Responder respond);
    void upload_policy(Exchange& exchange, Responder respond);
    void ready(Responder respond) const;
    void render_metrics(const Exchange& exchange, Responder respond);
    void faults(const Exchange& exchange, Responder respond);

    HandlerParts parts_;
    KeyTable keys_;
    bool draining_ = false;
};

Response response_of(Answer&& answer);
// {"files":{"policy.toml":"...","rules/card.rules":"..."}} -> its files. At most 1,000.
Result<PolicyFiles> parse_policy_upload(std::string_view json, std::size_t max_bytes);
// Prometheus text without the series of other tenants. A tenant's name needs no escapes (keys.h).
std::string metrics_of_tenant(std::string_view text, std::string_view tenant);
// The switches as JSON, and setting those that a JSON object names; kBadInput names an unknown one.
std::string faults_json(const FaultSwitches& faults);
Status set_faults(FaultSwitches& faults, std::string_view json);

}  // namespace tollgate::server
