// Server: the HTTP face as a whole: listeners, connections, keys; built by apps over a loop and a
// service.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/faults.h"
#include "base/metrics.h"
#include "base/result.h"
#include "server/asio_loop.h"
#include "server/config.h"
#include "server/service.h"

namespace tollgate::server {

struct ServerParts {
    AsioLoop& loop;
    Service& service;
    Metrics& metrics;
    std::string data_dir;             // keys.json is in it
    FaultSwitches* faults = nullptr;  // non-null: /admin/faults is served (--enable-faults)
};

struct Ports {
    std::uint16_t api = 0;
    std::uint16_t admin = 0;  // 0: no admin listener
};

// Loop thread only, but for stop(). `parts` outlive it. Order of a life:
//   create (config checked, keys and certificate read) -> start (ports are open, nothing is
//   answered
//   yet) -> run (answers until drained or stopped) -> destructor.
class Server {
  public:
    static Result<std::unique_ptr<Server>> create(const ServerConfig& config,
                                                  const ServerParts& parts);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // From now on SIGTERM and SIGINT drain and then end run(); a second one ends it at once.
    void take_signals();
    Status start();
    Ports ports() const;
    // "listening on http://127.0.0.1:8080 (admin http://127.0.0.1:8081)"
    std::string where() const;
    // Runs the loop on this thread.
    void run();

    // Any thread: finish what is in flight, let the service drain, end run().
    void drain();
    // Any thread: end run() now.
    void stop();

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tollgate::server
