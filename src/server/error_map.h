// The one place where a Fault becomes an HTTP status, and an error becomes an RFC 9457 problem
// document.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tollgate::server {

// A refusal as the client sees it. `code` is stable: programs branch on it.
struct Problem {
    int status = 500;
    std::string_view code = "internal";
    std::string detail;  // what was wrong, the value, the allowed range
    std::string field;   // the member or header at fault; empty when none can be named
};

int status_of(Fault fault);
std::string_view code_of(Fault fault);
std::string_view title_of(std::string_view code);  // a short sentence, the same for every case
std::string_view reason_of(int status);            // "Not Found"

// The client's view of an Error; its `detail` stays with the log. The field is the dotted name a
// message begins with ("amount.value \"1,5\" is ...") or names as `unknown field "x"`.
Problem problem_of(const Error& error);

// {"type","title","status","code","detail","field"}; `line` > 0 adds the batch line it is about.
// Always valid JSON, whatever bytes the detail holds.
void append_problem(std::string& out, const Problem& problem, std::size_t line = 0);

}  // namespace tollgate::server
