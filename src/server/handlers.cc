// The routes' work.
#include "server/handlers.h"

#include <charconv>
#include <utility>

#include "base/log.h"
#include "text/json_writer.h"
#include "text/utf8.h"

namespace tollgate::server {
namespace {

// The media type of a Content-Type, in lower case, without parameters.
std::string media_type(std::string_view text) {
    text = text.substr(0, text.find(';'));
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
        text.remove_suffix(1);
    }
    std::string out(text.substr(0, 100));
    for (char& c : out) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    return out;
}

bool accepted_type(BodyKind body, std::string_view type) {
    if (type == "application/json") {
        return true;
    }
    return body == BodyKind::kLines &&
           (type == "application/x-ndjson" || type == "application/ndjson" ||
            type == "application/jsonl");
}

// The token of "Bearer TOKEN"; the scheme's case does not matter.
std::string_view bearer(std::string_view value) {
    constexpr std::string_view kScheme = "bearer ";
    if (value.size() <= kScheme.size()) {
        return {};
    }
    for (std::size_t i = 0; i < kScheme.size(); ++i) {
        const char c = value[i];
        if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != kScheme[i]) {
            return {};
        }
    }
    value.remove_prefix(kScheme.size());
    while (value.starts_with(' ')) {
        value.remove_prefix(1);
    }
    return value;
}

std::string_view scope_name(Scope scope) {
    switch (scope) {
        case Scope::kAssess:
            return "assess";
        case Scope::kChat:
            return "chat";
        case Scope::kRead:
            return "read";
        case Scope::kAdmin:
            break;
    }
    return "admin";
}

void append_millis(std::string& out, std::string_view name, std::int64_t micros) {
    out += out.ends_with(": ") ? "" : ", ";
    out += name;
    out += ";dur=";
    out += std::to_string(micros / 1000);
    out += '.';
    const std::string rest = std::to_string(1000 + micros % 1000);
    out.append(rest, 1, 3);
}

std::string server_timing(const AnswerTimes& t) {
    std::string out = "Server-Timing: ";
    append_millis(out, "parse", t.parse);
    append_millis(out, "windows", t.windows);
    append_millis(out, "rules", t.rules);
    append_millis(out, "queue", t.queue);
    append_millis(out, "tokenize", t.tokenize);
    append_millis(out, "encoder", t.encoder);
    append_millis(out, "policy", t.policy);
    append_millis(out, "store", t.store);
    append_millis(out, "total", t.total);
    out += "\r\n";
    return out;
}

AnswerFn answer_with(Responder respond) {
    return [respond](Answer answer) { respond(response_of(std::move(answer))); };
}

}  // namespace

Response problem_response(const Problem& problem) {
    Response out;
    out.status = problem.status;
    out.content_type = "application/problem+json";
    append_problem(out.body, problem);
    if (problem.status == 401) {
        out.headers = "WWW-Authenticate: Bearer\r\n";
    }
    return out;
}

Response response_of(Answer&& answer) {
    if (answer.error) {
        const Problem problem = problem_of(*answer.error);
        if (problem.status >= 500) {
            log_event(Level::kError, "request_failed",
                      {{"code", problem.code},
                       {"message", std::string_view(answer.error->message)},
                       {"detail", std::string_view(answer.error->detail)}});
        }
        return problem_response(problem);
    }
    Response out;
    out.body = std::move(answer.body);
    if (answer.replayed) {
        out.headers = "Idempotency-Replayed: true\r\n";
    }
    if (answer.times) {
        out.headers += server_timing(*answer.times);
    }
    return out;
}

Handlers::Handlers(HandlerParts parts) : parts_(std::move(parts)) {}

void Handlers::admit(ListenerKind listener, Exchange& exchange) const {
    RouteMatch match = match_route(listener, exchange.head.method, exchange.head.target);
    exchange.route = match.route;
    if (match.route == nullptr) {
        const std::string path = printable(exchange.head.target, 120);
        if (!match.path_known) {
            exchange.refusal = Problem{404, "not_found", "no route is served at " + path, ""};
            return;
        }
        exchange.refusal =
            Problem{405, "method_not_allowed", path + " answers " + match.allow + " only", ""};
        exchange.refusal_headers = "Allow: " + match.allow + "\r\n";
        return;
    }
    exchange.id = std::move(match.id);
    if (!match.route->keyless) {
        authorize(exchange);
    }
    if (!exchange.refusal) {
        check_type(exchange);
    }
    if (!exchange.refusal) {
        check_deadline(exchange);
    }
}

void Handlers::authorize(Exchange& exchange) const {
    const std::string_view token = bearer(exchange.head.authorization);
    const Key* key = token.empty() ? nullptr : keys_.find(token, parts_.loop.wall());
    if (key == nullptr) {
        exchange.refusal = Problem{401, "unauthorized",
                                   token.empty() ? "the header Authorization: Bearer KEY is needed"
                                                 : "the key is unknown, expired or revoked",
                                   "Authorization"};
        return;
    }
    if (!has_scope(key->scopes, exchange.route->scope)) {
        exchange.refusal =
            Problem{403, "forbidden",
                    "the key has the scopes " + to_text(key->scopes) + "; this route needs " +
                        std::string(scope_name(exchange.route->scope)),
                    "Authorization"};
        return;
    }
    exchange.tenant = key->tenant;
    exchange.is_admin = has_scope(key->scopes, Scope::kAdmin);
    exchange.key_id = key->id;
}

void Handlers::check_type(Exchange& exchange) const {
    // A missing Content-Type is taken as the route's own; a wrong one is refused.
    const BodyKind body = exchange.route->body;
    if (body == BodyKind::kNone || exchange.head.content_type.empty()) {
        return;
    }
    const std::string type = media_type(exchange.head.content_type);
    if (!accepted_type(body, type)) {
        exchange.refusal =
            Problem{415, "unsupported_media_type",
                    "Content-Type is \"" + printable(type, 60) + "\"; " +
                        (body == BodyKind::kLines ? "application/x-ndjson or " : "") +
                        "application/json is needed",
                    "Content-Type"};
        return;
    }
    if (body == BodyKind::kLines && exchange.head.version == 10) {
        exchange.refusal = Problem{505, "version_not_supported", "a batch needs HTTP/1.1", ""};
    }
}

void Handlers::check_deadline(Exchange& exchange) const {
    if (!exchange.head.deadline_ms) {
        return;
    }
    const std::string& text = *exchange.head.deadline_ms;
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = fault == std::errc{} && end == text.data() + text.size();
    if (!whole || value < 1 || value > parts_.config.max_deadline_ms) {
        exchange.refusal =
            Problem{400, "bad_input",
                    "X-Deadline-Ms is \"" + printable(text, 40) + "\"; a whole number 1.." +
                        std::to_string(parts_.config.max_deadline_ms) + " is needed",
                    "X-Deadline-Ms"};
        return;
    }
    exchange.budget = std::chrono::milliseconds(value);
}

std::uint64_t Handlers::body_limit(const Exchange& exchange) const {
    if (exchange.refusal || exchange.route == nullptr) {
        return parts_.config.max_body_bytes;
    }
    switch (exchange.route->body) {
        case BodyKind::kLines:
            return parts_.config.batch_max_bytes;
        case BodyKind::kPolicy:
            return parts_.config.max_policy_bytes;
        case BodyKind::kNone:
        case BodyKind::kJson:
            break;
    }
    return parts_.config.max_body_bytes;
}

void Handlers::handle(Exchange& exchange, Responder respond) {
    if (exchange.refusal) {
        Response out = problem_response(*exchange.refusal);
        out.headers += exchange.refusal_headers;
        respond(std::move(out));
        return;
    }
    if (exchange.route->listener == ListenerKind::kAdmin) {
        handle_admin(exchange, respond);
    } else {
        handle_public(exchange, respond);
    }
}

void Handlers::handle_line(const Exchange& exchange, std::string_view text, AnswerFn answer) {
    parts_.service.assess(exchange.tenant, text, parts_.loop.now(), exchange.budget,
                          std::move(answer));
}

void Handlers::handle_public(Exchange& exchange, Responder respond) {
    Service& service = parts_.service;
    switch (exchange.route->id) {
        case RouteId::kAssess:
            return service.assess(exchange.tenant, exchange.body, exchange.received,
                                  exchange.budget, answer_with(respond));
        case RouteId::kOutcome:
            return service.outcome(exchange.tenant, exchange.body, answer_with(respond));
        case RouteId::kGetAssessment:
            return service.get_assessment(exchange.tenant, exchange.id, answer_with(respond));
        case RouteId::kGetAccount:
            return service.get_account(exchange.tenant, exchange.id, answer_with(respond));
        case RouteId::kGetAnalysis:
            return respond(
                problem_response(Problem{404, "not_found", "no analysis has this id", "id"}));
        case RouteId::kHealth: {
            // That this line runs says that the io thread is alive.
            Response out;
            out.body = R"({"status":"ok"})";
            return respond(std::move(out));
        }
        case RouteId::kReady:
            return ready(respond);
        case RouteId::kVersion: {
            Response out;
            out.body = service.version_json(exchange.tenant);
            return respond(std::move(out));
        }
        case RouteId::kMetrics:
            return render_metrics(exchange, respond);
        default:
            break;
    }
    respond(problem_response(Problem{500, "internal", "the route has no handler", ""}));
}

void Handlers::ready(Responder respond) const {
    const ServiceReadiness state = parts_.service.readiness();
    const bool ready = state.ready && !draining_;
    Response out;
    out.status = ready ? 200 : 503;
    JsonWriter json(out.body);
    json.begin_object();
    json.key("ready");
    json.boolean(ready);
    json.key("parts");
    json.begin_object();
    json.key("server");
    json.string(draining_ ? "draining" : "ok");
    for (const auto& [name, text] : state.parts) {
        json.key(name);
        json.string(text);
    }
    json.end_object();
    json.end_object();
    respond(std::move(out));
}

// A key without the scope admin sees the process's figures and its own tenant's.
void Handlers::render_metrics(const Exchange& exchange, Responder respond) {
    const std::string tenant = exchange.is_admin ? std::string() : exchange.tenant;
    const bool queued = parts_.worker.post([this, tenant, respond] {
        std::string rendered = parts_.metrics.render();
        if (!tenant.empty()) {
            rendered = metrics_of_tenant(rendered, tenant);
        }
        parts_.loop.post([respond, text = std::move(rendered)]() mutable {
            Response out;
            out.content_type = "text/plain; version=0.0.4; charset=utf-8";
            out.body = std::move(text);
            respond(std::move(out));
        });
    });
    if (!queued) {
        respond(problem_response(
            Problem{503, "overloaded", "the background queue is full; try again later", ""}));
    }
}

}  // namespace tollgate::server
