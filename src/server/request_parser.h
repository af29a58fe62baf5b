// RequestParser: HTTP/1.1 requests from bytes, by Beast's parser with stricter rules for framing;
// it knows no sockets, so that the fuzzer drives exactly what the server runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/error_map.h"

namespace tollgate::server {

enum class Method : std::uint8_t { kGet, kPost, kPut, kDelete, kOther };

// What a route needs of a request line and headers. Reused: strings keep their capacity.
struct RequestHead {
    Method method = Method::kOther;
    bool head_only = false;  // HEAD: answered as GET without the body
    int version = 11;
    bool keep_alive = true;
    bool expect_continue = false;
    bool has_body = false;  // a body of more than 0 bytes, or chunked, follows
    std::optional<std::uint64_t> content_length;  // nullopt: chunked or none
    std::string target;
    std::string authorization;
    std::string content_type;
    std::optional<std::string> deadline_ms;  // X-Deadline-Ms
    void clear();
};

struct ParserLimits {
    std::uint32_t header_bytes = 16'384;
};

// Takes the body's bytes as they come, chunked or not. Called from put().
class BodySink {
  public:
    virtual ~BodySink() = default;
    virtual void on_body(std::string_view bytes) = 0;
};

// One request at a time: put() until done(), then next(). Rules beyond Beast's: exactly one
// Content-Length of digits alone; no Transfer-Encoding but `chunked` alone (501) and only in
// HTTP/1.1; one Host; HTTP/1.0 or 1.1; at most 100 fields; trailers are read and ignored.
class RequestParser {
  public:
    explicit RequestParser(const ParserLimits& limits);
    ~RequestParser();
    RequestParser(const RequestParser&) = delete;
    RequestParser& operator=(const RequestParser&) = delete;

    // Bytes consumed of `bytes`; those not consumed are given again with more behind them, or
    // belong to the next request. With `stop_at_header` it returns when the headers are complete.
    // Faults: fault() is set, and nothing more may be read from the connection.
    std::size_t put(std::string_view bytes, bool stop_at_header, BodySink& sink);

    bool started() const;  // any byte of this request was seen
    bool header_done() const;
    bool done() const;
    const std::optional<Problem>& fault() const;
    const RequestHead& head() const;
    // The route's limit; a declared length beyond it is a fault at once (413).
    void set_body_limit(std::uint64_t bytes);
    void next();  // ready for the following request

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate::server
