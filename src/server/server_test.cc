// The HTTP face over real sockets and a fake service: framing, limits, keys, routes.
#include "server/server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/testing/raw_client.h"
#include "server/testing/running_server.h"

namespace tollgate::server {
namespace {

constexpr const char* kAssess = "POST /v1/assessments";

TEST(Server, AnswersAnAssessmentAndKeepsTheConnection) {
    RunningServer server;
    RawClient client(server.port());
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(client.send(server.request(kAssess, R"({"n":1})", "X-Deadline-Ms: 20\r\n")));
        const auto response = client.receive();
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, 200);
        EXPECT_EQ(response->body, R"({"echo":{"n":1}})");
        EXPECT_EQ(response->headers.at("content-type"), "application/json");
        EXPECT_NE(response->headers.at("server-timing").find("total;dur=1.234"), std::string::npos);
        EXPECT_FALSE(response->headers.contains("idempotency-replayed"));
    }
    server.on_loop([](const FakeService& service) {
        EXPECT_EQ(service.last_tenant, "t-1");
        EXPECT_EQ(service.last_budget, std::chrono::milliseconds(20));
    });
}

TEST(Server, ReplayedAnswersSaySo) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send(server.request(kAssess, R"({"n":"again"})")));
    EXPECT_EQ(client.receive()->headers.at("idempotency-replayed"), "true");
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
    RunningServer server;
    RawClient client(server.port());
    std::string all;
    for (int i = 0; i < 20; ++i) {
        all += server.request(kAssess, "{\"n\":" + std::to_string(i) + "}");
    }
    ASSERT_TRUE(client.send(all));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(client.receive()->body, "{\"echo\":{\"n\":" + std::to_string(i) + "}}");
    }
}

struct Framing {
    std::string headers;
    int status;
};

TEST(Server, TwoFramingsAreRefusedAndNothingBehindThemRuns) {
    RunningServer server;
    const std::vector<Framing> cases{
        {"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400},
        {"Transfer-Encoding: chunked, gzip\r\n", 501},
        {"Transfer-Encoding: gzip, chunked\r\n", 501},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: identity\r\n", 501},
        {"Content-Length: 5\r\nContent-Length: 6\r\n", 400},
        {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
        {"Content-Length: +5\r\n", 400},
        {"Content-Length: -5\r\n", 400},
        {"Content-Length: 0x5\r\n", 400},
        {"Content-Length: 5, 6\r\n", 400},
        {"Content-Length: 5, 5\r\n", 400},
        {"Content-Length: \r\n", 400},
        {"Content-Length : 5\r\n", 400},
        {"Content-Length: 99999999999999999999\r\n", 400},
        {"Host: other\r\n", 400},
    };
    for (const Framing& at : cases) {
        RawClient client(server.port());
        ASSERT_TRUE(client.send(server.request(kAssess, "", at.headers) +
                                server.request(kAssess, R"({"smuggled":1})")));
        const auto response = client.receive();
        ASSERT_TRUE(response) << at.headers;
        EXPECT_EQ(response->status, at.status) << at.headers;
        EXPECT_EQ(response->headers.at("content-type"), "application/problem+json");
        EXPECT_EQ(response->headers.at("connection"), "close");
        EXPECT_TRUE(client.at_end()) << at.headers;
    }
    EXPECT_EQ(server.assessments(), 0U);
}

TEST(Server, ChunkedBodiesAndTrailersAreRead) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send(server.request(kAssess, "", "Transfer-Encoding: chunked\r\n") +
                            "3;ext=1\r\n{\"n\r\n4\r\n\":1}\r\n0\r\nX-Trailer: 1\r\n\r\n" +
                            server.request("GET /healthz")));
    EXPECT_EQ(client.receive()->body, R"({"echo":{"n":1}})");
    EXPECT_EQ(client.receive()->body, R"({"status":"ok"})");
}

TEST(Server, BrokenRequestLinesAreRefused) {
    RunningServer server;
    for (const std::string text :
         {"GET\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "\x16\x03\x01\x02", "GET / HTTP/1.1\r\n\r\n",
          "GET / HTTP/1.1\nHost: a\n\n", "G\x80T / HTTP/1.1\r\nHost: a\r\n\r\n"}) {
        RawClient client(server.port());
        ASSERT_TRUE(client.send(text));
        client.finish_sending();
        const auto response = client.receive();
        ASSERT_TRUE(response) << text;
        EXPECT_TRUE(response->status == 400 || response->status == 505) << response->status;
        EXPECT_TRUE(client.at_end());
    }
}

TEST(Server, BodiesOverTheLimitAreRefusedBeforeTheyAreRead) {
    RunningServer server([](ServerConfig& config) { config.max_body_bytes = 2'048; });
    RawClient declared(server.port());
    ASSERT_TRUE(declared.send(server.request(kAssess, "", "Content-Length: 2049\r\n")));
    EXPECT_EQ(declared.receive()->status, 413);
    RawClient chunked(server.port());
    ASSERT_TRUE(chunked.send(server.request(kAssess, "", "Transfer-Encoding: chunked\r\n") +
                             "400\r\n" + std::string(1'024, ' ') + "\r\n401\r\n"));
    EXPECT_EQ(chunked.receive()->status, 413);
    RawClient fits(server.port());
    const std::string body = "{" + std::string(2'046, ' ') + "}";
    ASSERT_TRUE(fits.send(server.request(kAssess, body)));
    EXPECT_EQ(fits.receive()->status, 200);
    EXPECT_EQ(server.assessments(), 1U);
}

TEST(Server, HeadersOverTheLimitAreRefused) {
    RunningServer server([](ServerConfig& config) { config.max_header_bytes = 2'048; });
    RawClient one(server.port());
    ASSERT_TRUE(
        one.send(server.request("GET /healthz", "", "X-A: " + std::string(3'000, 'a') + "\r\n")));
    EXPECT_EQ(one.receive()->status, 431);
    RawClient endless(server.port());
    ASSERT_TRUE(endless.send("GET /" + std::string(5'000, 'a')));
    EXPECT_EQ(endless.receive()->status, 431);
    RawClient many(server.port());
    std::string fields;
    for (int i = 0; i < 101; ++i) {
        fields += "A: b\r\n";
    }
    ASSERT_TRUE(many.send(server.request("GET /healthz", "", fields)));
    EXPECT_EQ(many.receive()->status, 431);
}

TEST(Server, TruncatedBodyIsRefused) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send(server.request(kAssess, "", "Content-Length: 100\r\n") + "{\"n\":"));
    client.finish_sending();
    const auto response = client.receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 400);
    EXPECT_EQ(server.assessments(), 0U);
}

TEST(Server, SlowHeadersAndBodiesGet408) {
    RunningServer server([](ServerConfig& config) {
        config.header_timeout_ms = 100;
        config.body_timeout_ms = 100;
    });
    RawClient header(server.port());
    RawClient body(server.port());
    ASSERT_TRUE(header.send("GET /healthz HTTP/1.1\r\nHo"));
    ASSERT_TRUE(body.send(server.request(kAssess, "", "Content-Length: 100\r\n") + "{"));
    EXPECT_EQ(header.receive()->status, 408);
    EXPECT_EQ(body.receive()->status, 408);
    EXPECT_TRUE(header.at_end());
}

TEST(Server, FullServerMakesRoomByClosingAnIdleConnection) {
    RunningServer server([](ServerConfig& config) { config.max_connections = 1; });
    RawClient idle(server.port());
    ASSERT_TRUE(idle.send(server.request("GET /healthz")));
    ASSERT_EQ(idle.receive()->status, 200);
    RawClient busy(server.port());
    ASSERT_TRUE(busy.send(server.request(kAssess, R"({"hold":1})")));
    EXPECT_TRUE(idle.at_end());
    while (server.assessments() == 0) {
    }
    RawClient third(server.port());
    const auto refused = third.receive();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    server.on_loop([](FakeService& service) { service.release(); });
    EXPECT_EQ(busy.receive()->status, 200);
}

TEST(Server, ContinueIsSentWhenTheClientWaitsForIt) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(
        client.send(server.request(kAssess, "", "Content-Length: 7\r\nExpect: 100-continue\r\n")));
    EXPECT_EQ(client.receive()->status, 100);
    ASSERT_TRUE(client.send(R"({"n":1})"));
    EXPECT_EQ(client.receive()->status, 200);
    RawClient other(server.port());
    ASSERT_TRUE(other.send(server.request(kAssess, "", "Content-Length: 7\r\nExpect: beer\r\n")));
    EXPECT_EQ(other.receive()->status, 417);
}

TEST(Server, HeadHasNoBodyAndUnknownMethodsNameTheAllowedOnes) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send(server.request("HEAD /healthz")));
    const auto head = client.receive(true);
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->headers.at("content-length"), "15");
    ASSERT_TRUE(client.send(server.request("DELETE /v1/assessments/as_1")));
    const auto wrong = client.receive();
    EXPECT_EQ(wrong->status, 405);
    EXPECT_EQ(wrong->headers.at("allow"), "GET, HEAD");
    ASSERT_TRUE(client.send(server.request("GET /v1/nothing")));
    EXPECT_EQ(client.receive()->status, 404);
    ASSERT_TRUE(client.send(server.request("GET /admin/policy")));
    EXPECT_EQ(client.receive()->status, 404);  // the API's listener has no admin routes
}

TEST(Server, OldHttpIsAnsweredAndClosed) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send("GET /healthz HTTP/1.0\r\n\r\n"));
    EXPECT_EQ(client.receive()->status, 200);
    EXPECT_TRUE(client.at_end());
}

TEST(Server, DeadlineHeaderNamesItsRange) {
    RunningServer server;
    RawClient client(server.port());
    for (const std::string value : {"0", "1001", "-5", "5.5", "abc", "", "1e2"}) {
        ASSERT_TRUE(
            client.send(server.request(kAssess, R"({"n":1})", "X-Deadline-Ms: " + value + "\r\n")));
        const auto response = client.receive();
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, 400) << value;
        EXPECT_NE(response->body.find("1..1000"), std::string::npos) << response->body;
        EXPECT_NE(response->body.find("\"field\":\"X-Deadline-Ms\""), std::string::npos);
    }
    EXPECT_EQ(server.assessments(), 0U);
}

TEST(Server, ContentTypesOtherThanJsonAreRefused) {
    RunningServer server;
    RawClient client(server.port());
    const auto status = [&](const std::string& type) {
        (void)client.send(server.request(kAssess, R"({"n":1})", "Content-Type: " + type + "\r\n"));
        return client.receive()->status;
    };
    EXPECT_EQ(status("text/plain"), 415);
    EXPECT_EQ(status("application/x-ndjson"), 415);
    EXPECT_EQ(status("application/json"), 200);
    EXPECT_EQ(status("Application/JSON; charset=utf-8"), 200);
}

TEST(Server, ErrorTextWithBrokenUtf8IsStillJson) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send(server.request(kAssess, "\xC3\x28 not json")));
    const auto response = client.receive();
    EXPECT_EQ(response->status, 400);
    EXPECT_NE(response->body.find("\"field\":\"event_id\""), std::string::npos);
    EXPECT_EQ(response->body.find('\xC3'), std::string::npos) << "invalid bytes are replaced";
}

}  // namespace
}  // namespace tollgate::server
