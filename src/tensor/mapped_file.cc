// Opens, checks, reads or maps.
#include "tensor/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace tollgate {

namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

Error cannot(const std::string& path, const char* what) {
    const int code = errno;
    return {code == ENOENT || code == ENOTDIR ? Fault::kNotFound : Fault::kBadInput,
            path + ": cannot be " + what + ": " + std::strerror(code)};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
    // O_NONBLOCK: a pipe of that name must not hold the process up.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
        return cannot(path, "opened");
    }
    struct stat about {};
    if (::fstat(file.get(), &about) != 0) {
        return cannot(path, "read");
    }
    if (!S_ISREG(about.st_mode)) {
        return Error{Fault::kBadInput, path + ": is no regular file"};
    }
    const auto size = static_cast<std::size_t>(about.st_size);
    if (size > kMaxBytes) {
        return Error{Fault::kTooLarge, path + ": " + std::to_string(size) + " bytes, at most " +
                                           std::to_string(kMaxBytes)};
    }
    MappedFile out;
    out.size_ = size;
    if (size > kReadLimit) {
        void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (at == MAP_FAILED) {
            return cannot(path, "mapped");
        }
        out.data_ = static_cast<const std::byte*>(at);
        out.mapped_ = true;
        return out;
    }
    out.read_ = std::make_unique<std::byte[]>(size == 0 ? 1 : size);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got = ::read(file.get(), out.read_.get() + done, size - done);
        if (got < 0 && errno != EINTR) {
            return cannot(path, "read");
        }
        if (got == 0) {
            return Error{Fault::kBadInput, path + ": became shorter while it was read"};
        }
        done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    out.data_ = out.read_.get();
    return out;
}

MappedFile::~MappedFile() {
    if (mapped_) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): munmap takes what mmap gave.
        ::munmap(const_cast<std::byte*>(data_), size_);
    }
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
    swap(other);
}
MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
}

void MappedFile::swap(MappedFile& other) noexcept {
    std::swap(read_, other.read_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
}

}  // namespace tollgate
