// Which route a request line names.
#include "server/routes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/utf8.h"

namespace tollgate::server {
namespace {

constexpr auto kApi = ListenerKind::kApi;
constexpr auto kAdmin = ListenerKind::kAdmin;
constexpr std::size_t kMaxId = 128;  // an id's bound everywhere

constexpr std::array kRoutes{
    Route{RouteId::kAssess, Method::kPost, "/v1/assessments", kApi, false, Scope::kAssess,
          BodyKind::kJson},
    Route{RouteId::kBatch, Method::kPost, "/v1/assessments:batch", kApi, false, Scope::kAssess,
          BodyKind::kLines},
    Route{RouteId::kGetAssessment, Method::kGet, "/v1/assessments/{id}", kApi, false, Scope::kRead,
          BodyKind::kNone},
    Route{RouteId::kGetAnalysis, Method::kGet, "/v1/analyses/{id}", kApi, false, Scope::kRead,
          BodyKind::kNone},
    Route{RouteId::kGetAccount, Method::kGet, "/v1/accounts/{id}", kApi, false, Scope::kRead,
          BodyKind::kNone},
    Route{RouteId::kOutcome, Method::kPost, "/v1/outcomes", kApi, false, Scope::kAssess,
          BodyKind::kJson},
    Route{RouteId::kHealth, Method::kGet, "/healthz", kApi, true, Scope::kRead, BodyKind::kNone},
    Route{RouteId::kReady, Method::kGet, "/readyz", kApi, false, Scope::kRead, BodyKind::kNone},
    Route{RouteId::kVersion, Method::kGet, "/version", kApi, false, Scope::kRead, BodyKind::kNone},
    Route{RouteId::kMetrics, Method::kGet, "/metrics", kApi, false, Scope::kRead, BodyKind::kNone},
    Route{RouteId::kPolicyList, Method::kGet, "/admin/policy", kAdmin, false, Scope::kAdmin,
          BodyKind::kNone},
    Route{RouteId::kPolicyValidate, Method::kPost, "/admin/policy:validate", kAdmin, false,
          Scope::kAdmin, BodyKind::kPolicy},
    Route{RouteId::kPolicyActivate, Method::kPost, "/admin/policy:activate", kAdmin, false,
          Scope::kAdmin, BodyKind::kPolicy},
    Route{RouteId::kPolicyRollback, Method::kPost, "/admin/policy:rollback", kAdmin, false,
          Scope::kAdmin, BodyKind::kNone},
    Route{RouteId::kSetLimit, Method::kPut, "/admin/accounts/{id}/limit", kAdmin, false,
          Scope::kAdmin, BodyKind::kJson},
    Route{RouteId::kDropLimit, Method::kDelete, "/admin/accounts/{id}/limit", kAdmin, false,
          Scope::kAdmin, BodyKind::kNone},
    Route{RouteId::kSetBlock, Method::kPut, "/admin/accounts/{id}/block", kAdmin, false,
          Scope::kAdmin, BodyKind::kJson},
    Route{RouteId::kDropBlock, Method::kDelete, "/admin/accounts/{id}/block", kAdmin, false,
          Scope::kAdmin, BodyKind::kNone},
    Route{RouteId::kGetFaults, Method::kGet, "/admin/faults", kAdmin, false, Scope::kAdmin,
          BodyKind::kNone},
    Route{RouteId::kSetFaults, Method::kPost, "/admin/faults", kAdmin, false, Scope::kAdmin,
          BodyKind::kJson},
    Route{RouteId::kDrain, Method::kPost, "/admin/drain", kAdmin, false, Scope::kAdmin,
          BodyKind::kNone},
};

int hex(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Percent-decoding; nullopt for a broken escape, for what is not UTF-8, for control characters and
// for an empty or overlong id.
std::optional<std::string> decode_id(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            const int high = i + 1 < text.size() ? hex(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex(text[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return std::nullopt;
            }
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F || out.size() >= kMaxId) {
            return std::nullopt;
        }
        out += c;
    }
    if (out.empty() || !is_valid_utf8(out)) {
        return std::nullopt;
    }
    return out;
}

// The {id} of `path` in `pattern` ("" for a pattern without one), nullopt when it does not match.
std::optional<std::string> match_path(std::string_view pattern, std::string_view path) {
    const std::size_t hole = pattern.find("{id}");
    if (hole == std::string_view::npos) {
        return pattern == path ? std::optional<std::string>("") : std::nullopt;
    }
    const std::string_view before = pattern.substr(0, hole);
    const std::string_view after = pattern.substr(hole + 4);
    if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
        !path.ends_with(after)) {
        return std::nullopt;
    }
    const std::string_view id =
        path.substr(before.size(), path.size() - before.size() - after.size());
    return id.find('/') == std::string_view::npos ? decode_id(id) : std::nullopt;
}

// The path of origin form ("/a?b") and absolute form ("http://host/a?b").
std::string_view path_of(std::string_view target) {
    if (!target.starts_with('/')) {
        const std::size_t scheme = target.find("://");
        const std::size_t slash =
            scheme == std::string_view::npos ? scheme : target.find('/', scheme + 3);
        target = slash == std::string_view::npos ? std::string_view() : target.substr(slash);
    }
    return target.substr(0, target.find('?'));
}

}  // namespace

std::span<const Route> routes() {
    return kRoutes;
}

RouteMatch match_route(ListenerKind listener, Method method, std::string_view target) {
    const std::string_view path = path_of(target);
    RouteMatch out;
    for (const Route& route : kRoutes) {
        if (route.listener != listener) {
            continue;
        }
        auto id = match_path(route.path, path);
        if (!id) {
            continue;
        }
        out.path_known = true;
        if (route.method == method) {
            out.route = &route;
            out.id = *std::move(id);
            return out;
        }
        out.allow += out.allow.empty() ? "" : ", ";
        out.allow += to_text(route.method);
        out.allow += route.method == Method::kGet ? ", HEAD" : "";
    }
    return out;
}

std::string_view to_text(Method method) {
    switch (method) {
        case Method::kGet:
            return "GET";
        case Method::kPost:
            return "POST";
        case Method::kPut:
            return "PUT";
        case Method::kDelete:
            return "DELETE";
        case Method::kOther:
            break;
    }
    return "?";
}

}  // namespace tollgate::server
