// Starting and stopping the server under test.
#include "server/testing/running_server.h"

#include <cstdlib>
#include <filesystem>
#include <future>

#include "base/check.h"

namespace tollgate::server {

RunningServer::RunningServer(const std::function<void(ServerConfig&)>& change) {
    std::string pattern = (std::filesystem::temp_directory_path() / "tg-server-XXXXXX").string();
    TG_CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder");
    dir_ = pattern;
    const EventTime now = loop_.wall();
    constexpr Scopes kAll = 15;
    key = create_key(dir_, {.tenant = "t-1", .name = "all", .scopes = kAll}, now)
              .value_or_die()
              .token;
    other_key =
        create_key(dir_,
                   {.tenant = "t-2", .name = "reader", .scopes = static_cast<Scopes>(Scope::kRead)},
                   now)
            .value_or_die()
            .token;
    ServerConfig config;
    config.listen = "127.0.0.1:0";
    config.admin_listen = "127.0.0.1:0";
    config.key_reload_ms = 10;
    if (change) {
        change(config);
    }
    server_ = Server::create(config, ServerParts{loop_, service_, metrics_, dir_, &faults_})
                  .value_or_die();
    (void)server_->start().value_or_die();
    ports_ = server_->ports();
    thread_ = std::thread([this] { server_->run(); });
}

RunningServer::~RunningServer() {
    server_->stop();
    join();
    server_.reset();
    std::error_code code;
    std::filesystem::remove_all(dir_, code);
}

void RunningServer::join() {
    if (thread_.joinable()) {
        thread_.join();
    }
}

void RunningServer::on_loop(const std::function<void(FakeService&)>& f) {
    std::promise<void> done;
    loop_.post([&] {
        f(service_);
        done.set_value();
    });
    done.get_future().wait();
}

std::size_t RunningServer::assessments() {
    std::size_t count = 0;
    on_loop([&count](FakeService& service) { count = service.assessments; });
    return count;
}

std::string RunningServer::request(const std::string& line, const std::string& body,
                                   const std::string& headers) const {
    std::string out =
        line + " HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer " + key + "\r\n" + headers;
    if (!body.empty()) {
        out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return out + "\r\n" + body;
}

}  // namespace tollgate::server
