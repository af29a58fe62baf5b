// Exchange: one request and its answer while a connection works on it, and the types that pass
// between the connection, the routes and the handlers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/error_map.h"
#include "server/request_parser.h"
#include "server/routes.h"

namespace tollgate::server {

struct Response {
    int status = 200;
    std::string_view content_type = "application/json";
    std::string headers;  // further lines, each ending in CRLF
    std::string body;
    bool close = false;
};

// A connection's name: slot and generation, so that an answer to a closed connection is dropped.
enum class SessionId : std::uint64_t {};

// Where answers go. Loop thread only.
class AnswerTarget {
  public:
    virtual ~AnswerTarget() = default;
    virtual void respond(SessionId id, Response&& response) = 0;
};
// Copied into the functions that answer later; fits std::function's own buffer.
struct Responder {
    AnswerTarget* target = nullptr;
    SessionId id{};
    void operator()(Response&& response) const { target->respond(id, std::move(response)); }
};

struct Exchange {
    RequestHead head;
    const Route* route = nullptr;  // nullptr: none matched
    std::string tenant;            // from the key
    bool is_admin = false;         // the key has the scope admin
    std::string key_id;
    std::string id;                       // the path's {id}
    std::chrono::microseconds budget{0};  // X-Deadline-Ms; 0: the policy's
    std::optional<Problem> refusal;  // decided on the headers; the body is read past and dropped
    std::string refusal_headers;
    std::string body;
    Steady::time_point received;  // the last body byte was read
};

Response problem_response(const Problem& problem);

}  // namespace tollgate::server
