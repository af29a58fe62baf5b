// Plain and TLS connections over Asio.
#include "server/transport.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <type_traits>
#include <utility>

namespace tollgate::server {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

template <class Stream>
class StreamTransport final : public Transport {
    static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  public:
    template <class... Args>
    explicit StreamTransport(Args&&... args) : stream_(std::forward<Args>(args)...) {}

    void start(TransportUser& user) override {
        user_ = &user;
        ErrorCode code;
        socket().set_option(tcp::no_delay(true), code);
        if constexpr (kTls) {
            stream_.async_handshake(asio::ssl::stream_base::server,
                                    [this](const ErrorCode& fault) { user_->on_ready(!fault); });
        } else {
            asio::post(stream_.get_executor(), [this] { user_->on_ready(true); });
        }
    }

    void read(char* data, std::size_t size) override {
        stream_.async_read_some(
            asio::buffer(data, size),
            [this](const ErrorCode& fault, std::size_t bytes) { user_->on_read(bytes, !fault); });
    }

    void write(std::string_view first, std::string_view second) override {
        const std::array<asio::const_buffer, 2> parts{asio::buffer(first.data(), first.size()),
                                                      asio::buffer(second.data(), second.size())};
        asio::async_write(stream_, parts, [this](const ErrorCode& fault, std::size_t /*bytes*/) {
            user_->on_written(!fault);
        });
    }

    bool shutdown_send() override {
        if constexpr (kTls) {
            stream_.async_shutdown([this](const ErrorCode& fault) { user_->on_written(!fault); });
            return true;
        }
        ErrorCode code;
        socket().shutdown(tcp::socket::shutdown_send, code);
        return false;
    }

    void close() override {
        ErrorCode code;
        socket().close(code);
    }

    bool tls() const override { return kTls; }

  private:
    tcp::socket& socket() {
        if constexpr (kTls) {
            return stream_.next_layer();
        } else {
            return stream_;
        }
    }

    Stream stream_;
    TransportUser* user_ = nullptr;
};

}  // namespace

std::unique_ptr<Transport> make_transport(tcp::socket socket) {
    return std::make_unique<StreamTransport<tcp::socket>>(std::move(socket));
}

std::unique_ptr<Transport> make_transport(tcp::socket socket, asio::ssl::context& context) {
    return std::make_unique<StreamTransport<TlsStream>>(std::move(socket), context);
}

}  // namespace tollgate::server
