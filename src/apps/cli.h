// What every command needs of the terminal: how it fails, how it shows progress, how it writes
// lines.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace tollgate::apps {

// 0 for success, 2 for what the caller can mend in the command line or an input (bad input, not
// found, too large), else 1.
int exit_code_of(const Status& status);

// Prints "tollgate NAME: message" (and the detail) to standard error when it failed; the exit code.
int report(std::string_view command, const Status& status);

// "1,234,567".
std::string grouped(std::uint64_t number);

// A line on standard error that is drawn again at most ten times a second: share, count, rate, time
// left. Silent when `quiet` or when standard error is no terminal and the work takes under a
// second; then one line every ten seconds.
class ProgressBar {
  public:
    ProgressBar(std::string_view what, bool quiet);
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;
    // `share` 0..1, or negative when unknown.
    void show(double share, std::uint64_t count, std::string_view unit);
    void finish();  // ends the line; called by the destructor

  private:
    std::string what_;
    bool quiet_;
    bool terminal_;
    bool drawn_ = false;
    Steady::time_point began_;
    Steady::time_point shown_;
};

// Lines to a file, compressed with zstd when its name ends in .zst; "-" is standard output.
class LineWriter {
  public:
    static Result<std::unique_ptr<LineWriter>> open(const std::string& path);
    ~LineWriter();
    LineWriter(const LineWriter&) = delete;
    LineWriter& operator=(const LineWriter&) = delete;
    Status write(std::string_view line);  // a line feed is added
    // Ends the compressed frame and closes; the file is complete only after it.
    Status close();

  private:
    struct Impl;
    explicit LineWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

// An option's moment, "2018-08-08" (its midnight, UTC) or RFC 3339; empty: none. `field` names it
// in the error.
Result<std::optional<EventTime>> moment_of(std::string_view field, const std::string& text);

// The whole of a small file (at most `max_bytes`); kNotFound, kTooLarge.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);
// Replaces the file's content; kInternal with the system's reason.
Status write_file(const std::string& path, std::string_view content);

}  // namespace tollgate::apps
