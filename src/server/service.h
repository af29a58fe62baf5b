// Service: what the routes need from the decision loop, so that the HTTP layer is tested without
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tollgate::server {

// Where an assessment's time went, microseconds, in the order it is spent.
struct AnswerTimes {
    std::int64_t parse = 0, windows = 0, rules = 0, queue = 0, tokenize = 0, encoder = 0,
                 policy = 0, store = 0, total = 0;
};

struct Answer {
    std::optional<Error> error;  // set: no body
    std::string body;            // JSON
    bool replayed = false;       // the answer to an earlier, equal request
    std::optional<AnswerTimes> times;
};
// Called once, on the loop's thread; maybe before the call that it answers returns.
using AnswerFn = std::function<void(Answer)>;

// Path and text of each file of a policy pack: {"policy.toml", "..."}.
using PolicyFiles = std::vector<std::pair<std::string, std::string>>;

// Who asks: both from the API key, never from the request.
struct Caller {
    std::string_view tenant;
    std::string_view key_id;  // for the audit trail of admin changes
};

struct ServiceReadiness {
    bool ready = false;
    std::vector<std::pair<std::string, std::string>> parts;
};

// Loop thread only. Views are read before the call returns.
class Service {
  public:
    virtual ~Service() = default;

    // A tenant's first key was seen; kOverloaded past the bound of tenants.
    virtual Status ensure_tenant(std::string_view tenant) = 0;

    virtual void assess(std::string_view tenant, std::string_view json, Steady::time_point received,
                        std::chrono::microseconds budget, AnswerFn answer) = 0;
    virtual void outcome(std::string_view tenant, std::string_view json, AnswerFn answer) = 0;
    virtual void get_assessment(std::string_view tenant, std::string_view id, AnswerFn answer) = 0;
    virtual void get_account(std::string_view tenant, std::string_view id, AnswerFn answer) = 0;

    virtual void validate_policy(const Caller& caller, PolicyFiles files, AnswerFn answer) = 0;
    virtual void activate_policy(const Caller& caller, PolicyFiles files, AnswerFn answer) = 0;
    virtual void rollback_policy(const Caller& caller, AnswerFn answer) = 0;
    virtual void list_policies(const Caller& caller, AnswerFn answer) = 0;
    // `json` empty: the limit or block is lifted.
    virtual void change_limit(const Caller& caller, std::string_view account, std::string_view json,
                              AnswerFn answer) = 0;
    virtual void change_block(const Caller& caller, std::string_view account, std::string_view json,
                              AnswerFn answer) = 0;

    virtual void drain(std::function<void()> done) = 0;
    virtual ServiceReadiness readiness() const = 0;
    virtual std::string version_json(std::string_view tenant) const = 0;
};

}  // namespace tollgate::server
