// The background thread of the server.
#include "server/worker.h"

#include <chrono>
#include <utility>

#include "base/threads.h"

namespace tollgate::server {

Worker::Worker(std::size_t capacity) : queue_(capacity), thread_([this] { run(); }) {}

Worker::~Worker() {
    stop();
}

bool Worker::post(std::function<void()> f) {
    return queue_.try_push(f);
}

void Worker::stop() {
    queue_.close();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Worker::run() {
    (void)enter_thread(ThreadRole::kBackground, "tg-server-bg");
    for (;;) {
        auto f = queue_.pop_for(std::chrono::seconds(1));
        if (f) {
            (*f)();
        } else if (queue_.closed()) {
            return;
        }
    }
}

}  // namespace tollgate::server
