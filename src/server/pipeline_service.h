// PipelineService: the Service of the routes over the decision loop.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "pipeline/loop.h"
#include "pipeline/pipeline.h"
#include "server/service.h"
#include "server/worker.h"
#include "text/json.h"

namespace tollgate::server {

// Loop thread only. Parses JSON into events with the tenant's active schema; `worker` compiles
// packs that are only validated; its work refers to the loop alone. The references outlive it.
class PipelineService final : public Service {
  public:
    PipelineService(pipeline::Pipeline& pipeline, pipeline::Loop& loop, Worker& worker);

    Status ensure_tenant(std::string_view tenant) override;
    void assess(std::string_view tenant, std::string_view json, Steady::time_point received,
                std::chrono::microseconds budget, AnswerFn answer) override;
    void outcome(std::string_view tenant, std::string_view json, AnswerFn answer) override;
    void get_assessment(std::string_view tenant, std::string_view id, AnswerFn answer) override;
    void get_account(std::string_view tenant, std::string_view id, AnswerFn answer) override;

    void validate_policy(const Caller& caller, PolicyFiles files, AnswerFn answer) override;
    void activate_policy(const Caller& caller, PolicyFiles files, AnswerFn answer) override;
    void rollback_policy(const Caller& caller, AnswerFn answer) override;
    void list_policies(const Caller& caller, AnswerFn answer) override;
    void change_limit(const Caller& caller, std::string_view account, std::string_view json,
                      AnswerFn answer) override;
    void change_block(const Caller& caller, std::string_view account, std::string_view json,
                      AnswerFn answer) override;

    void drain(std::function<void()> done) override;
    ServiceReadiness readiness() const override;
    std::string version_json(std::string_view tenant) const override;

  private:
    void change(const Caller& caller, AccountChange change, AnswerFn answer);

    pipeline::Pipeline& pipeline_;
    pipeline::Loop& loop_;
    Worker& worker_;
    JsonDocument document_;  // reused: no allocation after the first large bodies
};

// {"valid":true,"policy":hash,"name","rules","windows","diagnostics":[...]}, a diagnostic having
// "level","code","file","line","column","length","message" and "suggestion"; without a pack "valid"
// is false and the other four are null.
std::string diagnostics_json(const PolicyPack* pack, const std::vector<Diagnostic>& findings,
                             const Error* error);

}  // namespace tollgate::server
