// Tests of the allocation counters: each way to allocate counts, per thread and in the process.
#include "base/alloc_count.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include "base/testing/alloc_counter.h"

namespace tollgate {
namespace {

// The optimiser may remove an allocation whose result nobody reads.
void* kept(void* memory) {
    void* volatile sink = memory;
    return sink;
}
void keep(void* memory) {
    std::free(kept(memory));
}

template <class F>
std::size_t counted(F&& act) {
    const std::size_t before = testing::thread_allocations();
    act();
    return testing::thread_allocations() - before;
}

#if !TG_SANITIZER_ALLOCATOR
// Our own hooks: a sanitizer's calls back for fewer functions (g++'s thread sanitizer not for the
// aligned ones) and stops the process at a refused alignment.
TEST(AllocCount, EveryWayToAllocateCountsOnce) {
    EXPECT_EQ(counted([] {}), 0U);
    EXPECT_EQ(counted([] { keep(std::malloc(10)); }), 1U);
    EXPECT_EQ(counted([] { keep(std::calloc(2, 10)); }), 1U);
    EXPECT_EQ(counted([] { keep(std::aligned_alloc(64, 128)); }), 1U);
    EXPECT_EQ(counted([] { keep(std::realloc(std::malloc(10), 100000)); }), 2U);
    EXPECT_EQ(counted([] {
                  void* memory = nullptr;
                  EXPECT_EQ(::posix_memalign(&memory, 64, 100), 0);
                  keep(memory);
              }),
              1U);
    EXPECT_EQ(counted([] { ::operator delete(kept(::operator new(10))); }), 1U);
    EXPECT_EQ(counted([] { ::operator delete(kept(::operator new(10, std::nothrow))); }), 1U);
    EXPECT_EQ(counted([] {
                  const std::align_val_t align{128};
                  ::operator delete(kept(::operator new(200, align)), align);
              }),
              1U);
    EXPECT_EQ(counted([] { const std::string text(100, 'x'); }), 1U);
    EXPECT_EQ(counted([] { keep(::strdup("inside the C library")); }), 1U);
}

TEST(AllocCount, RefusedAlignmentIsRefusedStill) {
    void* memory = nullptr;
    EXPECT_EQ(::posix_memalign(&memory, 3, 100), EINVAL);
    EXPECT_EQ(::posix_memalign(&memory, 0, 100), EINVAL);
}
#endif

TEST(AllocCount, AThreadCountsItsOwnAndTheProcessCountsAll) {
    const std::size_t all = testing::allocations();
    const std::size_t mine = testing::thread_allocations();
    std::size_t started = 0;
    std::thread other([&] { started = counted([] { keep(std::malloc(10)); }); });
    const std::size_t to_start = testing::thread_allocations() - mine;
    other.join();
    EXPECT_EQ(started, 1U);
    EXPECT_EQ(testing::thread_allocations() - mine, to_start);
    EXPECT_GE(testing::allocations() - all, to_start + 1);
    EXPECT_TRUE(allocations_counted());
}

}  // namespace
}  // namespace tollgate
