// Lines, columns and source lines of findings.
#include "decision/compile_report.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tollgate {
namespace {

// UTF-8 continuation bytes do not start a character.
int characters(std::string_view text) {
    return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned>(c) & 0xC0U) != 0x80U;
    }));
}

struct Place {
    int line = 1;
    std::size_t start = 0;  // of the line
};

Place place_of(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    Place place;
    place.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t newline = before.rfind('\n');
    place.start = newline == std::string_view::npos ? 0 : newline + 1;
    return place;
}

}  // namespace

SourceSpan joined(const SourceSpan& first, const SourceSpan& last) {
    return {first.file, first.offset, last.offset + last.length - first.offset};
}

int Reporter::line_of(const SourceSpan& at) const {
    return place_of(sources_[at.file].text, at.offset).line;
}

std::string Reporter::text_of(const SourceSpan& at) const {
    return sources_[at.file].text.substr(at.offset, at.length);
}

void Reporter::error(const SourceSpan& at, Finding finding) {
    ++errors_;
    add(Diagnostic::Level::kError, at, std::move(finding));
}
void Reporter::warning(const SourceSpan& at, Finding finding) {
    add(Diagnostic::Level::kWarning, at, std::move(finding));
}

void Reporter::add(Diagnostic::Level level, const SourceSpan& at, Finding finding) {
    if (kept_ >= kMaxFindings) {
        return;
    }
    if (++kept_ == kMaxFindings) {
        finding = {"too-many",
                   "more findings than the " + std::to_string(kMaxFindings) +
                       " that are listed; repair these first",
                   ""};
    }
    const std::string_view text = sources_[at.file].text;
    const Place place = place_of(text, at.offset);
    const std::size_t offset = std::min<std::size_t>(at.offset, text.size());
    const std::size_t end = std::min(text.find('\n', place.start), text.size());
    Diagnostic d;
    d.level = level;
    d.code = std::move(finding.code);
    d.file = sources_[at.file].file;
    d.line = place.line;
    d.column = characters(text.substr(place.start, offset - place.start)) + 1;
    // A finding over several lines points at its part of the first.
    const std::size_t length = std::min<std::size_t>(at.length, end - std::min(end, offset));
    d.length = std::max(1, characters(text.substr(offset, length)));
    d.message = std::move(finding.message);
    d.suggestion = std::move(finding.suggestion);
    std::string_view line = text.substr(place.start, end - place.start);
    while (!line.empty() && line.back() == '\r') {
        line.remove_suffix(1);
    }
    d.source_line = line.substr(0, 400);
    out_.push_back(std::move(d));
}

}  // namespace tollgate
