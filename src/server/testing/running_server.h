// RunningServer: a Server over a FakeService on a thread of its own, with keys in a temporary
// folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/faults.h"
#include "base/metrics.h"
#include "server/asio_loop.h"
#include "server/keys.h"
#include "server/server.h"
#include "server/testing/fake_service.h"

namespace tollgate::server {

// Started by the constructor on port 0, stopped and joined by the destructor.
class RunningServer {
  public:
    explicit RunningServer(const std::function<void(ServerConfig&)>& change = {});
    ~RunningServer();
    RunningServer(const RunningServer&) = delete;
    RunningServer& operator=(const RunningServer&) = delete;

    std::uint16_t port() const { return ports_.api; }
    std::uint16_t admin_port() const { return ports_.admin; }
    const std::string& data_dir() const { return dir_; }
    FaultSwitches& faults() { return faults_; }
    Server& server() { return *server_; }
    // Runs f on the loop's thread and waits for it.
    void on_loop(const std::function<void(FakeService&)>& f);
    std::size_t assessments();
    void join();  // after drain() or stop()

    std::string key;        // tenant t-1, every scope
    std::string other_key;  // tenant t-2, scope read alone

    // A request with the key; `body` with its Content-Length.
    std::string request(const std::string& line, const std::string& body = {},
                        const std::string& headers = {}) const;

  private:
    std::string dir_;
    FaultSwitches faults_;
    Metrics metrics_;
    AsioLoop loop_{&faults_};
    FakeService service_;
    std::unique_ptr<Server> server_;
    Ports ports_;
    std::thread thread_;
};

}  // namespace tollgate::server
