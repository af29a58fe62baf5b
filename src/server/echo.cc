// Beast's own parser, serializer and stream, with nothing of ours between them.
#include "server/echo.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <csignal>
#include <memory>
#include <utility>

namespace tollgate::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// Owns itself until its connection ends: shared because two handlers in a row hold it, as in
// Beast's examples, which this measures.
class EchoSession : public std::enable_shared_from_this<EchoSession> {
  public:
    explicit EchoSession(tcp::socket socket) : stream_(std::move(socket)) {}

    void read() {
        request_ = {};
        http::async_read(stream_, buffer_, request_,
                         [self = shared_from_this()](const ErrorCode& code, std::size_t /*n*/) {
                             if (!code) {
                                 self->answer();
                             }
                         });
    }

  private:
    void answer() {
        response_ = {};
        response_.version(request_.version());
        response_.keep_alive(request_.keep_alive());
        response_.result(http::status::ok);
        response_.set(http::field::content_type, "application/json");
        response_.body() = std::move(request_.body());
        response_.prepare_payload();
        http::async_write(stream_, response_,
                          [self = shared_from_this()](const ErrorCode& code, std::size_t /*n*/) {
                              if (!code && self->response_.keep_alive()) {
                                  self->read();
                              }
                          });
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    http::response<http::string_body> response_;
};

void accept_next(tcp::acceptor& acceptor) {
    acceptor.async_accept([&acceptor](const ErrorCode& code, tcp::socket socket) {
        if (code == asio::error::operation_aborted) {
            return;
        }
        if (!code) {
            ErrorCode ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            std::make_shared<EchoSession>(std::move(socket))->read();
        }
        accept_next(acceptor);
    });
}

}  // namespace

Status run_echo(std::uint16_t port, const std::function<void(std::uint16_t)>& listening) {
    asio::io_context context{1};
    tcp::acceptor acceptor(context);
    const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
    ErrorCode code;
    acceptor.open(endpoint.protocol(), code);
    if (!code) {
        acceptor.bind(endpoint, code);
    }
    if (!code) {
        acceptor.listen(asio::socket_base::max_listen_connections, code);
    }
    if (code) {
        return Error{Fault::kBadInput,
                     "cannot listen on 127.0.0.1:" + std::to_string(port) + ": " + code.message()};
    }
    asio::signal_set signals(context);
    signals.add(SIGTERM, code);
    signals.add(SIGINT, code);
    signals.async_wait([&context](const ErrorCode& /*code*/, int /*number*/) { context.stop(); });
    accept_next(acceptor);
    listening(acceptor.local_endpoint(code).port());
    context.run();
    return ok();
}

}  // namespace tollgate::server
