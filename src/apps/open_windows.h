// A tenant's windows out of a data folder, read only: the last snapshot's keys, then the log since.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "decision/pack.h"
#include "decision/windows.h"
#include "store/store.h"

namespace tollgate::apps {

struct OpenedWindows {
    std::shared_ptr<const PolicyPack> pack;  // the tenant's active one; outlives the windows
    std::unique_ptr<WindowStore> windows;
    std::uint64_t last_seq = 0;
};

// `fallback` (a folder; empty: the embedded default pack) is taken when the tenant never activated
// a policy. kNotFound for a tenant that the folder does not know.
Result<OpenedWindows> open_windows(const store::Store& store, const std::string& tenant,
                                   const std::string& fallback);

}  // namespace tollgate::apps
