// EventIndex: which event ids a tenant may have seen, as 64-bit fingerprints. A hit is confirmed in
// the store, so a collision costs a read and never a wrong answer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tollgate::pipeline {

// Loop thread only. 1,024 open-addressing tables that grow one by one, so that growth never stalls
// the loop for longer than a few tens of microseconds. 16 bytes an id at the most.
class EventIndex {
  public:
    explicit EventIndex(std::size_t max_entries);
    // False: surely never added. True: ask the store.
    bool maybe_seen(std::string_view event_id) const noexcept;
    // Past max_entries nothing is added and maybe_seen() answers true for everything: complete() is
    // false.
    void add(std::string_view event_id);
    std::size_t size() const noexcept { return size_; }
    bool complete() const noexcept { return complete_; }

  private:
    struct Table {
        std::vector<std::uint64_t> slots;  // 0: free
        std::size_t used = 0;
    };
    static void grow(Table& table);
    std::vector<Table> tables_;
    std::size_t size_ = 0;
    std::size_t max_entries_;
    bool complete_ = true;
};

}  // namespace tollgate::pipeline
