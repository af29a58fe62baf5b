// Wiring of the HTTP face: keys, connections, listeners, signals, drain.
#include "server/server.h"

#include <sys/resource.h>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/threads.h"
#include "server/handlers.h"
#include "server/http_metrics.h"
#include "server/listener.h"
#include "server/session_hub.h"
#include "server/worker.h"

namespace tollgate::server {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

// What tells one version of the key file from another: a rename changes all of it.
struct FileStamp {
    fs::file_time_type time{};
    std::uintmax_t size = 0;
    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const std::string& path) {
    std::error_code code;
    FileStamp out;
    out.time = fs::last_write_time(path, code);
    if (code) {
        return {};
    }
    out.size = fs::file_size(path, code);
    return out;
}

// Descriptors for every connection, the store's files and some to spare; what the system allows.
void raise_file_limit(std::uint64_t connections) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    const rlim_t wanted = connections + 4'096;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = std::min(wanted, limit.rlim_max);
        (void)::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

}  // namespace

struct Server::Impl {
    Impl(const ServerConfig& c, const ServerParts& p)
        : config(c),
          parts(p),
          http_metrics(p.metrics),
          handlers(HandlerParts{config, p.loop, p.service, p.metrics, worker, p.faults,
                                [this] { begin_drain(); }}),
          hub(config, p.loop, handlers, http_metrics),
          signals(p.loop.context()) {}

    // Tenants of live keys are made known; one too many is logged and its keys answer 401 nowhere,
    // so that the rest of the file still counts.
    void use_keys(std::vector<Key> keys) {
        std::set<std::string_view> seen;
        for (const Key& key : keys) {
            if (key.live(parts.loop.wall()) && seen.insert(key.tenant).second) {
                const Status known = parts.service.ensure_tenant(key.tenant);
                if (!known) {
                    log_event(Level::kError, "tenant_refused",
                              {{"key", std::string_view(key.id)},
                               {"why", std::string_view(known.error().message)}});
                }
            }
        }
        log_event(Level::kInfo, "keys_loaded", {{"keys", static_cast<std::int64_t>(keys.size())}});
        handlers.set_keys(KeyTable(std::move(keys)));
    }

    void watch_keys() {
        key_timer = parts.loop.call_at(
            parts.loop.now() + std::chrono::milliseconds(config.key_reload_ms), [this] {
                if (!worker.post([this] { look_at_keys(); })) {
                    watch_keys();
                }
            });
    }

    // Worker thread; `stamp` is its own after start().
    void look_at_keys() {
        const std::string path = key_file(parts.data_dir);
        const FileStamp now = stamp_of(path);
        if (now == stamp) {
            return parts.loop.post([this] { watch_keys(); });
        }
        stamp = now;
        auto keys = load_keys(path);
        parts.loop.post([this, loaded = std::move(keys)]() mutable {
            if (loaded) {
                http_metrics.key_reloads.add();
                use_keys(*std::move(loaded));
            } else {
                http_metrics.key_failures.add();
                log_event(Level::kError, "key_reload_failed",
                          {{"why", std::string_view(loaded.error().message)}});
            }
            watch_keys();
        });
    }

    void begin_drain() {
        if (std::exchange(draining, true)) {
            return;
        }
        log_event(Level::kInfo, "drain_begins",
                  {{"connections", static_cast<std::int64_t>(hub.size())}});
        handlers.set_draining();
        api->close();
        if (admin) {
            admin->close();
        }
        hub.drain([this] {
            parts.service.drain([this] {
                log_event(Level::kInfo, "drain_ends", {});
                parts.loop.stop();
            });
        });
    }

    void wait_for_signal() {
        signals.async_wait([this](const boost::system::error_code& code, int number) {
            if (code) {
                return;
            }
            log_event(Level::kInfo, "signal", {{"number", static_cast<std::int64_t>(number)}});
            if (draining) {
                return parts.loop.stop();
            }
            begin_drain();
            wait_for_signal();
        });
    }

    const ServerConfig config;
    ServerParts parts;
    HttpMetrics http_metrics;
    Worker worker;
    Handlers handlers;
    SessionHub hub;
    std::unique_ptr<asio::ssl::context> tls;
    std::optional<Listener> api;
    std::optional<Listener> admin;
    asio::signal_set signals;
    FileStamp stamp;
    pipeline::Loop::TimerId key_timer = 0;
    bool draining = false;
};

Result<std::unique_ptr<Server>> Server::create(const ServerConfig& config,
                                               const ServerParts& parts) {
    TG_TRY([[maybe_unused]] const auto valid, validate(config));
    auto impl = std::make_unique<Impl>(config, parts);
    if (!config.tls_cert.empty()) {
        TG_TRY(impl->tls, make_tls(config.tls_cert, config.tls_key));
    }
    const std::string path = key_file(parts.data_dir);
    impl->stamp = stamp_of(path);
    TG_TRY(auto keys, load_keys(path));
    impl->use_keys(std::move(keys));
    return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
    impl_->parts.loop.cancel(impl_->key_timer);
    impl_->worker.stop();  // what it posts from now on is not run: the loop has ended
}

Status Server::start() {
    Impl& at = *impl_;
    raise_file_limit(at.config.max_connections);
    at.api.emplace(at.parts.loop, at.hub, ListenerKind::kApi, at.tls.get());
    TG_TRY(const HostPort address, parse_host_port("server.listen", at.config.listen));
    TG_TRY([[maybe_unused]] const auto listening, at.api->listen(address));
    if (!at.config.admin_listen.empty()) {
        at.admin.emplace(at.parts.loop, at.hub, ListenerKind::kAdmin, at.tls.get());
        TG_TRY(const HostPort other,
               parse_host_port("server.admin_listen", at.config.admin_listen));
        TG_TRY([[maybe_unused]] const auto admin_listening, at.admin->listen(other));
    }
    at.hub.start();
    at.watch_keys();
    return ok();
}

Ports Server::ports() const {
    return Ports{impl_->api ? impl_->api->port() : std::uint16_t{0},
                 impl_->admin ? impl_->admin->port() : std::uint16_t{0}};
}

std::string Server::where() const {
    const std::string scheme = impl_->tls == nullptr ? "http://" : "https://";
    const auto base = [&scheme](const std::string& listen, std::uint16_t port) {
        return scheme + listen.substr(0, listen.rfind(':')) + ":" + std::to_string(port);
    };
    const Ports open = ports();
    std::string out = "listening on " + base(impl_->config.listen, open.api);
    if (open.admin != 0) {
        out += " (admin " + base(impl_->config.admin_listen, open.admin) + ")";
    }
    return out;
}

void Server::take_signals() {
    boost::system::error_code code;
    impl_->signals.add(SIGTERM, code);
    impl_->signals.add(SIGINT, code);
    impl_->wait_for_signal();
}

void Server::run() {
    (void)enter_thread(ThreadRole::kIo, "tg-io");
    impl_->parts.loop.run();
}

void Server::drain() {
    impl_->parts.loop.post([this] { impl_->begin_drain(); });
}

void Server::stop() {
    impl_->parts.loop.stop();
}

}  // namespace tollgate::server
