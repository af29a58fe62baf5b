// Keys, batches, admin routes and drain over real sockets and a fake service.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "server/testing/raw_client.h"
#include "server/testing/running_server.h"

namespace tollgate::server {
namespace {

std::string with_key(const std::string& line, const std::string& key) {
    return line + " HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer " + key + "\r\n\r\n";
}

TEST(Keys, UnknownIs401AndMissingScopeIs403) {
    RunningServer server;
    RawClient client(server.port());
    const auto status = [&client](const std::string& bytes) {
        (void)client.send(bytes);
        return client.receive()->status;
    };
    EXPECT_EQ(status("GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n"), 200);
    for (const std::string path : {"/readyz", "/version", "/metrics", "/v1/accounts/a"}) {
        EXPECT_EQ(status("GET " + path + " HTTP/1.1\r\nHost: t\r\n\r\n"), 401) << path;
    }
    std::string changed = server.key;
    changed.back() = changed.back() == 'A' ? 'B' : 'A';
    EXPECT_EQ(status(with_key("GET /version", changed)), 401);
    EXPECT_EQ(status(with_key("GET /version", server.key)), 200);
    EXPECT_EQ(status(with_key("GET /version", server.other_key)), 200);
    EXPECT_EQ(status(with_key("POST /v1/assessments", server.other_key)), 403);
    RawClient admin(server.admin_port());
    ASSERT_TRUE(admin.send(with_key("GET /admin/policy", server.other_key)));
    EXPECT_EQ(admin.receive()->status, 403);
}

TEST(Keys, ChangesOfTheFileCountWithoutRestart) {
    RunningServer server;
    RawClient client(server.port());
    const EventTime now = AsioLoop().wall();
    const CreatedKey added =
        create_key(server.data_dir(),
                   {.tenant = "t-3", .scopes = static_cast<Scopes>(Scope::kRead)}, now)
            .value_or_die();
    const auto until = [&](int wanted) {
        for (int i = 0; i < 20'000; ++i) {
            (void)client.send(with_key("GET /version", added.token));
            if (client.receive()->status == wanted) {
                return true;
            }
        }
        return false;
    };
    EXPECT_TRUE(until(200));
    ASSERT_TRUE(revoke_key(server.data_dir(), added.key.id, now));
    EXPECT_TRUE(until(401));
    (void)client.send(with_key("GET /version", server.key));
    EXPECT_EQ(client.receive()->status, 200);
}

TEST(BatchRoute, AnswersInOrderWithAnErrorObjectPerBadLine) {
    RunningServer server([](ServerConfig& config) { config.batch_line_bytes = 1'024; });
    RawClient client(server.port());
    const std::string body =
        "{\"n\":1}\n\nnonsense\r\n" + std::string(5'000, 'x') + "\n{\"n\":2}\r\n{\"n\":3}";
    ASSERT_TRUE(client.send(server.request("POST /v1/assessments:batch", body,
                                           "Content-Type: application/x-ndjson\r\n") +
                            server.request("GET /healthz")));
    const auto response = client.receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_TRUE(response->whole);
    const std::string& out = response->body;
    EXPECT_TRUE(out.starts_with("{\"echo\":{\"n\":1}}\n{\"type\":")) << out;
    EXPECT_NE(out.find("\"line\":3}\n"), std::string::npos) << out;
    EXPECT_NE(out.find("\"code\":\"line_too_large\""), std::string::npos) << out;
    EXPECT_NE(out.find("\"line\":4}\n"), std::string::npos) << out;
    EXPECT_TRUE(out.ends_with("{\"echo\":{\"n\":2}}\n{\"echo\":{\"n\":3}}\n")) << out;
    EXPECT_EQ(client.receive()->body, R"({"status":"ok"})");
}

TEST(BatchRoute, HoldsAtMostItsBoundInWorkAndStillAnswersAll) {
    RunningServer server([](ServerConfig& config) { config.batch_in_flight = 3; });
    RawClient client(server.port());
    std::string body;
    std::string expected;
    for (int i = 0; i < 50; ++i) {
        const std::string line = "{\"hold\":" + std::to_string(i) + "}";
        body += line + "\n";
        expected += "{\"echo\":" + line + "}\n";
    }
    ASSERT_TRUE(client.send(server.request("POST /v1/assessments:batch", body)));
    while (server.assessments() < 50) {
        server.on_loop([](FakeService& service) { service.release(); });
    }
    server.on_loop([](FakeService& service) {
        service.release();
        EXPECT_LE(service.most_held, 3U);
    });
    EXPECT_EQ(client.receive()->body, expected);
}

TEST(BatchRoute, AnEmptyBodyIsAnEmptyAnswer) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(
        client.send(server.request("POST /v1/assessments:batch", "", "Content-Length: 0\r\n")));
    const auto response = client.receive();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "");
    EXPECT_TRUE(response->whole);
}

TEST(BatchRoute, BrokenFramingEndsTheAnswerVisibly) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send(
        server.request("POST /v1/assessments:batch", "", "Transfer-Encoding: chunked\r\n") +
        "8\r\n{\"n\":1}\n\r\n"));
    while (server.assessments() < 1) {
    }
    ASSERT_TRUE(client.send("nonsense\r\n"));
    const auto response = client.receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_FALSE(response->whole);
    EXPECT_TRUE(response->body.starts_with("{\"echo\":{\"n\":1}}\n")) << response->body;
    EXPECT_NE(response->body.find("\"code\":\"bad_request\""), std::string::npos);
    EXPECT_TRUE(client.at_end());
}

TEST(BatchRoute, FurtherBatchesWaitForTheirTurn) {
    RunningServer server([](ServerConfig& config) { config.batch_connections = 1; });
    RawClient first(server.port());
    RawClient second(server.port());
    ASSERT_TRUE(first.send(server.request("POST /v1/assessments:batch", "{\"hold\":1}\n")));
    while (server.assessments() < 1) {
    }
    ASSERT_TRUE(second.send(server.request("POST /v1/assessments:batch", "{\"n\":2}\n")));
    RawClient single(server.port());
    ASSERT_TRUE(single.send(server.request("POST /v1/assessments", "{\"n\":3}")));
    EXPECT_EQ(single.receive()->status, 200);
    EXPECT_EQ(server.assessments(), 2U) << "the second batch was not begun";
    server.on_loop([](FakeService& service) { service.release(); });
    EXPECT_EQ(first.receive()->body, "{\"echo\":{\"hold\":1}}\n");
    EXPECT_EQ(second.receive()->body, "{\"echo\":{\"n\":2}}\n");
}

TEST(AdminRoutes, PolicyUploadIsParsedAndHandedOn) {
    RunningServer server;
    RawClient client(server.admin_port());
    ASSERT_TRUE(client.send(server.request(
        "POST /admin/policy:activate", R"({"files":{"policy.toml":"a","rules/b.rules":"c\n"}})")));
    EXPECT_EQ(client.receive()->status, 200);
    server.on_loop([](const FakeService& service) {
        const PolicyFiles expected{{"policy.toml", "a"}, {"rules/b.rules", "c\n"}};
        EXPECT_EQ(service.last_files, expected);
    });
    for (const std::string body :
         {"{}", "[]", R"({"files":{}})", R"({"files":{"a":1}})", R"({"other":1})", "{"}) {
        ASSERT_TRUE(client.send(server.request("POST /admin/policy:validate", body)));
        EXPECT_EQ(client.receive()->status, 400) << body;
    }
}

TEST(AdminRoutes, AccountIdsAreDecoded) {
    RunningServer server;
    RawClient client(server.admin_port());
    ASSERT_TRUE(client.send(server.request("PUT /admin/accounts/A%2017/limit", R"({"a":1})")));
    EXPECT_EQ(client.receive()->body, R"({"account":"A 17","size":7})");
    ASSERT_TRUE(client.send(server.request("DELETE /admin/accounts/A%2F1/block")));
    EXPECT_EQ(client.receive()->body, R"({"account":"A/1","size":0})");
    for (const std::string id : {"%zz", "%00", "%C3%28", "a/b", ""}) {
        ASSERT_TRUE(client.send(server.request("DELETE /admin/accounts/" + id + "/block")));
        EXPECT_EQ(client.receive()->status, 404) << id;
    }
}

TEST(AdminRoutes, FaultSwitchesAreSetAndShown) {
    RunningServer server;
    RawClient client(server.admin_port());
    ASSERT_TRUE(client.send(
        server.request("POST /admin/faults", R"({"store_delay_us":10000,"store_full":true})")));
    const auto response = client.receive();
    EXPECT_EQ(response->status, 200);
    EXPECT_NE(response->body.find("\"store_delay_us\":10000"), std::string::npos);
    EXPECT_EQ(server.faults().store_delay_us.load(), 10'000);
    EXPECT_TRUE(server.faults().store_full.load());
    ASSERT_TRUE(
        client.send(server.request("POST /admin/faults", R"({"store_full":false,"no_such":1})")));
    EXPECT_EQ(client.receive()->status, 400);
    EXPECT_TRUE(server.faults().store_full.load()) << "a refused upload changes nothing";
}

TEST(Drain, AnswersWhatIsInFlightAndEnds) {
    RunningServer server;
    RawClient idle(server.port());
    ASSERT_TRUE(idle.send(server.request("GET /healthz")));
    ASSERT_EQ(idle.receive()->status, 200);
    RawClient busy(server.port());
    ASSERT_TRUE(busy.send(server.request("POST /v1/assessments", R"({"hold":1})")));
    while (server.assessments() == 0) {
    }
    RawClient admin(server.admin_port());
    ASSERT_TRUE(admin.send(server.request("POST /admin/drain")));
    EXPECT_EQ(admin.receive()->status, 202);
    EXPECT_TRUE(idle.at_end());
    server.on_loop([](FakeService& service) { service.release(); });
    const auto response = busy.receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->headers.at("connection"), "close");
    server.join();
}

TEST(Metrics, CountRequestsByRouteAndStatus) {
    RunningServer server;
    RawClient client(server.port());
    ASSERT_TRUE(client.send(server.request("POST /v1/assessments", R"({"n":1})")));
    ASSERT_EQ(client.receive()->status, 200);
    ASSERT_TRUE(client.send(server.request("GET /metrics")));
    const auto response = client.receive();
    EXPECT_TRUE(response->headers.at("content-type").starts_with("text/plain; version=0.0.4"));
    EXPECT_NE(response->body.find("tollgate_http_requests_total{method=\"POST\","
                                  "route=\"/v1/assessments\",status=\"2xx\"} 1"),
              std::string::npos)
        << response->body;
}

}  // namespace
}  // namespace tollgate::server
