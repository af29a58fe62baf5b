// Made by mkdtemp, removed with all that is in it.
#include "apps/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tollgate::apps {

Result<TemporaryFolder> TemporaryFolder::make(const std::string& parent,
                                              const std::string& purpose) {
    const char* from_system = std::getenv("TMPDIR");
    std::string path = !parent.empty()          ? parent
                       : from_system != nullptr ? std::string(from_system)
                                                : std::string("/tmp");
    path += "/tollgate-" + purpose + "-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
        return Error{Fault::kBadInput, path + ": " + std::strerror(errno)};
    }
    return TemporaryFolder(path);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
    if (!path_.empty()) {
        std::error_code ignored;
        (void)std::filesystem::remove_all(path_, ignored);
    }
}

}  // namespace tollgate::apps
