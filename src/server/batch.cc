// Cutting lines and ordering answers.
#include "server/batch.h"

#include <utility>

#include "base/check.h"

namespace tollgate::server {

void Batch::feed(std::string_view bytes) {
    if (at_ > 0) {
        input_.erase(0, at_);
        scanned_ -= at_;
        at_ = 0;
    }
    input_.append(bytes);
}

bool Batch::room() const {
    return open_ < limits_.in_flight && out_.size() + held_ + unsent_ < limits_.buffer_bytes;
}

bool Batch::wants_input() const {
    // What is left in input_ is the begin of a line: without more bytes nothing can be handed on.
    return !ended_ && room() && scanned_ == input_.size();
}

std::uint64_t Batch::add_line() {
    lines_.push_back(Line{number_, false, {}});
    ++open_;
    return first_ + lines_.size() - 1;
}

bool Batch::next_line(BatchLines& to) {
    const std::size_t newline = input_.find('\n', scanned_);
    const bool complete = newline != std::string::npos;
    scanned_ = complete ? newline + 1 : input_.size();
    std::size_t end = complete ? newline : input_.size();
    if (!line_done_) {  // the rest of a line that was already refused
        at_ = scanned_;
        line_done_ = complete || ended_;
        return complete;
    }
    if (end - at_ > limits_.line_bytes) {
        ++number_;
        const std::uint64_t sequence = add_line();
        at_ = scanned_;
        line_done_ = complete || ended_;
        refuse(sequence, Problem{413, "line_too_large",
                                 "line " + std::to_string(number_) + " has more than " +
                                     std::to_string(limits_.line_bytes) + " bytes",
                                 ""});
        return true;
    }
    if (!complete && (!ended_ || end == at_)) {
        return false;
    }
    ++number_;
    std::string_view text(input_.data() + at_, end - at_);
    if (text.ends_with('\r')) {
        text.remove_suffix(1);
    }
    at_ = scanned_;
    if (text.find_first_not_of(" \t") != std::string_view::npos) {
        to.on_line(add_line(), text);
    }
    return true;
}

bool Batch::pump(std::size_t lines, BatchLines& to) {
    for (std::size_t i = 0; i < lines; ++i) {
        if (!room() || !next_line(to)) {
            return false;
        }
    }
    return room() && at_ < input_.size() && (scanned_ < input_.size() || ended_);
}

std::size_t Batch::line_of(std::uint64_t sequence) const {
    TG_CHECK(sequence >= first_ && sequence - first_ < lines_.size(), "no such line");
    return lines_[static_cast<std::size_t>(sequence - first_)].number;
}

void Batch::answer(std::uint64_t sequence, std::string text) {
    TG_CHECK(sequence >= first_ && sequence - first_ < lines_.size(), "no such line");
    Line& line = lines_[static_cast<std::size_t>(sequence - first_)];
    TG_CHECK(!line.answered, "a line is answered once");
    line.answered = true;
    line.text = std::move(text);
    held_ += line.text.size() + 1;
    --open_;
    flush();
}

void Batch::refuse(std::uint64_t sequence, const Problem& problem) {
    std::string text;
    append_problem(text, problem, line_of(sequence));
    answer(sequence, std::move(text));
}

void Batch::fail(const Problem& problem) {
    input_.clear();
    at_ = scanned_ = 0;
    ended_ = line_done_ = true;
    ++number_;
    refuse(add_line(), problem);
}

void Batch::flush() {
    while (!lines_.empty() && lines_.front().answered) {
        held_ -= lines_.front().text.size() + 1;
        out_ += lines_.front().text;
        out_ += '\n';
        lines_.pop_front();
        ++first_;
    }
}

void Batch::take(std::string& out) {
    out.clear();
    out.swap(out_);
}

}  // namespace tollgate::server
