// Maps faults to statuses and writes problem documents.
#include "server/error_map.h"

#include <algorithm>
#include <array>

#include "text/json_writer.h"

namespace tollgate::server {
namespace {

struct Title {
    std::string_view code;
    std::string_view text;
};
constexpr std::array kTitles{
    Title{"bad_input", "The request is wrong; sending it again will not help"},
    Title{"unauthorized", "A valid API key is needed"},
    Title{"forbidden", "The API key lacks the scope"},
    Title{"not_found", "There is no such thing"},
    Title{"conflict", "The id is taken by something else"},
    Title{"too_large", "The request is larger than allowed"},
    Title{"overloaded", "The server is at its limit; try again later"},
    Title{"timeout", "The time for this was used up"},
    Title{"corrupt", "Stored data failed a check"},
    Title{"internal", "The server failed"},
    Title{"bad_request", "The request is not well-formed HTTP"},
    Title{"unsupported_coding", "The transfer coding is not supported"},
    Title{"unsupported_media_type", "The content type is not accepted here"},
    Title{"method_not_allowed", "The method is not allowed here"},
    Title{"expectation_failed", "The expectation cannot be met"},
    Title{"header_too_large", "The headers are larger than allowed"},
    Title{"line_too_large", "The line is longer than allowed"},
    Title{"request_timeout", "The request did not arrive in time"},
    Title{"version_not_supported", "The HTTP version is not supported"},
    Title{"too_many_connections", "The server holds as many connections as it may"},
    Title{"draining", "The server is shutting down"},
};

bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// Top-level names of the request bodies; a message that begins with one names its field.
constexpr std::array<std::string_view, 24> kFields{
    "event_id", "event_type", "occurred_at", "account_id", "amount",     "counterparty",
    "channel",  "device",     "memo",        "parent_id",  "attributes", "outcome_id",
    "label",    "kind",       "known_at",    "note",       "currency",   "limit",
    "block",    "expires_at", "reason",      "files",      "value",      "policy"};

std::string field_of(std::string_view message) {
    constexpr std::string_view kUnknownField = "unknown field \"";
    if (message.starts_with(kUnknownField)) {
        const std::string_view rest = message.substr(kUnknownField.size());
        const std::size_t end = rest.find('"');
        return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end));
    }
    std::size_t size = 0;
    while (size < message.size() && name_char(message[size])) {
        ++size;
    }
    const std::string_view name = message.substr(0, size);
    const std::string_view top = name.substr(0, name.find('.'));
    const bool known = std::find(kFields.begin(), kFields.end(), top) != kFields.end();
    return known ? std::string(name) : std::string();
}

}  // namespace

int status_of(Fault fault) {
    switch (fault) {
        case Fault::kBadInput:
            return 400;
        case Fault::kUnauthorized:
            return 401;
        case Fault::kNotFound:
            return 404;
        case Fault::kConflict:
            return 409;
        case Fault::kTooLarge:
            return 413;
        case Fault::kOverloaded:
            return 503;
        case Fault::kTimeout:
            return 504;
        case Fault::kCorrupt:
        case Fault::kInternal:
            return 500;
    }
    return 500;
}

std::string_view code_of(Fault fault) {
    switch (fault) {
        case Fault::kBadInput:
            return "bad_input";
        case Fault::kUnauthorized:
            return "unauthorized";
        case Fault::kNotFound:
            return "not_found";
        case Fault::kConflict:
            return "conflict";
        case Fault::kTooLarge:
            return "too_large";
        case Fault::kOverloaded:
            return "overloaded";
        case Fault::kTimeout:
            return "timeout";
        case Fault::kCorrupt:
            return "corrupt";
        case Fault::kInternal:
            return "internal";
    }
    return "internal";
}

std::string_view title_of(std::string_view code) {
    const auto* found = std::find_if(kTitles.begin(), kTitles.end(),
                                     [code](const Title& t) { return t.code == code; });
    return found == kTitles.end() ? std::string_view("The server failed") : found->text;
}

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 417:
            return "Expectation Failed";
        case 431:
            return "Request Header Fields Too Large";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return status < 500 ? "Error" : "Internal Server Error";
    }
}

Problem problem_of(const Error& error) {
    Problem problem;
    problem.status = status_of(error.fault);
    problem.code = code_of(error.fault);
    problem.detail = error.message;
    problem.field = field_of(error.message);
    return problem;
}

void append_problem(std::string& out, const Problem& problem, std::size_t line) {
    JsonWriter json(out);
    json.begin_object();
    json.key("type");
    json.string("urn:tollgate:problem:" + std::string(problem.code));
    json.key("title");
    json.string(title_of(problem.code));
    json.key("status");
    json.integer(problem.status);
    json.key("code");
    json.string(problem.code);
    json.key("detail");
    json.string(problem.detail);
    if (!problem.field.empty()) {
        json.key("field");
        json.string(problem.field);
    }
    if (line > 0) {
        json.key("line");
        json.whole(line);
    }
    json.end_object();
}

}  // namespace tollgate::server
