// Terminal and file helpers of the commands.
#include "apps/cli.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace tollgate::apps {

namespace {

Error system_error(const std::string& path) {
    return {Fault::kInternal, path + ": " + std::strerror(errno)};
}

std::string seconds_text(double seconds) {
    char text[32];
    const auto whole = static_cast<long long>(seconds + 0.5);
    (void)std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
    return text;
}

}  // namespace

int exit_code_of(const Status& status) {
    if (status) {
        return 0;
    }
    switch (status.error().fault) {
        case Fault::kBadInput:
        case Fault::kNotFound:
        case Fault::kTooLarge:
            return 2;
        default:
            return 1;
    }
}

int report(std::string_view command, const Status& status) {
    if (!status) {
        (void)std::fprintf(stderr, "tollgate %.*s: %s\n", static_cast<int>(command.size()),
                           command.data(), status.error().message.c_str());
        if (!status.error().detail.empty()) {
            (void)std::fprintf(stderr, "  %s\n", status.error().detail.c_str());
        }
    }
    return exit_code_of(status);
}

std::string grouped(std::uint64_t number) {
    std::string out = std::to_string(number);
    for (std::size_t at = out.size(); at > 3;) {
        at -= 3;
        out.insert(at, 1, ',');
    }
    return out;
}

ProgressBar::ProgressBar(std::string_view what, bool quiet)
    : what_(what),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      began_(Steady::now()),
      shown_(began_) {}

ProgressBar::~ProgressBar() {
    finish();
}

void ProgressBar::show(double share, std::uint64_t count, std::string_view unit) {
    if (quiet_) {
        return;
    }
    const auto now = Steady::now();
    const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
    if (now - shown_ < pause) {
        return;
    }
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    std::string line = what_ + " ";
    if (share >= 0.0) {
        constexpr std::size_t kWidth = 24;
        const double bounded = std::min(1.0, share);
        const auto full = static_cast<std::size_t>(bounded * static_cast<double>(kWidth));
        line += "[" + std::string(full, '#') + std::string(kWidth - full, '.') + "] ";
        line += std::to_string(static_cast<int>(bounded * 100.0)) + " %  ";
    }
    line += grouped(count) + " " + std::string(unit) + "  ";
    line += grouped(static_cast<std::uint64_t>(static_cast<double>(count) / seconds)) + "/s";
    if (share > 0.01 && share < 1.0) {
        line += "  " + seconds_text(seconds / share - seconds) + " left";
    }
    (void)std::fprintf(stderr, terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
    (void)std::fflush(stderr);
    drawn_ = true;
}

void ProgressBar::finish() {
    if (drawn_ && terminal_) {
        (void)std::fputc('\n', stderr);
    }
    drawn_ = false;
}

struct LineWriter::Impl {
    std::string path;
    std::FILE* file = nullptr;
    ZSTD_CCtx* zstd = nullptr;
    std::string buffer;
    std::vector<char> out = std::vector<char>(ZSTD_CStreamOutSize());

    ~Impl() {
        if (file != nullptr && file != stdout) {
            (void)std::fclose(file);
        }
        (void)ZSTD_freeCCtx(zstd);
    }

    Status put(const char* data, std::size_t size) {
        if (std::fwrite(data, 1, size, file) != size) {
            return system_error(path);
        }
        return ok();
    }

    // Hands the buffered lines on; `last` ends the frame.
    Status flush(bool last) {
        if (zstd == nullptr) {
            TG_TRY([[maybe_unused]] const auto written, put(buffer.data(), buffer.size()));
            buffer.clear();
            return ok();
        }
        ZSTD_inBuffer in{buffer.data(), buffer.size(), 0};
        const ZSTD_EndDirective mode = last ? ZSTD_e_end : ZSTD_e_continue;
        for (;;) {
            ZSTD_outBuffer to{out.data(), out.size(), 0};
            const std::size_t left = ZSTD_compressStream2(zstd, &to, &in, mode);
            if (ZSTD_isError(left) != 0) {
                return Error{Fault::kInternal, path + ": " + ZSTD_getErrorName(left)};
            }
            TG_TRY([[maybe_unused]] const auto written, put(out.data(), to.pos));
            if (last ? left == 0 : in.pos == in.size) {
                break;
            }
        }
        buffer.clear();
        return ok();
    }
};

LineWriter::LineWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LineWriter::~LineWriter() = default;

Result<std::unique_ptr<LineWriter>> LineWriter::open(const std::string& path) {
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
    if (impl->file == nullptr) {
        return Error{Fault::kBadInput, path + ": " + std::strerror(errno)};
    }
    if (path.size() > 4 && path.ends_with(".zst")) {
        impl->zstd = ZSTD_createCCtx();
        if (impl->zstd == nullptr) {
            return Error{Fault::kInternal, path + ": no memory for the encoder"};
        }
        (void)ZSTD_CCtx_setParameter(impl->zstd, ZSTD_c_compressionLevel, 6);
        (void)ZSTD_CCtx_setParameter(impl->zstd, ZSTD_c_checksumFlag, 1);
    }
    return std::unique_ptr<LineWriter>(new LineWriter(std::move(impl)));
}

Status LineWriter::write(std::string_view line) {
    constexpr std::size_t kBuffer = 1U << 17;
    impl_->buffer += line;
    impl_->buffer += '\n';
    return impl_->buffer.size() < kBuffer ? ok() : impl_->flush(false);
}

Status LineWriter::close() {
    TG_TRY([[maybe_unused]] const auto flushed, impl_->flush(true));
    std::FILE* file = std::exchange(impl_->file, nullptr);
    const int closed = file == stdout ? std::fflush(file) : std::fclose(file);
    return closed == 0 ? ok() : Status(system_error(impl_->path));
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        return Error{Fault::kNotFound, path + ": " + std::strerror(errno)};
    }
    std::string out;
    char chunk[16'384];
    std::size_t size = 0;
    while (out.size() <= max_bytes && (size = std::fread(chunk, 1, sizeof chunk, file)) > 0) {
        out.append(chunk, size);
    }
    const bool failed = std::ferror(file) != 0;
    (void)std::fclose(file);
    if (failed) {
        return Error{Fault::kInternal, path + ": it cannot be read (a folder?)"};
    }
    if (out.size() > max_bytes) {
        return Error{Fault::kTooLarge,
                     path + ": larger than " + std::to_string(max_bytes) + " bytes"};
    }
    return out;
}

Status write_file(const std::string& path, std::string_view content) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) {
        return Error{Fault::kBadInput, path + ": " + std::strerror(errno)};
    }
    const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    const bool closed = std::fclose(file) == 0;
    return written && closed ? ok() : Status(system_error(path));
}

Result<std::optional<EventTime>> moment_of(std::string_view field, const std::string& text) {
    if (text.empty()) {
        return std::optional<EventTime>();
    }
    TG_TRY(const EventTime at,
           parse_rfc3339(field, text.size() == 10 ? text + "T00:00:00Z" : text));
    return std::optional<EventTime>(at);
}

}  // namespace tollgate::apps
