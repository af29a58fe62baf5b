// Listener: accepts connections of one address and hands them to the hub.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/asio_loop.h"
#include "server/config.h"
#include "server/session_hub.h"

namespace boost::asio::ssl {
class context;
}

namespace tollgate::server {

// TLS 1.2 and 1.3 with the operator's certificate. kBadInput names the file and OpenSSL's words.
Result<std::unique_ptr<boost::asio::ssl::context>> make_tls(const std::string& certificate,
                                                            const std::string& key);

// Loop thread only.
class Listener {
  public:
    // `tls` null: plain. The hub and the context outlive it.
    Listener(AsioLoop& loop, SessionHub& hub, ListenerKind kind, boost::asio::ssl::context* tls);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // kBadInput names the address and the system's words ("address already in use").
    Status listen(const HostPort& address);
    std::uint16_t port() const;
    void close();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate::server
