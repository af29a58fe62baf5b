// Scopes: which slot a name means while a template is being parsed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/template_ast.h"

namespace tollgate::jinja {

// Jinja's scopes, resolved once. A `for`, a macro and a call block open one; an `if` does not. A
// name set in a scope hides the outer one to that scope's end, and starts as the outer one's value
// (the `set` may lie in a branch that is not taken).
class Scopes {
  public:
    explicit Scopes(Program& program) : program_(program) {
        frames_.push_back({.size = &program.frame_size, .scopes = {}});
        push(&program.begin);
    }

    using Begin = std::vector<std::pair<std::uint32_t, Ref>>;
    void push(Begin* begin) { frames_.back().scopes.push_back({begin, {}, conditional_}); }
    void pop() { frames_.back().scopes.pop_back(); }
    void push_frame(std::uint32_t* size, Begin* begin) {
        frames_.push_back({.size = size, .scopes = {}});
        push(begin);
    }
    void pop_frame() { frames_.pop_back(); }
    // Puts the newest frame aside while the caller's own expression is read, and back.
    void suspend_frame() {
        suspended_ = std::move(frames_.back());
        frames_.pop_back();
    }
    void resume_frame() { frames_.push_back(std::move(suspended_)); }
    bool in_macro() const { return frames_.size() > 1; }

    // Inside a branch that may not be taken: what is set there must start as something.
    void enter_branch() { ++conditional_; }
    void leave_branch() { --conditional_; }

    std::uint32_t new_slot() { return (*frames_.back().size)++; }

    // A name that always gets its value before it is read: an argument, a loop's target.
    std::uint32_t declare(const std::string& name) {
        const std::uint32_t slot = new_slot();
        frames_.back().scopes.back().names[name] = slot;
        return slot;
    }

    // The target of a `set` (or a macro's name).
    std::uint32_t assign(const std::string& name) {
        Scope& scope = frames_.back().scopes.back();
        const auto here = scope.names.find(name);
        if (here != scope.names.end()) {
            return here->second;
        }
        const bool certain = conditional_ == scope.depth;
        Ref outer;
        const bool start = !certain && scope.begin != nullptr;
        if (start) {
            outer = find(name, false);
        }
        const std::uint32_t slot = new_slot();
        if (start) {
            scope.begin->emplace_back(slot, outer);
        }
        scope.names[name] = slot;
        return slot;
    }

    Ref find(const std::string& name, bool read = true) {
        const Frame& own = frames_.back();
        for (auto scope = own.scopes.rbegin(); scope != own.scopes.rend(); ++scope) {
            if (const auto found = scope->names.find(name); found != scope->names.end()) {
                return {Ref::Place::kLocal, found->second};
            }
        }
        if (in_macro()) {
            const auto& outer = frames_.front().scopes;
            for (auto scope = outer.rbegin(); scope != outer.rend(); ++scope) {
                if (const auto found = scope->names.find(name); found != scope->names.end()) {
                    return {Ref::Place::kOuter, found->second};
                }
            }
        }
        const auto [at, fresh] = hosts_.try_emplace(name, hosts_.size());
        if (fresh) {
            program_.host_names.push_back(name);
            program_.host_read.push_back(false);
        }
        if (read) {
            program_.host_read[at->second] = true;
        }
        return {Ref::Place::kHost, static_cast<std::uint32_t>(at->second)};
    }

  private:
    struct Scope {
        Begin* begin = nullptr;
        std::map<std::string, std::uint32_t> names;
        int depth = 0;  // of branches, where it began
    };
    struct Frame {
        std::uint32_t* size = nullptr;
        std::vector<Scope> scopes;
    };
    Program& program_;
    std::vector<Frame> frames_;
    Frame suspended_;
    std::map<std::string, std::size_t> hosts_;
    int conditional_ = 0;
};

}  // namespace tollgate::jinja
