// The counters behind base/alloc_count.h; it replaces nothing itself, so any binary may link it.
#include "base/alloc_count.h"

#include <atomic>
#include <memory>

namespace tollgate {
namespace {

// Constant-initialised: an allocation may come before any constructor of the process or thread.
constinit thread_local std::uint64_t t_allocations = 0;
constinit std::atomic<bool> g_count_process{false};     // relaxed: a switch, set once
constinit std::atomic<std::uint64_t> g_allocations{0};  // relaxed: a count

}  // namespace

void detail::count_allocation() noexcept {
    ++t_allocations;
    if (g_count_process.load(std::memory_order_relaxed)) {
        g_allocations.fetch_add(1, std::memory_order_relaxed);
    }
}

bool allocations_counted() noexcept {
    const std::uint64_t before = t_allocations;
    // Through volatile, or the compiler may leave the pair out.
    void* volatile memory = ::operator new(1, std::nothrow);
    ::operator delete(memory);
    return t_allocations != before;
}

std::uint64_t thread_allocations() noexcept {
    return t_allocations;
}

std::uint64_t process_allocations() noexcept {
    g_count_process.store(true, std::memory_order_relaxed);
    return g_allocations.load(std::memory_order_relaxed);
}

}  // namespace tollgate
