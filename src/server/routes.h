// The table of routes: method, path, scope, kind of body. docs/openapi.json is held against it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/keys.h"
#include "server/request_parser.h"

namespace tollgate::server {

enum class RouteId : std::uint8_t {
    kAssess,
    kBatch,
    kGetAssessment,
    kGetAnalysis,
    kGetAccount,
    kOutcome,
    kHealth,
    kReady,
    kVersion,
    kMetrics,
    kPolicyList,
    kPolicyValidate,
    kPolicyActivate,
    kPolicyRollback,
    kSetLimit,
    kDropLimit,
    kSetBlock,
    kDropBlock,
    kGetFaults,
    kSetFaults,
    kDrain,
};

enum class BodyKind : std::uint8_t { kNone, kJson, kLines, kPolicy };
enum class ListenerKind : std::uint8_t { kApi, kAdmin };

struct Route {
    RouteId id;
    Method method;
    std::string_view path;  // at most one "{id}" segment
    ListenerKind listener;
    bool keyless;  // /healthz alone
    Scope scope;
    BodyKind body;
};
std::span<const Route> routes();

struct RouteMatch {
    const Route* route = nullptr;
    bool path_known = false;  // some method is served there: 405 rather than 404
    std::string allow;        // "GET, HEAD, POST" of that path
    std::string id;           // decoded {id}; at most 128 bytes of UTF-8 without control characters
};
// `target` is the request line's: query and scheme are cut off.
RouteMatch match_route(ListenerKind listener, Method method, std::string_view target);

std::string_view to_text(Method method);

}  // namespace tollgate::server
