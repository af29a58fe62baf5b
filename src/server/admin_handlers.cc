// The admin routes: policy packs, account limits and blocks, drill switches, drain.
#include <array>
#include <atomic>
#include <utility>

#include "server/handlers.h"
#include "text/json.h"
#include "text/json_writer.h"
#include "text/utf8.h"

namespace tollgate::server {
namespace {

constexpr std::size_t kMaxPolicyFiles = 1'000;

struct NumberSwitch {
    std::string_view name;
    std::atomic<std::int64_t> FaultSwitches::*member;
    std::int64_t min;
    std::int64_t max;
};
struct FlagSwitch {
    std::string_view name;
    std::atomic<bool> FaultSwitches::*member;
};
constexpr std::int64_t kDay = 86'400'000'000;  // microseconds
constexpr std::array kNumbers{
    NumberSwitch{"store_delay_us", &FaultSwitches::store_delay_us, 0, 60'000'000},
    NumberSwitch{"scorer_delay_us", &FaultSwitches::scorer_delay_us, 0, 60'000'000},
    NumberSwitch{"clock_jump_us", &FaultSwitches::clock_jump_us, -366 * kDay, 366 * kDay},
};
constexpr std::array kFlags{
    FlagSwitch{"store_full", &FaultSwitches::store_full},
    FlagSwitch{"store_frozen", &FaultSwitches::store_frozen},
    FlagSwitch{"worker_frozen", &FaultSwitches::worker_frozen},
    FlagSwitch{"encoder_crash", &FaultSwitches::encoder_crash},
    FlagSwitch{"encoder_nan", &FaultSwitches::encoder_nan},
};

// One switch of an upload; applied only when `apply`, so that all are checked before any is set.
Status set_switch(FaultSwitches& faults, std::string_view name, const JsonValue& value,
                  bool apply) {
    for (const NumberSwitch& at : kNumbers) {
        if (at.name != name) {
            continue;
        }
        if (!value.is(JsonKind::kInteger) || value.integer() < at.min || value.integer() > at.max) {
            return Error{Fault::kBadInput, std::string(name) + " must be a whole number " +
                                               std::to_string(at.min) + ".." +
                                               std::to_string(at.max)};
        }
        if (apply) {
            (faults.*at.member).store(value.integer(), std::memory_order_relaxed);
        }
        return ok();
    }
    for (const FlagSwitch& at : kFlags) {
        if (at.name != name) {
            continue;
        }
        if (!value.is(JsonKind::kBool)) {
            return Error{Fault::kBadInput, std::string(name) + " must be true or false"};
        }
        if (apply) {
            (faults.*at.member).store(value.boolean(), std::memory_order_relaxed);
        }
        return ok();
    }
    return Error{Fault::kBadInput, "unknown field \"" + printable(name, 40) +
                                       "\"; the switches are those that GET /admin/faults shows"};
}

AnswerFn answer_with(Responder respond) {
    return [respond](Answer answer) { respond(response_of(std::move(answer))); };
}

Problem overloaded() {
    return Problem{503, "overloaded", "the background queue is full; try again later", ""};
}

}  // namespace

std::string faults_json(const FaultSwitches& faults) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    for (const NumberSwitch& at : kNumbers) {
        json.key(at.name);
        json.integer((faults.*at.member).load(std::memory_order_relaxed));
    }
    for (const FlagSwitch& at : kFlags) {
        json.key(at.name);
        json.boolean((faults.*at.member).load(std::memory_order_relaxed));
    }
    json.end_object();
    return out;
}

Status set_faults(FaultSwitches& faults, std::string_view json) {
    JsonDocument document({.max_bytes = 65'536, .max_depth = 4, .max_members = 64});
    TG_TRY(const JsonValue root, document.parse(json));
    if (!root.is(JsonKind::kObject)) {
        return Error{Fault::kBadInput, "the body must be a JSON object"};
    }
    for (const bool apply : {false, true}) {
        Status status = ok();
        (void)root.each_member([&](std::string_view name, const JsonValue& value) {
            status = set_switch(faults, name, value, apply);
            return status.has_value();
        });
        if (!status) {
            return status;
        }
    }
    return ok();
}

Result<PolicyFiles> parse_policy_upload(std::string_view json, std::size_t max_bytes) {
    JsonDocument document({.max_bytes = max_bytes, .max_depth = 4, .max_members = kMaxPolicyFiles});
    TG_TRY(const JsonValue root, document.parse(json));
    if (!root.is(JsonKind::kObject)) {
        return Error{Fault::kBadInput, "the body must be a JSON object with \"files\""};
    }
    Status status = ok();
    (void)root.each_member([&status](std::string_view name, const JsonValue& /*value*/) {
        if (name != "files") {
            status = Error{Fault::kBadInput,
                           "unknown field \"" + printable(name, 40) + "\"; only files is read"};
        }
        return status.has_value();
    });
    if (!status) {
        return std::move(status).error();
    }
    const auto list = root.find("files");
    if (!list || !list->is(JsonKind::kObject) || list->size() == 0) {
        return Error{Fault::kBadInput, "files must be an object of path and text, not empty"};
    }
    PolicyFiles files;
    (void)list->each_member([&](std::string_view path, const JsonValue& text) {
        if (text.is(JsonKind::kString)) {
            files.emplace_back(path, text.string());
        } else {
            status = Error{Fault::kBadInput, "files." + printable(path, 80) + " must be a text"};
        }
        return status.has_value();
    });
    if (!status) {
        return std::move(status).error();
    }
    return files;
}

void Handlers::handle_admin(Exchange& exchange, Responder respond) {
    Service& service = parts_.service;
    const Caller caller{exchange.tenant, exchange.key_id};
    switch (exchange.route->id) {
        case RouteId::kPolicyList:
            return service.list_policies(caller, answer_with(respond));
        case RouteId::kPolicyValidate:
        case RouteId::kPolicyActivate:
            return upload_policy(exchange, respond);
        case RouteId::kPolicyRollback:
            return service.rollback_policy(caller, answer_with(respond));
        case RouteId::kSetLimit:
        case RouteId::kSetBlock:
            if (exchange.body.empty()) {  // an empty text would lift it
                return respond(problem_response(
                    Problem{400, "bad_input", "the body must be a JSON object", ""}));
            }
            [[fallthrough]];
        case RouteId::kDropLimit:
        case RouteId::kDropBlock: {
            const bool limit = exchange.route->id == RouteId::kSetLimit ||
                               exchange.route->id == RouteId::kDropLimit;
            const bool drop = exchange.route->method == Method::kDelete;
            const std::string_view json = drop ? std::string_view() : exchange.body;
            return limit ? service.change_limit(caller, exchange.id, json, answer_with(respond))
                         : service.change_block(caller, exchange.id, json, answer_with(respond));
        }
        case RouteId::kGetFaults:
        case RouteId::kSetFaults:
            return faults(exchange, respond);
        case RouteId::kDrain: {
            Response out;
            out.status = 202;
            out.body = R"({"status":"draining"})";
            respond(std::move(out));
            return parts_.drain();
        }
        default:
            break;
    }
    respond(problem_response(Problem{500, "internal", "the route has no handler", ""}));
}

void Handlers::upload_policy(Exchange& exchange, Responder respond) {
    // Parsing 16 MiB takes tens of milliseconds: not on the io thread.
    const bool activate = exchange.route->id == RouteId::kPolicyActivate;
    const bool queued = parts_.worker.post([this, activate, respond, tenant = exchange.tenant,
                                            key_id = exchange.key_id,
                                            body = std::move(exchange.body)] {
        auto files = parse_policy_upload(body, parts_.config.max_policy_bytes);
        parts_.loop.post([this, activate, respond, tenant, key_id,
                          parsed = std::move(files)]() mutable {
            if (!parsed) {
                return respond(problem_response(problem_of(parsed.error())));
            }
            const Caller caller{tenant, key_id};
            if (activate) {
                parts_.service.activate_policy(caller, *std::move(parsed), answer_with(respond));
            } else {
                parts_.service.validate_policy(caller, *std::move(parsed), answer_with(respond));
            }
        });
    });
    if (!queued) {
        respond(problem_response(overloaded()));
    }
}

void Handlers::faults(const Exchange& exchange, Responder respond) {
    if (parts_.faults == nullptr) {
        return respond(problem_response(
            Problem{404, "not_found", "the server was started without --enable-faults", ""}));
    }
    if (exchange.route->id == RouteId::kSetFaults) {
        const Status status = set_faults(*parts_.faults, exchange.body);
        if (!status) {
            return respond(problem_response(problem_of(status.error())));
        }
    }
    Response out;
    out.body = faults_json(*parts_.faults);
    respond(std::move(out));
}

}  // namespace tollgate::server
