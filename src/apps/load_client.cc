// Connections over Boost.Beast on one io_context; requests that find no free connection wait in a
// queue.
#include "apps/load_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace tollgate::apps {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

namespace {

class Driver;

class Connection {
  public:
    Connection(Driver& driver, asio::io_context& io) : driver_(driver), stream_(io) {}
    bool idle() const { return !busy_; }
    void send(LoadRequest request);

  private:
    void connect();
    void write();
    void read();
    void fail(const boost::system::error_code& error);
    void finish(bool answered);

    Driver& driver_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    std::optional<http::response_parser<http::string_body>> response_;
    LoadRequest current_;
    Steady::time_point sent_;
    bool busy_ = false;
    bool open_ = false;
    bool may_retry_ = false;  // sent on a kept connection, which the server may have closed idle
};

class Driver {
  public:
    Driver(const LoadOptions& options, const std::function<bool(LoadRequest&)>& next,
           const std::function<void(const LoadReply&)>& reply, const std::function<void()>& tick)
        : options_(options), next_(next), reply_(reply), tick_(tick), timer_(io_), ticker_(io_) {}

    Status run() {
        boost::system::error_code error;
        tcp::resolver resolver(io_);
        endpoints_ = resolver.resolve(options_.host, options_.port, error);
        if (error) {
            return Error{Fault::kBadInput,
                         "server " + options_.host + ":" + options_.port + ": " + error.message()};
        }
        for (std::size_t i = 0; i < options_.connections; ++i) {
            connections_.push_back(std::make_unique<Connection>(*this, io_));
            free_.push_back(connections_.back().get());
        }
        start_ticker();
        pull();
        io_.run();
        return ok();
    }

    const LoadOptions& options() const { return options_; }
    const tcp::resolver::results_type& endpoints() const { return endpoints_; }

    void finished(Connection& connection, const LoadReply& reply) {
        --outstanding_;
        reply_(reply);
        free_.push_back(&connection);
        if (options_.flat_out) {
            pull();
        } else {
            drain();
        }
        stop_when_done();
    }

  private:
    void start_ticker() {
        ticker_.expires_after(std::chrono::milliseconds(100));
        ticker_.async_wait([this](const boost::system::error_code& error) {
            if (!error) {
                tick_();
                start_ticker();
            }
        });
    }

    void wait_until_due() {
        timer_.expires_at(upcoming_.scheduled);
        timer_.async_wait([this](const boost::system::error_code& error) {
            if (!error) {
                pull();
            }
        });
    }

    // Hands what is due to connections; waits for the next due time.
    void pull() {
        while (!ended_) {
            if (!have_) {
                upcoming_ = {};
                if (!next_(upcoming_)) {
                    ended_ = true;
                    break;
                }
                have_ = true;
            }
            const auto now = Steady::now();
            if (options_.flat_out) {
                if (free_.empty()) {
                    return;
                }
                upcoming_.scheduled = now;
            } else if (upcoming_.scheduled > now) {
                wait_until_due();
                return;
            }
            have_ = false;
            ++outstanding_;
            waiting_.push_back(std::move(upcoming_));
            drain();
        }
        stop_when_done();
    }

    void drain() {
        while (!waiting_.empty() && !free_.empty()) {
            Connection* connection = free_.back();
            free_.pop_back();
            LoadRequest request = std::move(waiting_.front());
            waiting_.pop_front();
            connection->send(std::move(request));
        }
    }

    void stop_when_done() {
        if (ended_ && outstanding_ == 0) {
            (void)ticker_.cancel();
            io_.stop();
        }
    }

    asio::io_context io_{1};
    const LoadOptions& options_;
    const std::function<bool(LoadRequest&)>& next_;
    const std::function<void(const LoadReply&)>& reply_;
    const std::function<void()>& tick_;
    asio::steady_timer timer_;
    asio::steady_timer ticker_;
    tcp::resolver::results_type endpoints_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<Connection*> free_;
    std::deque<LoadRequest> waiting_;
    LoadRequest upcoming_;
    bool have_ = false;
    bool ended_ = false;
    std::size_t outstanding_ = 0;
};

void Connection::send(LoadRequest request) {
    busy_ = true;
    current_ = std::move(request);
    request_ = {};
    request_.method(http::verb::post);
    request_.target(current_.target);
    request_.version(11);
    request_.set(http::field::host, driver_.options().host);
    request_.set(http::field::content_type, "application/json");
    if (!driver_.options().key.empty()) {
        request_.set(http::field::authorization, "Bearer " + driver_.options().key);
    }
    request_.body() = current_.body;
    request_.prepare_payload();
    may_retry_ = open_;
    if (open_) {
        write();
    } else {
        connect();
    }
}

void Connection::connect() {
    stream_.expires_after(driver_.options().give_up);
    stream_.async_connect(driver_.endpoints(),
                          [this](const boost::system::error_code& error, const tcp::endpoint&) {
                              if (error) {
                                  fail(error);
                                  return;
                              }
                              boost::system::error_code ignored;
                              (void)stream_.socket().set_option(tcp::no_delay(true), ignored);
                              open_ = true;
                              write();
                          });
}

void Connection::write() {
    response_.reset();
    sent_ = Steady::now();
    stream_.expires_after(driver_.options().give_up);
    http::async_write(stream_, request_,
                      [this](const boost::system::error_code& error, std::size_t) {
                          if (error) {
                              fail(error);
                          } else {
                              read();
                          }
                      });
}

void Connection::read() {
    response_.emplace();
    response_->body_limit(std::uint64_t{64} << 20);
    http::async_read(stream_, buffer_, *response_,
                     [this](const boost::system::error_code& error, std::size_t) {
                         if (error) {
                             fail(error);
                         } else {
                             finish(true);
                         }
                     });
}

// A kept connection that ends before any byte of the answer was closed by the server while idle:
// the request goes once more on a new one (RFC 9112, 9.5; an event_id makes it safe).
void Connection::fail(const boost::system::error_code& error) {
    boost::system::error_code ignored;
    (void)stream_.socket().close(ignored);
    const bool no_answer = buffer_.size() == 0 && !(response_ && response_->got_some());
    buffer_.clear();
    open_ = false;
    if (may_retry_ && no_answer && error != beast::error::timeout) {
        may_retry_ = false;
        connect();
        return;
    }
    finish(false);
}

void Connection::finish(bool answered) {
    LoadReply reply;
    reply.tag = current_.tag;
    reply.answered = answered;
    reply.scheduled = current_.scheduled;
    reply.sent = sent_;
    reply.received = Steady::now();
    if (answered) {
        auto& message = response_->get();
        reply.status = message.result_int();
        reply.server_timing = std::string(message["Server-Timing"]);
        reply.body = std::move(message.body());
        if (!message.keep_alive()) {
            boost::system::error_code ignored;
            (void)stream_.socket().close(ignored);
            open_ = false;
        }
    }
    busy_ = false;
    driver_.finished(*this, reply);
}

}  // namespace

Status parse_server_url(const std::string& url, LoadOptions& options) {
    std::string rest = url;
    if (rest.rfind("http://", 0) == 0) {
        rest = rest.substr(7);
    }
    while (!rest.empty() && rest.back() == '/') {
        rest.pop_back();
    }
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size() ||
        rest.find_first_not_of("0123456789", colon + 1) != std::string::npos) {
        return Error{Fault::kBadInput, "server = \"" + url + "\", expected http://HOST:PORT"};
    }
    options.host = rest.substr(0, colon);
    options.port = rest.substr(colon + 1);
    return ok();
}

Status run_load(const LoadOptions& options, const std::function<bool(LoadRequest&)>& next,
                const std::function<void(const LoadReply&)>& reply,
                const std::function<void()>& tick) {
    if (options.connections < 1 || options.connections > 4096) {
        return Error{Fault::kBadInput,
                     "connections = " + std::to_string(options.connections) + ", allowed 1..4096"};
    }
    Driver driver(options, next, reply, tick);
    return driver.run();
}

Result<LoadReply> send_once(const LoadOptions& options, const std::string& method,
                            const std::string& target, const std::string& body) {
    boost::system::error_code error;
    asio::io_context io;
    tcp::resolver resolver(io);
    const auto endpoints = resolver.resolve(options.host, options.port, error);
    beast::tcp_stream stream(io);
    if (!error) {
        (void)stream.connect(endpoints, error);
    }
    if (error) {
        return Error{Fault::kNotFound,
                     "server " + options.host + ":" + options.port + ": " + error.message()};
    }
    http::request<http::string_body> request(http::string_to_verb(method), target, 11);
    request.set(http::field::host, options.host);
    request.set(http::field::content_type, "application/json");
    request.set(http::field::authorization, "Bearer " + options.key);
    request.body() = body;
    request.prepare_payload();
    (void)http::write(stream, request, error);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> response;
    response.body_limit(std::uint64_t{64} << 20);
    if (!error) {
        (void)http::read(stream, buffer, response, error);
    }
    if (error) {
        return Error{Fault::kInternal,
                     "server " + options.host + ":" + options.port + ": " + error.message()};
    }
    LoadReply reply;
    reply.answered = true;
    reply.status = response.get().result_int();
    reply.body = response.get().body();
    return reply;
}

}  // namespace tollgate::apps
