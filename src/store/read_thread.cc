// The read thread's loop.
#include "store/read_thread.h"

#include <chrono>

#include "base/threads.h"

namespace tollgate::store {

ReadThread::ReadThread(std::size_t capacity) : queue_(capacity), thread_([this] { run(); }) {}

ReadThread::~ReadThread() {
    queue_.close();
    thread_.join();
}

void ReadThread::run() {
    // Nice 0 as the commit thread: repeats and cold keys wait for it inside a deadline.
    (void)enter_thread(ThreadRole::kCommit, "tg-read");
    while (true) {
        // close() wakes the wait; the bound only keeps it finite.
        const auto f = queue_.pop_for(std::chrono::minutes(1));
        if (f) {
            (*f)();
        } else if (queue_.closed() && queue_.size() == 0) {
            return;
        }
    }
}

}  // namespace tollgate::store
