// FakeService: a Service for tests of the HTTP layer: counts calls, answers at once or when told.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "server/service.h"

namespace tollgate::server {

// Loop thread only. The answer to an assessment is {"echo":<the body>}; a body that is no JSON
// object is kBadInput "event_id ..."; "hold" in the body keeps it back until release().
class FakeService final : public Service {
  public:
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

    void release();  // answers what was held, newest first

    std::size_t assessments = 0;
    std::size_t outcomes = 0;
    std::size_t most_held = 0;
    std::string last_tenant;
    std::chrono::microseconds last_budget{0};
    PolicyFiles last_files;

  private:
    std::deque<std::pair<std::string, AnswerFn>> held_;
};

}  // namespace tollgate::server
