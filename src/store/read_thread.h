// The read thread: runs blocking reads for threads that may not block, in order.
#pragma once

#include <functional>
#include <thread>

#include "base/bounded_queue.h"

namespace tollgate::store {

// Thread-safe.
class ReadThread {
  public:
    explicit ReadThread(std::size_t capacity);
    ~ReadThread();  // runs what was accepted, then joins
    ReadThread(const ReadThread&) = delete;
    ReadThread& operator=(const ReadThread&) = delete;

    // False when the queue is full or closed.
    bool post(std::function<void()> f) { return queue_.try_push(f); }

  private:
    void run();

    BoundedQueue<std::function<void()>> queue_;
    std::thread thread_;
};

}  // namespace tollgate::store
