// LineReader: the lines of a plain or zstd-compressed file, or standard input ("-"), with a bound
// on their length.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tollgate::apps {

class LineReader {
  public:
    // `.zst` by name or by magic number. kNotFound with the path and the system's reason.
    static Result<std::unique_ptr<LineReader>> open(const std::string& path);
    ~LineReader();
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;

    // The next line without its line feed (and carriage return), valid until the next call. False
    // at the end. A line longer than 1 MiB, a read error or broken compression is an error that
    // names file and line.
    Result<bool> next(std::string_view& line);
    std::uint64_t line_number() const { return line_number_; }  // of the last line, from 1
    std::uint64_t bytes_read() const;  // of the file as it lies on disk, for progress
    std::uint64_t file_size() const { return file_size_; }  // 0 when unknown (a pipe)

  private:
    struct Impl;
    LineReader();
    std::unique_ptr<Impl> impl_;
    std::string path_;
    std::uint64_t line_number_ = 0;
    std::uint64_t file_size_ = 0;
};

}  // namespace tollgate::apps
