// Tests of the open-loop client against a small HTTP server in the same process.
#include "apps/load_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <set>
#include <string>
#include <thread>

namespace tollgate::apps {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

// Answers every request with its own body, one connection after the other, until it is told to stop
// or `per_connection` answers were given on a connection, which it then closes.
class Echo {
  public:
    explicit Echo(int per_connection) : per_connection_(per_connection) {
        thread_ = std::jthread([this] { serve(); });
    }
    ~Echo() {
        stopping_ = true;
        boost::system::error_code ignored;
        tcp::socket waker(io_);
        (void)waker.connect(acceptor_.local_endpoint(), ignored);  // wakes accept()
    }
    std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }

  private:
    void serve() {
        while (!stopping_) {
            boost::system::error_code error;
            tcp::socket socket(io_);
            (void)acceptor_.accept(socket, error);
            if (!error && !stopping_) {
                serve_one(socket);
            }
        }
    }
    void serve_one(tcp::socket& socket) const {
        beast::flat_buffer buffer;
        boost::system::error_code error;
        for (int i = 0; i < per_connection_; ++i) {
            http::request<http::string_body> request;
            (void)http::read(socket, buffer, request, error);
            if (error) {
                return;
            }
            http::response<http::string_body> response(http::status::ok, 11);
            response.set("Server-Timing", "total;dur=1.5");
            response.body() = request.body();
            response.keep_alive(i + 1 < per_connection_);
            response.prepare_payload();
            (void)http::write(socket, response, error);
        }
    }

    int per_connection_;
    asio::io_context io_;
    tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
    std::atomic<bool> stopping_{false};
    std::jthread thread_;
};

struct Sent {
    std::multiset<std::uint64_t> tags;
    std::uint64_t answered = 0;
    bool in_order = true;  // of times within each reply
    std::string header;
};

Sent send(const LoadOptions& options, std::uint64_t requests, std::chrono::microseconds apart) {
    Sent run;
    std::uint64_t made = 0;
    const auto began = Steady::now();
    const Status ran = run_load(
        options,
        [&](LoadRequest& request) {
            if (made == requests) {
                return false;
            }
            request.tag = made;
            request.body = "body " + std::to_string(made);
            request.scheduled = began + apart * static_cast<int>(made);
            ++made;
            return true;
        },
        [&run](const LoadReply& reply) {
            run.tags.insert(reply.tag);
            if (reply.answered) {
                ++run.answered;
                EXPECT_EQ(reply.status, 200U);
                EXPECT_EQ(reply.body, "body " + std::to_string(reply.tag));
                run.in_order =
                    run.in_order && reply.scheduled <= reply.sent && reply.sent <= reply.received;
                run.header = reply.server_timing;
            }
        },
        [] {});
    EXPECT_TRUE(ran);
    return run;
}

void expect_each_once(const Sent& run, std::uint64_t requests) {
    ASSERT_EQ(run.tags.size(), requests);
    for (std::uint64_t i = 0; i < requests; ++i) {
        EXPECT_EQ(run.tags.count(i), 1U) << "request " << i;
    }
}

TEST(LoadClient, AnswersEveryRequestOnceByTheClock) {
    const Echo server(1'000'000);
    LoadOptions options;
    options.port = server.port();
    options.connections = 1;
    const Sent run = send(options, 200, std::chrono::microseconds(200));
    expect_each_once(run, 200);
    EXPECT_EQ(run.answered, 200U);
    EXPECT_TRUE(run.in_order);
    EXPECT_EQ(run.header, "total;dur=1.5");
}

TEST(LoadClient, FlatOutSendsTheNextWhenAConnectionIsFree) {
    const Echo server(1'000'000);
    LoadOptions options;
    options.port = server.port();
    options.connections = 1;
    options.flat_out = true;
    const Sent run = send(options, 300, std::chrono::microseconds(0));
    expect_each_once(run, 300);
    EXPECT_EQ(run.answered, 300U);
}

TEST(LoadClient, ConnectsAgainWhenTheServerCloses) {
    const Echo server(7);
    LoadOptions options;
    options.port = server.port();
    options.connections = 1;
    options.flat_out = true;
    const Sent run = send(options, 50, std::chrono::microseconds(0));
    expect_each_once(run, 50);
    EXPECT_EQ(run.answered, 50U);
}

TEST(LoadClient, ARefusedConnectionIsAnUnansweredRequest) {
    std::string port;
    {
        const Echo server(1);
        port = server.port();
    }
    LoadOptions options;
    options.port = port;
    options.connections = 2;
    const Sent run = send(options, 5, std::chrono::microseconds(0));
    expect_each_once(run, 5);
    EXPECT_EQ(run.answered, 0U);
}

TEST(LoadClient, SendOnceGivesStatusAndBody) {
    const Echo server(1'000'000);
    LoadOptions options;
    options.port = server.port();
    const LoadReply reply = send_once(options, "POST", "/x", "hello").value_or_die();
    EXPECT_EQ(reply.status, 200U);
    EXPECT_EQ(reply.body, "hello");
}

TEST(LoadClient, RefusesConnectionsOutOfRange) {
    LoadOptions options;
    options.port = "1";
    options.connections = 0;
    const Status status = run_load(
        options, [](LoadRequest&) { return false; }, [](const LoadReply&) {}, [] {});
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("1..4096"), std::string::npos);
}

TEST(ServerUrl, TakesHostAndPortAndNamesWhatItRefuses) {
    LoadOptions options;
    ASSERT_TRUE(parse_server_url("http://127.0.0.1:8080/", options));
    EXPECT_EQ(options.host, "127.0.0.1");
    EXPECT_EQ(options.port, "8080");
    ASSERT_TRUE(parse_server_url("localhost:1", options));
    for (const char* url :
         {"", "http://", "http://host", "http://host:", "http://:80", "host:8a"}) {
        const Status status = parse_server_url(url, options);
        ASSERT_FALSE(status) << url;
        EXPECT_NE(status.error().message.find("http://HOST:PORT"), std::string::npos);
    }
}

}  // namespace
}  // namespace tollgate::apps
