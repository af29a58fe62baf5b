// Thread roles of design section 6: name and priority of each thread of the process.
#pragma once

#include <cstdint>
#include <string_view>

namespace tollgate {

enum class ThreadRole : std::uint8_t {
    kIo,           // nice 0
    kFastCompute,  // nice 5
    kDeepCompute,  // SCHED_IDLE, or nice 19 where that is refused
    kCommit,       // nice 0: the store's commit thread is on the reply path
    kBackground,   // nice 10: log writer, review workers, snapshots
};

// Names the calling thread (15 bytes kept) and sets its priority. Never fails: what the system
// refuses is left as it is and false is returned.
bool enter_thread(ThreadRole role, std::string_view name) noexcept;

}  // namespace tollgate
