// MappedFile: a regular file's bytes, read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tollgate {

// Files up to kReadLimit are read into memory: what happens to the file afterwards cannot matter.
// Larger ones are mapped; one that is cut short while it is mapped would end the process at the
// next touch (SIGBUS), so they are mapped privately and the operator is told not to change a
// model's folder in place (docs/operations.md): copy it, then switch.
class MappedFile {
  public:
    static constexpr std::size_t kReadLimit = std::size_t{256} << 20;
    static constexpr std::size_t kMaxBytes = std::size_t{64} << 30;

    // kNotFound when there is no such file, kBadInput when it is no regular file or cannot be read,
    // kTooLarge past kMaxBytes.
    static Result<MappedFile> open(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  private:
    MappedFile() = default;
    void swap(MappedFile& other) noexcept;

    std::unique_ptr<std::byte[]> read_;  // null when mapped
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    bool mapped_ = false;
};

}  // namespace tollgate
