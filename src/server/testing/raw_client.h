// RawClient: a blocking test client that sends bytes as they are and reads HTTP responses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tollgate::server {

struct RawResponse {
    int status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;                            // chunks joined
    bool whole = true;                           // false: the connection ended within it
};

// Waits at most 10 s for anything, so that a hanging server fails a test instead of stopping it.
class RawClient {
  public:
    explicit RawClient(std::uint16_t port);
    ~RawClient();
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    bool send(std::string_view bytes);
    void finish_sending();
    // nullopt: the connection ended before a response began. `head`: a response to HEAD has no
    // body.
    std::optional<RawResponse> receive(bool head = false);
    bool at_end();  // the peer has closed and nothing is left to read

  private:
    bool fill();
    bool chunked_body(std::string& body);

    int fd_ = -1;
    std::string buffer_;
};

}  // namespace tollgate::server
