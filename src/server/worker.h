// Worker: one background thread for what may not run on the io thread: reading the key file,
// rendering metrics, parsing a policy upload.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

#include "base/bounded_queue.h"

namespace tollgate::server {

// post() is safe from any thread. The destructor runs what is queued and joins.
class Worker {
  public:
    explicit Worker(std::size_t capacity = 64);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // False when the queue is full or stop() was called; `f` is dropped.
    bool post(std::function<void()> f);
    void stop();

  private:
    void run();
    BoundedQueue<std::function<void()>> queue_;
    std::thread thread_;
};

}  // namespace tollgate::server
