// The routes' questions, put to the pipeline.
#include "server/pipeline_service.h"

#include <array>
#include <memory>
#include <utility>

#include "decision/event_json.h"
#include "decision/json_fields.h"
#include "decision/pack.h"

namespace tollgate::server {
namespace {

constexpr std::size_t kMaxReason = 512;
constexpr JsonLimits kBodyLimits{.max_bytes = 16U << 20, .max_depth = 64, .max_members = 4'096};

Answer refusal(Error error) {
    Answer out;
    out.error = std::move(error);
    return out;
}

AnswerTimes times_of(const pipeline::StageTimes& t) {
    return {t.parse,   t.windows, t.rules, t.queue, t.tokenize,
            t.encoder, t.policy,  t.store, t.total};
}

// `timed`: the reply is an assessment's and its times are shown.
pipeline::ReplyFn reply_to(AnswerFn answer, bool timed = false) {
    return [answer = std::move(answer), timed](pipeline::Reply reply) {
        Answer out;
        out.error = std::move(reply.error);
        out.body = std::move(reply.body);
        out.replayed = reply.replayed;
        if (timed && !out.error) {
            out.times = times_of(reply.times);
        }
        answer(std::move(out));
    };
}

PackFiles pack_files(PolicyFiles&& files) {
    PackFiles out;
    for (auto& [path, text] : files) {
        out.insert_or_assign(path, std::move(text));
    }
    return out;
}

// What a limit or block may say: reason and expiry, and of a limit the amount.
struct ChangeBody {
    std::optional<Money> amount;
    std::optional<EventTime> expires_at;
    std::string reason;
};
Result<ChangeBody> change_body(JsonDocument& document, std::string_view json, bool limit) {
    static constexpr std::array<std::string_view, 3> kLimit{"amount", "expires_at", "reason"};
    static constexpr std::array<std::string_view, 2> kBlock{"expires_at", "reason"};
    static constexpr std::array<std::string_view, 2> kAmount{"value", "currency"};
    TG_TRY(const JsonValue root, document.parse(json));
    TG_TRY(const JsonMembers members, json_members(root, ""));
    TG_TRY([[maybe_unused]] const auto known,
           limit ? members.only(kLimit, "a limit") : members.only(kBlock, "a block"));
    ChangeBody out;
    if (limit) {
        TG_TRY(const JsonValue amount, members.need("amount"));
        TG_TRY(const JsonMembers parts, json_members(amount, "amount"));
        TG_TRY([[maybe_unused]] const auto only, parts.only(kAmount, "an amount"));
        TG_TRY(const std::string value, required_text(parts, "value", kIdBounds));
        TG_TRY(const std::string code, required_text(parts, "currency", kIdBounds));
        TG_TRY(const Currency currency, currency_of(code));
        TG_TRY(out.amount, parse_money("amount.value", value, currency));
    }
    TG_TRY(out.expires_at, optional_time(members, "expires_at"));
    TG_TRY(auto reason, optional_text(members, "reason", TextBounds{1, kMaxReason, false}));
    out.reason = reason.value_or("");
    return out;
}

void write_diagnostic(JsonWriter& json, const Diagnostic& finding) {
    json.begin_object();
    json.key("level");
    json.string(finding.level == Diagnostic::Level::kError ? "error" : "warning");
    json.key("code");
    json.string(finding.code);
    json.key("file");
    json.string(finding.file);
    json.key("line");
    json.integer(finding.line);
    json.key("column");
    json.integer(finding.column);
    json.key("length");
    json.integer(finding.length);
    json.key("message");
    json.string(finding.message);
    json.key("suggestion");
    json.string(finding.suggestion);
    json.end_object();
}

}  // namespace

std::string diagnostics_json(const PolicyPack* pack, const std::vector<Diagnostic>& findings,
                             const Error* error) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    json.key("valid");
    json.boolean(pack != nullptr);
    json.key("policy");
    pack != nullptr ? json.string(pack->hash) : json.null();
    json.key("name");
    pack != nullptr ? json.string(pack->policy.name) : json.null();
    json.key("rules");
    pack != nullptr ? json.whole(pack->rules->rules.size()) : json.null();
    json.key("windows");
    pack != nullptr ? json.whole(pack->rules->plan.windows.size()) : json.null();
    json.key("diagnostics");
    json.begin_array();
    for (const Diagnostic& finding : findings) {
        write_diagnostic(json, finding);
    }
    if (findings.empty() && error != nullptr) {  // refused before the compiler saw it
        Diagnostic finding;
        finding.code = "pack";
        finding.message = error->message;
        write_diagnostic(json, finding);
    }
    json.end_array();
    json.end_object();
    return out;
}

PipelineService::PipelineService(pipeline::Pipeline& pipeline, pipeline::Loop& loop, Worker& worker)
    : pipeline_(pipeline), loop_(loop), worker_(worker), document_(kBodyLimits) {}

Status PipelineService::ensure_tenant(std::string_view tenant) {
    return pipeline_.ensure_tenant(std::string(tenant));
}

void PipelineService::assess(std::string_view tenant, std::string_view json,
                             Steady::time_point received, std::chrono::microseconds budget,
                             AnswerFn answer) {
    const auto begin = loop_.now();
    const auto root = document_.parse(json);
    if (!root) {
        return answer(refusal(root.error()));
    }
    pipeline::PackPtr pack = pipeline_.pack_of(tenant);
    auto event = parse_event(*root, pack->schema());
    if (!event) {
        return answer(refusal(event.error()));
    }
    pipeline::AssessInput input;
    input.tenant = std::string(tenant);
    input.pack = std::move(pack);
    input.event = *std::move(event);
    input.received = received;
    input.budget = budget;
    input.parse_us =
        std::chrono::duration_cast<std::chrono::microseconds>(loop_.now() - begin).count();
    input.reply = reply_to(std::move(answer), true);
    pipeline_.assess(std::move(input));
}

void PipelineService::outcome(std::string_view tenant, std::string_view json, AnswerFn answer) {
    const auto root = document_.parse(json);
    if (!root) {
        return answer(refusal(root.error()));
    }
    auto outcome = parse_outcome(*root);
    if (!outcome) {
        return answer(refusal(outcome.error()));
    }
    pipeline_.outcome(std::string(tenant), *std::move(outcome), reply_to(std::move(answer)));
}

void PipelineService::get_assessment(std::string_view tenant, std::string_view id,
                                     AnswerFn answer) {
    pipeline_.get_assessment(std::string(tenant), std::string(id), reply_to(std::move(answer)));
}

void PipelineService::get_account(std::string_view tenant, std::string_view id, AnswerFn answer) {
    pipeline_.get_account(std::string(tenant), std::string(id), reply_to(std::move(answer)));
}

void PipelineService::validate_policy(const Caller& /*caller*/, PolicyFiles files,
                                      AnswerFn answer) {
    // The answer is copied into the work: a full queue drops the work, and the refusal needs it.
    const bool queued = worker_.post([loop = &loop_, answer, packed = pack_files(std::move(files)),
                                      now = loop_.wall()]() mutable {
        std::vector<Diagnostic> findings;
        const auto pack = load_pack(std::move(packed), findings, now);
        Answer out;
        out.body = diagnostics_json(pack ? pack->get() : nullptr, findings,
                                    pack ? nullptr : &pack.error());
        loop->post([answer, out]() mutable { answer(std::move(out)); });
    });
    if (!queued) {
        answer(refusal(Error{Fault::kOverloaded, "too many administrative tasks are waiting"}));
    }
}

void PipelineService::activate_policy(const Caller& caller, PolicyFiles files, AnswerFn answer) {
    pipeline_.activate_policy(std::string(caller.tenant), pack_files(std::move(files)),
                              std::string(caller.key_id), reply_to(std::move(answer)));
}

void PipelineService::rollback_policy(const Caller& caller, AnswerFn answer) {
    pipeline_.rollback_policy(std::string(caller.tenant), std::string(caller.key_id),
                              reply_to(std::move(answer)));
}

void PipelineService::list_policies(const Caller& caller, AnswerFn answer) {
    pipeline_.list_policies(std::string(caller.tenant), reply_to(std::move(answer)));
}

void PipelineService::change_limit(const Caller& caller, std::string_view account,
                                   std::string_view json, AnswerFn answer) {
    AccountChange made;
    made.account_id = std::string(account);
    made.action = AccountAction::kClearLimit;
    if (!json.empty()) {
        auto body = change_body(document_, json, true);
        if (!body) {
            return answer(refusal(body.error()));
        }
        made.action = AccountAction::kSetLimit;
        made.amount = body->amount;
        made.expires_at = body->expires_at;
        made.reason = std::move(body->reason);
    }
    change(caller, std::move(made), std::move(answer));
}

void PipelineService::change_block(const Caller& caller, std::string_view account,
                                   std::string_view json, AnswerFn answer) {
    AccountChange made;
    made.account_id = std::string(account);
    made.action = AccountAction::kUnblock;
    if (!json.empty()) {
        auto body = change_body(document_, json, false);
        if (!body) {
            return answer(refusal(body.error()));
        }
        made.action = AccountAction::kBlock;
        made.expires_at = body->expires_at;
        made.reason = std::move(body->reason);
    }
    change(caller, std::move(made), std::move(answer));
}

void PipelineService::change(const Caller& caller, AccountChange change, AnswerFn answer) {
    change.set_by = std::string(caller.key_id);
    pipeline_.change_account(std::string(caller.tenant), std::move(change),
                             reply_to(std::move(answer)));
}

void PipelineService::drain(std::function<void()> done) {
    pipeline_.drain(std::move(done));
}

ServiceReadiness PipelineService::readiness() const {
    pipeline::Readiness state = pipeline_.readiness();
    return {state.ready, std::move(state.parts)};
}

std::string PipelineService::version_json(std::string_view tenant) const {
    return pipeline_.version_json(tenant);
}

}  // namespace tollgate::server
