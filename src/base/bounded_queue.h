// BoundedQueue<T>: a FIFO between threads with a fixed capacity; a full queue refuses instead of
// waiting.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace tollgate {

// Any number of producers and consumers. mutex_ guards everything below it.
template <class T>
class BoundedQueue {
  public:
    explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

    // False, and `value` untouched, when the queue is full or closed.
    bool try_push(T& value) {
        {
            const std::scoped_lock lock(mutex_);
            if (closed_ || items_.size() >= capacity_) {
                return false;
            }
            items_.push_back(std::move(value));
        }
        ready_.notify_one();
        return true;
    }

    // Waits until there is an item, the queue is closed and empty (nullopt), or `wait` has passed
    // (nullopt).
    std::optional<T> pop_for(std::chrono::microseconds wait) {
        std::unique_lock lock(mutex_);
        (void)ready_.wait_for(lock, wait, [this] { return closed_ || !items_.empty(); });
        if (items_.empty()) {
            return std::nullopt;
        }
        std::optional<T> item(std::move(items_.front()));
        items_.pop_front();
        return item;
    }

    void close() {
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
        }
        ready_.notify_all();
    }

    bool closed() const {
        const std::scoped_lock lock(mutex_);
        return closed_;
    }
    std::size_t size() const {
        const std::scoped_lock lock(mutex_);
        return items_.size();
    }
    std::size_t capacity() const { return capacity_; }

  private:
    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<T> items_;
    bool closed_ = false;
};

}  // namespace tollgate
