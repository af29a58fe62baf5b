// Accepting connections and, when all places are taken, turning one away politely.
#include "server/listener.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <utility>

#include "base/log.h"

namespace tollgate::server {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr int kBacklog = 1'024;
constexpr std::chrono::milliseconds kAcceptPause{50};  // after EMFILE and the like

// One send without waiting: a fresh socket's buffer takes it. Then both sides are closed.
void turn_away(tcp::socket socket) {
    std::string body;
    append_problem(body, Problem{503, "too_many_connections",
                                 "all connections are in use; try again later", ""});
    const std::string text =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
        "Retry-After: 1\r\nConnection: close\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    ErrorCode code;
    socket.non_blocking(true, code);
    (void)socket.send(asio::buffer(text), 0, code);
    socket.shutdown(tcp::socket::shutdown_send, code);
    socket.close(code);
}

}  // namespace

struct Listener::Impl {
    Impl(AsioLoop& l, SessionHub& h, ListenerKind k, asio::ssl::context* t)
        : loop(l), hub(h), kind(k), tls(t), acceptor(l.context()) {}

    void accept() {
        acceptor.async_accept([this](const ErrorCode& code, tcp::socket socket) {
            if (!acceptor.is_open()) {
                return;
            }
            if (code) {
                log_event(Level::kWarn, "accept_failed",
                          {{"code", static_cast<std::int64_t>(code.value())}});
                pause = loop.call_at(loop.now() + kAcceptPause, [this] { accept(); });
                return;
            }
            admit(std::move(socket));
            accept();
        });
    }

    void admit(tcp::socket socket) {
        if (!hub.make_room()) {
            return turn_away(std::move(socket));
        }
        hub.open(tls == nullptr ? make_transport(std::move(socket))
                                : make_transport(std::move(socket), *tls),
                 kind);
    }

    AsioLoop& loop;
    SessionHub& hub;
    const ListenerKind kind;
    asio::ssl::context* tls;
    tcp::acceptor acceptor;
    pipeline::Loop::TimerId pause = 0;
};

Listener::Listener(AsioLoop& loop, SessionHub& hub, ListenerKind kind, asio::ssl::context* tls)
    : impl_(std::make_unique<Impl>(loop, hub, kind, tls)) {}

Listener::~Listener() {
    close();
}

Status Listener::listen(const HostPort& address) {
    const auto refuse = [&address](const ErrorCode& code) {
        return Error{Fault::kBadInput, "cannot listen on " + address.host + ":" +
                                           std::to_string(address.port) + ": " + code.message()};
    };
    ErrorCode code;
    const auto host = asio::ip::make_address(address.host, code);
    if (code) {
        return refuse(code);
    }
    const tcp::endpoint endpoint(host, address.port);
    auto& acceptor = impl_->acceptor;
    acceptor.open(endpoint.protocol(), code);
    if (!code) {
        acceptor.set_option(tcp::acceptor::reuse_address(true), code);
    }
    if (!code) {
        acceptor.bind(endpoint, code);
    }
    if (!code) {
        acceptor.listen(kBacklog, code);
    }
    if (code) {
        return refuse(code);
    }
    impl_->accept();
    return ok();
}

std::uint16_t Listener::port() const {
    ErrorCode code;
    return impl_->acceptor.local_endpoint(code).port();
}

void Listener::close() {
    ErrorCode code;
    impl_->loop.cancel(impl_->pause);
    impl_->acceptor.close(code);
}

Result<std::unique_ptr<asio::ssl::context>> make_tls(const std::string& certificate,
                                                     const std::string& key) {
    auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
    ErrorCode code;
    context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                             asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                             asio::ssl::context::no_tlsv1_1,
                         code);
    context->use_certificate_chain_file(certificate, code);
    if (code) {
        return Error{Fault::kBadInput,
                     "server.tls_cert: cannot use " + certificate + ": " + code.message()};
    }
    context->use_private_key_file(key, asio::ssl::context::pem, code);
    if (code) {
        return Error{Fault::kBadInput, "server.tls_key: cannot use " + key + ": " + code.message()};
    }
    return context;
}

}  // namespace tollgate::server
