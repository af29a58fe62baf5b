// A temporary folder that goes when it does.
#pragma once

#include <string>

#include "base/result.h"

namespace tollgate::apps {

class TemporaryFolder {
  public:
    // In `parent`; empty: in TMPDIR or /tmp. Its name begins with "tollgate-PURPOSE-".
    static Result<TemporaryFolder> make(const std::string& parent, const std::string& purpose);
    TemporaryFolder(TemporaryFolder&& other) noexcept;
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();
    const std::string& path() const { return path_; }

  private:
    explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

}  // namespace tollgate::apps
