// Buffered reading through zstd's streaming decoder where the file asks for it.
#include "apps/line_reader.h"

#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace tollgate::apps {

namespace {
constexpr std::size_t kMaxLine = 1U << 20;
constexpr std::size_t kChunk = 1U << 17;
constexpr unsigned char kZstdMagic[4] = {0x28, 0xB5, 0x2F, 0xFD};
}  // namespace

struct LineReader::Impl {
    std::FILE* file = nullptr;
    ZSTD_DStream* zstd = nullptr;
    std::vector<char> raw = std::vector<char>(kChunk);
    std::size_t raw_size = 0;
    std::size_t raw_at = 0;
    std::vector<char> text = std::vector<char>(2 * kChunk);
    std::size_t begin = 0;  // unread part of `text`
    std::size_t end = 0;
    std::uint64_t read = 0;
    bool eof = false;
    bool frame_open = false;

    ~Impl() {
        if (file != nullptr && file != stdin) {
            (void)std::fclose(file);
        }
        if (zstd != nullptr) {
            (void)ZSTD_freeDStream(zstd);
        }
    }

    bool refill_raw() {
        raw_size = std::fread(raw.data(), 1, raw.size(), file);
        raw_at = 0;
        read += raw_size;
        return raw_size > 0;
    }

    // Appends at least one byte to text[..end) or sets eof. The reason of a failure, or null.
    const char* refill() {
        if (begin > 0) {
            std::memmove(text.data(), text.data() + begin, end - begin);
            end -= begin;
            begin = 0;
        }
        if (text.size() - end < kChunk) {
            text.resize(text.size() * 2);
        }
        const std::size_t before = end;
        while (end == before) {
            if (raw_at == raw_size && !refill_raw()) {
                eof = true;
                if (std::ferror(file) != 0) {
                    return std::strerror(errno);
                }
                return frame_open ? "the compressed data ends in the middle" : nullptr;
            }
            if (zstd == nullptr) {
                const std::size_t n = std::min(raw_size - raw_at, text.size() - end);
                std::memcpy(text.data() + end, raw.data() + raw_at, n);
                raw_at += n;
                end += n;
                continue;
            }
            ZSTD_inBuffer in{raw.data(), raw_size, raw_at};
            ZSTD_outBuffer out{text.data(), text.size(), end};
            const std::size_t left = ZSTD_decompressStream(zstd, &out, &in);
            if (ZSTD_isError(left) != 0) {
                return ZSTD_getErrorName(left);
            }
            frame_open = left != 0;
            raw_at = in.pos;
            end = out.pos;
        }
        return nullptr;
    }
};

LineReader::LineReader() : impl_(std::make_unique<Impl>()) {}
LineReader::~LineReader() = default;

std::uint64_t LineReader::bytes_read() const {
    return impl_->read;
}

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
    std::unique_ptr<LineReader> reader(new LineReader());
    Impl& impl = *reader->impl_;
    reader->path_ = path;
    impl.file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
    if (impl.file == nullptr) {
        return Error{Fault::kNotFound, path + ": " + std::strerror(errno)};
    }
    struct stat info {};
    if (path != "-" && ::stat(path.c_str(), &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return Error{Fault::kBadInput, path + ": is a folder, a file is needed"};
        }
        reader->file_size_ = static_cast<std::uint64_t>(info.st_size);
    }
    (void)impl.refill_raw();
    if (impl.raw_size >= 4 && std::memcmp(impl.raw.data(), kZstdMagic, 4) == 0) {
        impl.zstd = ZSTD_createDStream();
        if (impl.zstd == nullptr) {
            return Error{Fault::kInternal, path + ": no memory for the decoder"};
        }
    }
    return reader;
}

Result<bool> LineReader::next(std::string_view& line) {
    Impl& impl = *impl_;
    std::size_t searched = 0;
    for (;;) {
        const char* from = impl.text.data() + impl.begin;
        const std::size_t have = impl.end - impl.begin;
        const void* newline = std::memchr(from + searched, '\n', have - searched);
        std::size_t size = have;
        if (newline != nullptr) {
            size = static_cast<std::size_t>(static_cast<const char*>(newline) - from);
        }
        if (newline == nullptr && size <= kMaxLine && !impl.eof) {
            searched = have;
            if (const char* reason = impl.refill(); reason != nullptr) {
                return Error{Fault::kCorrupt,
                             path_ + " after line " + std::to_string(line_number_) + ": " + reason};
            }
            continue;
        }
        if (newline == nullptr && impl.eof && have == 0) {
            return false;
        }
        ++line_number_;
        if (size > kMaxLine) {
            return Error{Fault::kTooLarge, path_ + ":" + std::to_string(line_number_) +
                                               ": the line is longer than 1,048,576 bytes"};
        }
        impl.begin += newline == nullptr ? size : size + 1;
        line = std::string_view(from, size);
        if (!line.empty() && line.back() == '\r') {
            line.remove_suffix(1);
        }
        return true;
    }
}

}  // namespace tollgate::apps
