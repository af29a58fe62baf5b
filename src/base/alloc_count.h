// Allocation counters of one binary, for "allocates nothing" promises that are measured.
#pragma once

#include <cstddef>
#include <cstdint>

// 1 where a sanitizer brings its own allocator, which the hooks leave alone. g++ defines a macro a
// sanitizer, clang answers __has_feature.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TG_SANITIZER_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TG_SANITIZER_ALLOCATOR 1
#endif
#endif
#ifndef TG_SANITIZER_ALLOCATOR
#define TG_SANITIZER_ALLOCATOR 0
#endif

namespace tollgate {

// Whether this binary counts: it does when one of its object files includes
// base/alloc_count_operators.inc (a product binary: every operator new), or when the test library's
// alloc_counter is linked (every malloc besides). Otherwise every count below stays 0, so who
// prints a count asks first.
bool allocations_counted() noexcept;

// Allocations of the calling thread since it began. Costs one addition per allocation.
std::uint64_t thread_allocations() noexcept;

// Allocations of all threads since the first call of this function, which returns 0: before it
// no thread pays for the shared counter.
std::uint64_t process_allocations() noexcept;

namespace detail {
// For the two hooks only.
void count_allocation() noexcept;
}  // namespace detail

}  // namespace tollgate
