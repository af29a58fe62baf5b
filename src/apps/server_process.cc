// Spawns, reads the address line, ends it by its own id.
#include "apps/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "base/time.h"

namespace tollgate::apps {

namespace {

constexpr auto kStartWait = std::chrono::seconds(60);
constexpr auto kStopWait = std::chrono::seconds(30);

// One line from a pipe; empty when none came in time or the writer ended.
std::string read_line(int fd, Steady::time_point until) {
    std::string line;
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now()).count();
        pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
        if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) {
            return {};
        }
        char c = 0;
        if (::read(fd, &c, 1) != 1) {
            return {};
        }
        if (c == '\n') {
            return line;
        }
        line += c;
    }
}

// "listening on http://… (admin http://…)"
bool parse_addresses(const std::string& line, std::string& url, std::string& admin) {
    const std::size_t at = line.find("http://");
    const std::size_t second = line.find("(admin ");
    if (at == std::string::npos || second == std::string::npos) {
        return false;
    }
    url = line.substr(at, line.find(' ', at) - at);
    admin = line.substr(second + 7, line.find(')', second) - second - 7);
    return true;
}

}  // namespace

Result<ServerProcess> ServerProcess::start(const std::vector<std::string>& arguments,
                                           const std::string& log) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return Error{Fault::kInternal, std::string("pipe: ") + std::strerror(errno)};
    }
    std::vector<std::string> words{"tollgate", "serve"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    ServerProcess out;
    const int failed =
        ::posix_spawn(&out.pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) {
        ::close(ends[0]);
        out.pid_ = -1;
        return Error{Fault::kInternal, std::string("spawn: ") + std::strerror(failed)};
    }
    const std::string line = read_line(ends[0], Steady::now() + kStartWait);
    ::close(ends[0]);
    if (!parse_addresses(line, out.url_, out.admin_url_)) {
        return Error{Fault::kInternal, "the server did not start; its log is " + log};
    }
    return out;
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      url_(std::move(other.url_)),
      admin_url_(std::move(other.admin_url_)) {}

ServerProcess::~ServerProcess() {
    (void)stop();
}

int ServerProcess::stop() {
    if (pid_ <= 0) {
        return 0;
    }
    const pid_t pid = std::exchange(pid_, -1);
    (void)::kill(pid, SIGTERM);
    const auto until = Steady::now() + kStopWait;
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
        if (Steady::now() >= until) {
            (void)::kill(pid, SIGKILL);
            (void)::waitpid(pid, &status, 0);
            break;
        }
        (void)::poll(nullptr, 0, 20);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace tollgate::apps
