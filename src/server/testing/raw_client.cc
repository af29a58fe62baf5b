// Sockets of the test client.
#include "server/testing/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "base/check.h"

namespace tollgate::server {

RawClient::RawClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{10, 0};
    (void)::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int done = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    TG_CHECK(done == 0, "connect to the server under test");
}

RawClient::~RawClient() {
    (void)::close(fd_);
}

bool RawClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

void RawClient::finish_sending() {
    (void)::shutdown(fd_, SHUT_WR);
}

bool RawClient::fill() {
    std::array<char, 65'536> bytes{};
    const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (n <= 0) {
        return false;
    }
    buffer_.append(bytes.data(), static_cast<std::size_t>(n));
    return true;
}

bool RawClient::at_end() {
    return buffer_.empty() && !fill();
}

bool RawClient::chunked_body(std::string& body) {
    for (;;) {
        std::size_t eol = 0;
        while ((eol = buffer_.find("\r\n")) == std::string::npos) {
            if (!fill()) {
                return false;
            }
        }
        const std::size_t size = std::strtoul(buffer_.c_str(), nullptr, 16);
        while (buffer_.size() < eol + 2 + size + 2) {
            if (!fill()) {
                return false;
            }
        }
        body.append(buffer_, eol + 2, size);
        buffer_.erase(0, eol + 2 + size + 2);
        if (size == 0) {
            return true;
        }
    }
}

std::optional<RawResponse> RawClient::receive(bool head) {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
        if (!fill()) {
            return std::nullopt;
        }
    }
    RawResponse out;
    out.status = std::atoi(buffer_.c_str() + std::string_view("HTTP/1.1 ").size());
    std::size_t at = buffer_.find("\r\n") + 2;
    while (at < end) {
        const std::size_t eol = buffer_.find("\r\n", at);
        const std::size_t colon = buffer_.find(": ", at);
        std::string name = buffer_.substr(at, colon - at);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        out.headers[name] = buffer_.substr(colon + 2, eol - colon - 2);
        at = eol + 2;
    }
    buffer_.erase(0, end + 4);
    if (out.headers.contains("transfer-encoding")) {
        out.whole = chunked_body(out.body);
        return out;
    }
    const auto length = out.headers.find("content-length");
    const std::size_t size =
        length == out.headers.end() || head ? 0 : std::strtoul(length->second.c_str(), nullptr, 10);
    while (buffer_.size() < size) {
        if (!fill()) {
            out.whole = false;
            break;
        }
    }
    out.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return out;
}

}  // namespace tollgate::server
