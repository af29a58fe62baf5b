// ServerProcess: this binary once more, as `tollgate serve` on a folder of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tollgate::apps {

class ServerProcess {
  public:
    // Waits until it says where it listens, at most 60 s; its log goes to `log`.
    static Result<ServerProcess> start(const std::vector<std::string>& arguments,
                                       const std::string& log);
    ServerProcess(ServerProcess&& other) noexcept;
    ServerProcess& operator=(ServerProcess&&) = delete;
    ~ServerProcess();  // SIGTERM, then SIGKILL after 30 s

    const std::string& url() const { return url_; }
    const std::string& admin_url() const { return admin_url_; }
    // Asks it to end and waits; its exit status, negative for a signal.
    int stop();

  private:
    ServerProcess() = default;
    int pid_ = -1;
    std::string url_;
    std::string admin_url_;
};

}  // namespace tollgate::apps
