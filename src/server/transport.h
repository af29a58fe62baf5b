// Transport: the bytes of one connection, plain or TLS, behind one small interface.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <string_view>

namespace boost::asio::ssl {
class context;
}

namespace tollgate::server {

// Each begun operation ends in exactly one of these calls, from the loop, never from within the
// call that began it; also after close(), then with ok = false.
class TransportUser {
  public:
    virtual ~TransportUser() = default;
    virtual void on_ready(bool ok) = 0;
    virtual void on_read(std::size_t bytes, bool ok) = 0;
    virtual void on_written(bool ok) = 0;
};

// Loop thread only. At most one read and one write at a time.
class Transport {
  public:
    virtual ~Transport() = default;
    virtual void start(TransportUser& user) = 0;  // handshake; ends in on_ready
    virtual void read(char* data, std::size_t size) = 0;
    virtual void write(std::string_view first,
                       std::string_view second) = 0;  // stay valid till it ends
    // Tells the peer that nothing more will come. True when that is an operation of its own, which
    // ends in on_written and allows no read beside it (TLS).
    virtual bool shutdown_send() = 0;
    virtual void close() = 0;
    virtual bool tls() const = 0;
};

std::unique_ptr<Transport> make_transport(boost::asio::ip::tcp::socket socket);
std::unique_ptr<Transport> make_transport(boost::asio::ip::tcp::socket socket,
                                          boost::asio::ssl::context& context);

}  // namespace tollgate::server
