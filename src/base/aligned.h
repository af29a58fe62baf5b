// Aligned<T>: a fixed-size array on a 64-byte boundary, zeroed when made: weights, arenas, scratch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/check.h"

namespace tollgate {

// For plain number types. Never grows: what is sized at load time allocates nothing later.
template <class T>
class Aligned {
  public:
    static constexpr std::size_t kAlignment = 64;

    Aligned() = default;
    explicit Aligned(std::size_t size) : size_(size) {
        if (size > 0) {
            data_ =
                static_cast<T*>(::operator new (size * sizeof(T), std::align_val_t{kAlignment}));
            std::fill(data_, data_ + size, T{});
        }
    }
    Aligned(const Aligned& other) : Aligned(other.size_) {
        std::copy(other.begin(), other.end(), data_);
    }
    Aligned(Aligned&& other) noexcept { swap(other); }
    Aligned& operator=(Aligned other) noexcept {
        swap(other);
        return *this;
    }
    ~Aligned() { ::operator delete (data_, std::align_val_t{kAlignment}); }

    std::size_t size() const { return size_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](std::size_t i) {
        TG_DCHECK(i < size_, "index");
        return data_[i];
    }
    const T& operator[](std::size_t i) const {
        TG_DCHECK(i < size_, "index");
        return data_[i];
    }

  private:
    void swap(Aligned& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace tollgate
