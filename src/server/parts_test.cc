// Parts of the HTTP face without sockets: parser, batch, keys, config, problems, timers.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "server/asio_loop.h"
#include "server/batch.h"
#include "server/config.h"
#include "server/error_map.h"
#include "server/handlers.h"
#include "server/keys.h"
#include "server/request_parser.h"
#include "server/routes.h"
#include "text/json.h"

namespace tollgate::server {
namespace {

struct Body final : BodySink {
    std::string text;
    void on_body(std::string_view bytes) override { text += bytes; }
};

TEST(MetricsOfTenant, LeavesOtherTenantsOut) {
    const std::string text =
        "# HELP a b\n# TYPE a counter\na{tenant=\"bank\"} 1\na{tenant=\"banker\"} 2\n"
        "b{key=\"x\",tenant=\"bank\"} 3\nb{key=\"x\",tenant=\"other\"} 4\nc 5\n";
    EXPECT_EQ(metrics_of_tenant(text, "bank"),
              "# HELP a b\n# TYPE a counter\na{tenant=\"bank\"} 1\n"
              "b{key=\"x\",tenant=\"bank\"} 3\nc 5\n");
}

TEST(RequestParser, GivesTheSameWhereverTheBytesAreCut) {
    const std::string bytes =
        "POST /v1/a?x=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\n"
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nT: 1\r\n\r\nGET";
    for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
        RequestParser parser(ParserLimits{});
        Body body;
        std::string buffer;
        std::size_t at = 0;
        while (!parser.done() && at < bytes.size()) {
            buffer += bytes.substr(at, piece);
            at += piece;
            std::size_t used = 1;
            while (used > 0 && !parser.done() && !buffer.empty()) {
                used = parser.put(buffer, !parser.header_done(), body);
                buffer.erase(0, used);
                ASSERT_FALSE(parser.fault()) << piece << " " << parser.fault()->detail;
            }
        }
        ASSERT_TRUE(parser.done()) << piece;
        EXPECT_EQ(body.text, "hello world");
        EXPECT_EQ(parser.head().target, "/v1/a?x=1");
        EXPECT_EQ(parser.head().authorization, "Bearer k");
        EXPECT_EQ(buffer + (at < bytes.size() ? bytes.substr(at) : ""), "GET");
    }
}

TEST(RequestParser, AnEmptyChunkedBodyMayComeByteByByte) {
    const std::string bytes =
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    RequestParser parser(ParserLimits{});
    Body body;
    std::string buffer;
    for (const char c : bytes) {
        buffer += c;
        buffer.erase(0, parser.put(buffer, !parser.header_done(), body));
        ASSERT_FALSE(parser.fault());
    }
    EXPECT_TRUE(parser.done());
    EXPECT_TRUE(buffer.empty());
}

struct Lines final : BatchLines {
    std::vector<std::string> seen;
    std::vector<std::uint64_t> order;
    void on_line(std::uint64_t sequence, std::string_view text) override {
        order.push_back(sequence);
        seen.emplace_back(text);
    }
};

TEST(Batch, OrdersAnswersAndBoundsWhatIsInWork) {
    Batch batch({.line_bytes = 100, .in_flight = 2, .buffer_bytes = 1'000});
    Lines lines;
    batch.feed("a\nb\nc");
    EXPECT_FALSE(batch.pump(10, lines));
    EXPECT_EQ(lines.seen, (std::vector<std::string>{"a", "b"}));
    EXPECT_FALSE(batch.wants_input());
    std::string out;
    batch.answer(1, "B");
    EXPECT_FALSE(batch.has_output()) << "the first line is not answered yet";
    batch.answer(0, "A");
    batch.take(out);
    EXPECT_EQ(out, "A\nB\n");
    EXPECT_FALSE(batch.pump(10, lines));
    EXPECT_TRUE(batch.wants_input());
    batch.end_input();
    (void)batch.pump(10, lines);
    ASSERT_EQ(lines.seen.size(), 3U);
    EXPECT_FALSE(batch.done());
    batch.refuse(2, Problem{400, "bad_input", "c", ""});
    batch.take(out);
    EXPECT_NE(out.find("\"line\":3"), std::string::npos);
    EXPECT_TRUE(batch.done());
}

TEST(Batch, StopsHandingOnWhileAnswersAreNotRead) {
    Batch batch({.line_bytes = 100, .in_flight = 8, .buffer_bytes = 10});
    Lines lines;
    batch.feed("a\nb\n");
    (void)batch.pump(1, lines);
    batch.answer(0, "0123456789");
    EXPECT_FALSE(batch.pump(1, lines));
    std::string out;
    batch.take(out);
    batch.unsent(out.size());
    EXPECT_FALSE(batch.pump(1, lines));
    batch.unsent(0);
    (void)batch.pump(1, lines);
    EXPECT_EQ(lines.seen.size(), 2U);
}

TEST(Batch, SkipsALineTooLongWithoutHoldingIt) {
    Batch batch({.line_bytes = 10, .in_flight = 8, .buffer_bytes = 1'000});
    Lines lines;
    for (int i = 0; i < 1'000; ++i) {
        batch.feed("0123456789");
        (void)batch.pump(10, lines);
    }
    batch.feed("\nnext\n");
    batch.end_input();
    while (batch.pump(10, lines)) {
    }
    EXPECT_EQ(lines.seen, (std::vector<std::string>{"next"}));
    batch.answer(lines.order[0], "N");
    std::string out;
    batch.take(out);
    EXPECT_NE(out.find("line 1 has more than 10 bytes"), std::string::npos);
    EXPECT_TRUE(out.ends_with("\nN\n"));
    EXPECT_TRUE(batch.done());
}

class KeyFile : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "tg-keys-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        dir_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(dir_); }
    std::string dir_;
    const EventTime now_ = from_micros(1'790'000'000'000'000);
};

TEST_F(KeyFile, HoldsHashesAloneReadableByItsOwnerAlone) {
    const auto made =
        create_key(dir_, {.tenant = "bank", .scopes = static_cast<Scopes>(Scope::kAssess)}, now_)
            .value_or_die();
    EXPECT_EQ(made.token.size(), 46U);
    EXPECT_TRUE(made.token.starts_with("tg_"));
    std::ifstream in(key_file(dir_));
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(text.find(made.token.substr(3)), std::string::npos);
    struct stat info {};
    ASSERT_EQ(::stat(key_file(dir_).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    const KeyTable table(load_keys(key_file(dir_)).value_or_die());
    const Key* found = table.find(made.token, now_);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->tenant, "bank");
    EXPECT_EQ(found->scopes, static_cast<Scopes>(Scope::kAssess));
}

TEST_F(KeyFile, TwoKeysOfANameLiveAtOnceAndAThirdIsRefused) {
    const NewKey wanted{
        .tenant = "bank", .name = "gw", .scopes = static_cast<Scopes>(Scope::kRead)};
    const auto first = create_key(dir_, wanted, now_).value_or_die();
    const auto second = create_key(dir_, wanted, now_).value_or_die();
    const auto third = create_key(dir_, wanted, now_);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().fault, Fault::kConflict);
    ASSERT_TRUE(revoke_key(dir_, first.key.id, now_));
    EXPECT_TRUE(create_key(dir_, wanted, now_));
    const KeyTable table(load_keys(key_file(dir_)).value_or_die());
    EXPECT_EQ(table.find(first.token, now_), nullptr);
    EXPECT_NE(table.find(second.token, now_), nullptr);
    EXPECT_EQ(revoke_key(dir_, "k_none", now_).error().fault, Fault::kNotFound);
}

TEST_F(KeyFile, ExpiryIsTheFirstMomentItIsRefused) {
    const EventTime later = now_ + std::chrono::hours(1);
    const auto made =
        create_key(
            dir_, {.tenant = "bank", .scopes = static_cast<Scopes>(Scope::kRead), .expires = later},
            now_)
            .value_or_die();
    const KeyTable table(load_keys(key_file(dir_)).value_or_die());
    EXPECT_NE(table.find(made.token, later - Micros(1)), nullptr);
    EXPECT_EQ(table.find(made.token, later), nullptr);
    EXPECT_FALSE(create_key(dir_, {.tenant = "b", .scopes = 1, .expires = now_}, now_));
    EXPECT_FALSE(create_key(dir_, {.tenant = "../b", .scopes = 1}, now_));
    EXPECT_FALSE(create_key(dir_, {.tenant = "b"}, now_));
}

TEST_F(KeyFile, BrokenFileIsCorruptAndNamed) {
    for (const std::string text :
         {"", "{", "{\"keys\":1}", "{\"keys\":[1]}", "{\"keys\":[{\"id\":\"k\"}]}"}) {
        std::ofstream(key_file(dir_)) << text;
        const auto keys = load_keys(key_file(dir_));
        ASSERT_FALSE(keys) << text;
        EXPECT_EQ(keys.error().fault, Fault::kCorrupt);
        EXPECT_NE(keys.error().message.find("keys.json"), std::string::npos);
    }
}

TEST(ServerConfig, EveryPropertyIsCheckedAndDocumented) {
    ServerConfig config;
    ASSERT_TRUE(validate(config));
    for (const Property& property : properties()) {
        EXPECT_NE(reference_markdown().find("`" + std::string(property.name) + "`"),
                  std::string::npos);
        EXPECT_NE(reference_help().find(property.name), std::string::npos);
        if (property.max == 0) {
            continue;
        }
        for (const std::uint64_t bad : {property.min - 1, property.max + 1}) {
            const Status status = set_property(config, property.name, std::to_string(bad));
            ASSERT_FALSE(status);
            EXPECT_NE(status.error().message.find(property.name), std::string::npos);
        }
        EXPECT_TRUE(set_property(config, property.name, std::to_string(property.min)));
        EXPECT_FALSE(set_property(config, property.name, "1x"));
    }
    const Status unknown = set_property(config, "server.max_conections", "1");
    EXPECT_NE(unknown.error().message.find("server.max_connections"), std::string::npos);
    config.tls_cert = "a.pem";
    EXPECT_FALSE(validate(config));
}

TEST(ServerConfig, AddressesNeedAPort) {
    EXPECT_EQ(parse_host_port("l", "[::1]:80")->host, "::1");
    EXPECT_EQ(parse_host_port("l", "localhost:0")->host, "127.0.0.1");
    for (const char* text : {"", "a", ":80", "a:", "a:65536", "a:-1", "a:8x"}) {
        EXPECT_FALSE(parse_host_port("l", text)) << text;
    }
}

TEST(Problem, NamesTheFieldAndIsAlwaysJson) {
    EXPECT_EQ(problem_of({Fault::kBadInput, "amount.value \"1,5\" is no amount"}).field,
              "amount.value");
    EXPECT_EQ(problem_of({Fault::kBadInput, "unknown field \"colour\""}).field, "colour");
    EXPECT_EQ(problem_of({Fault::kConflict, "the event is another"}).field, "");
    EXPECT_EQ(problem_of({Fault::kInternal, "disk", "secret"}).detail, "disk");
    std::string out;
    append_problem(out, Problem{400, "bad_input", "\xFF\x01\"\\", "\xC3\x28"});
    JsonDocument document;
    EXPECT_TRUE(document.parse(out)) << out;
}

TEST(AsioLoop, TimersRunInOrderAndCancelledOnesNever) {
    AsioLoop loop;
    std::vector<int> ran;
    const auto now = loop.now();
    (void)loop.call_at(now + std::chrono::milliseconds(2), [&] { ran.push_back(2); });
    const auto dead = loop.call_at(now + std::chrono::milliseconds(1), [&] { ran.push_back(9); });
    (void)loop.call_at(now + std::chrono::milliseconds(1), [&] { ran.push_back(1); });
    (void)loop.call_at(now + std::chrono::milliseconds(3), [&] {
        ran.push_back(3);
        loop.stop();
    });
    loop.cancel(dead);
    loop.cancel(dead);
    loop.post([&] { ran.push_back(0); });
    loop.run();
    EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(loop.timers(), 0U);
}

TEST(AsioLoop, ManyCancelledTimersAreSweptAway) {
    AsioLoop loop;
    bool ran = false;
    for (int i = 0; i < 100'000; ++i) {
        loop.cancel(loop.call_at(loop.now() + std::chrono::hours(1), [&] { ran = true; }));
    }
    EXPECT_EQ(loop.timers(), 0U);
    loop.post([&] { loop.stop(); });
    loop.run();
    EXPECT_FALSE(ran);
}

TEST(Routes, EveryRouteMatchesItselfOnItsListenerAlone) {
    for (const Route& route : routes()) {
        std::string path(route.path);
        const std::size_t hole = path.find("{id}");
        if (hole != std::string::npos) {
            path.replace(hole, 4, "x%20y");
        }
        const RouteMatch match = match_route(route.listener, route.method, path + "?q=1");
        EXPECT_EQ(match.route, &route) << path;
        EXPECT_EQ(match.id, hole == std::string::npos ? "" : "x y");
        const auto other =
            route.listener == ListenerKind::kApi ? ListenerKind::kAdmin : ListenerKind::kApi;
        EXPECT_EQ(match_route(other, route.method, path).route, nullptr);
        EXPECT_EQ(match_route(route.listener, route.method, path + "/").route, nullptr);
    }
    EXPECT_NE(match_route(ListenerKind::kApi, Method::kGet, "http://h:1/healthz").route, nullptr);
}

}  // namespace
}  // namespace tollgate::server
