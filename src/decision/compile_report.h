// Where a piece of a rules file is, and how findings about it are collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "decision/rules.h"

namespace tollgate {

// A stretch of one source's text. Sources are numbered as given to compile_rules.
struct SourceSpan {
    std::uint32_t file = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

// From the start of `first` to the end of `last`.
SourceSpan joined(const SourceSpan& first, const SourceSpan& last);

struct Finding {
    std::string code;        // stable
    std::string message;     // what is wrong, with names and values
    std::string suggestion;  // what to write instead; may be empty
};

// Turns spans into lines and columns (counted in characters, from 1). At most kMaxFindings are
// kept, the last of them says that there were more.
class Reporter {
  public:
    static constexpr std::size_t kMaxFindings = 200;
    Reporter(std::span<const RuleSource> sources, std::vector<Diagnostic>& out)
        : sources_(sources), out_(out) {}
    void error(const SourceSpan& at, Finding finding);
    void warning(const SourceSpan& at, Finding finding);
    std::size_t errors() const { return errors_; }
    int line_of(const SourceSpan& at) const;
    const std::string& file_of(const SourceSpan& at) const { return sources_[at.file].file; }
    std::string text_of(const SourceSpan& at) const;

  private:
    void add(Diagnostic::Level level, const SourceSpan& at, Finding finding);
    std::span<const RuleSource> sources_;
    std::vector<Diagnostic>& out_;
    std::size_t errors_ = 0;
    std::size_t kept_ = 0;
};

}  // namespace tollgate
