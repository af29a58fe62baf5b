// The test double of the decision loop.
#include "server/testing/fake_service.h"

#include <algorithm>

namespace tollgate::server {
namespace {

void say(const AnswerFn& answer, std::string body) {
    Answer out;
    out.body = std::move(body);
    answer(std::move(out));
}

}  // namespace

Status FakeService::ensure_tenant(std::string_view tenant) {
    last_tenant = tenant;
    return ok();
}

void FakeService::assess(std::string_view tenant, std::string_view json,
                         Steady::time_point /*received*/, std::chrono::microseconds budget,
                         AnswerFn answer) {
    ++assessments;
    last_tenant = tenant;
    last_budget = budget;
    if (!json.starts_with('{')) {
        Answer out;
        out.error = Error{Fault::kBadInput, "event_id is required; got " + std::string(json)};
        return answer(std::move(out));
    }
    if (json.find("hold") != std::string_view::npos) {
        held_.emplace_back(std::string(json), std::move(answer));
        most_held = std::max(most_held, held_.size());
        return;
    }
    Answer out;
    out.body = "{\"echo\":" + std::string(json) + "}";
    out.replayed = json.find("again") != std::string_view::npos;
    out.times = AnswerTimes{.parse = 12, .total = 1234};
    answer(std::move(out));
}

void FakeService::release() {
    while (!held_.empty()) {
        auto [json, answer] = std::move(held_.back());
        held_.pop_back();
        say(answer, "{\"echo\":" + json + "}");
    }
}

void FakeService::outcome(std::string_view tenant, std::string_view json, AnswerFn answer) {
    ++outcomes;
    last_tenant = tenant;
    say(answer, std::string(json));
}

void FakeService::get_assessment(std::string_view tenant, std::string_view id, AnswerFn answer) {
    last_tenant = tenant;
    if (id == "none") {
        Answer out;
        out.error = Error{Fault::kNotFound, "no assessment has the id none"};
        return answer(std::move(out));
    }
    say(answer, "{\"id\":\"" + std::string(id) + "\"}");
}

void FakeService::get_account(std::string_view tenant, std::string_view id, AnswerFn answer) {
    get_assessment(tenant, id, std::move(answer));
}

void FakeService::validate_policy(const Caller& caller, PolicyFiles files, AnswerFn answer) {
    last_tenant = caller.tenant;
    last_files = std::move(files);
    say(answer, R"({"valid":true})");
}

void FakeService::activate_policy(const Caller& caller, PolicyFiles files, AnswerFn answer) {
    validate_policy(caller, std::move(files), std::move(answer));
}

void FakeService::rollback_policy(const Caller& /*caller*/, AnswerFn answer) {
    say(answer, "{}");
}

void FakeService::list_policies(const Caller& /*caller*/, AnswerFn answer) {
    say(answer, "{}");
}

void FakeService::change_limit(const Caller& /*caller*/, std::string_view account,
                               std::string_view json, AnswerFn answer) {
    say(answer, "{\"account\":\"" + std::string(account) +
                    "\",\"size\":" + std::to_string(json.size()) + "}");
}

void FakeService::change_block(const Caller& caller, std::string_view account,
                               std::string_view json, AnswerFn answer) {
    change_limit(caller, account, json, std::move(answer));
}

void FakeService::drain(std::function<void()> done) {
    done();
}

ServiceReadiness FakeService::readiness() const {
    return {true, {{"fake", "ok"}}};
}

std::string FakeService::version_json(std::string_view /*tenant*/) const {
    return R"({"build":"test"})";
}

}  // namespace tollgate::server
