// Statements of one rendering.
#include "text/template_interpreter.h"

#include <algorithm>
#include <utility>

namespace tollgate::jinja {

using Kind = TemplateValue::Kind;

Interpreter::Interpreter(const Program& program, const TemplateHost& host,
                         const TemplateLimits& limits, std::span<const TemplateValue> values)
    : program_(program),
      host_(host),
      limits_(limits),
      values_(values),
      budget_(limits.steps, limits.output_bytes),
      outer_(program.frame_size),
      frame_(&outer_) {}

Status Interpreter::run(std::string& out) {
    begin_scope(program_.begin);
    run_nodes(program_.body, out);
    // Macros keep a way to each other and to their frame: cut before the values go.
    outer_.clear();
    for (TemplateValue& space : kept_) {
        space.mutable_map().clear();
    }
    if (failed_) {
        return error_;
    }
    return ok();
}

TemplateValue Interpreter::fail(Error error) {
    if (!failed_) {
        failed_ = true;
        const bool raised = error.detail == "raised by the template";
        if (!raised) {
            error.message =
                program_.name + ":" + std::to_string(line_) + ": " + std::move(error.message);
        } else {
            error.detail = program_.name + ":" + std::to_string(line_) + ": raised by the template";
        }
        error_ = std::move(error);
    }
    return {};
}

TemplateValue Interpreter::take(Result<TemplateValue> result) {
    return result ? *std::move(result) : fail(std::move(result).error());
}

bool Interpreter::spend(std::uint64_t steps) {
    if (Status paid = budget_.spend(steps); !paid) {
        fail(std::move(paid).error());
    }
    return !failed_;
}

bool Interpreter::fits(std::size_t bytes) {
    if (Status fine = budget_.text(bytes); !fine) {
        fail(std::move(fine).error());
    }
    return !failed_;
}

TemplateValue& Interpreter::slot(const Ref& ref) {
    return ref.place == Ref::Place::kLocal ? (*frame_)[ref.slot] : outer_[ref.slot];
}

const TemplateValue* Interpreter::value_of(const Ref& ref) const {
    switch (ref.place) {
        case Ref::Place::kLocal:
            return &(*frame_)[ref.slot];
        case Ref::Place::kOuter:
            return &outer_[ref.slot];
        case Ref::Place::kHost:
            break;
    }
    return &values_[ref.slot];
}

void Interpreter::begin_scope(const std::vector<std::pair<std::uint32_t, Ref>>& begin) {
    for (const auto& [to, from] : begin) {
        (*frame_)[to] = *value_of(from);
    }
}

Interpreter::Flow Interpreter::run_nodes(const Nodes& nodes, std::string& out) {
    for (const Node& node : nodes) {
        const Flow flow = run_node(node, out);
        if (failed_ || flow != Flow::kOn) {
            return flow;
        }
    }
    return Flow::kOn;
}

Interpreter::Flow Interpreter::run_node(const Node& node, std::string& out) {
    line_ = node.line;
    if (!spend()) {
        return Flow::kOn;
    }
    switch (node.kind) {
        case Do::kText:
            if (fits(out.size() + node.text.size())) {
                out += node.text;
            }
            return Flow::kOn;
        case Do::kPrint:
            print(node, out);
            return Flow::kOn;
        case Do::kIf:
            return run_if(node, out);
        case Do::kFor:
            return run_for(node, out);
        case Do::kSet:
            run_set(node);
            return Flow::kOn;
        case Do::kSetField:
            run_set_field(node);
            return Flow::kOn;
        case Do::kSetBlock:
        case Do::kFilterBlock:
            run_filtered(node, out);
            return Flow::kOn;
        case Do::kMacro:
            slot(node.targets[0]) = macro_value(*node.macro, nullptr);
            return Flow::kOn;
        case Do::kCallBlock:
            run_call_block(node, out);
            return Flow::kOn;
        case Do::kBreak:
            return Flow::kBreak;
        case Do::kContinue:
            return Flow::kContinue;
        case Do::kBody:
            break;
    }
    return run_nodes(*node.body, out);
}

void Interpreter::print(const Node& node, std::string& out) {
    const TemplateValue value = eval(node.expr);
    if (failed_) {
        return;
    }
    if (value.is(Kind::kString)) {
        if (fits(out.size() + value.string().size())) {
            out += value.string();
        }
        return;
    }
    std::size_t steps = budget_.left();
    if (reaches(value, nullptr, steps)) {  // counts what printing would visit
        fail(Error{Fault::kTooLarge, "a value is too large to print"});
        return;
    }
    const std::string text = to_str(value, limits_.depth);
    if (spend(text.size() / 16) && fits(out.size() + text.size())) {
        out += text;
    }
}

Interpreter::Flow Interpreter::run_if(const Node& node, std::string& out) {
    for (const Branch& branch : node.branches) {
        if (!branch.has_condition || eval(branch.condition).truthy()) {
            return failed_ ? Flow::kOn : run_nodes(*branch.body, out);
        }
        if (failed_) {
            break;
        }
    }
    return Flow::kOn;
}

// One target takes the item, several take it apart.
bool Interpreter::bind_targets(const Node& node, const TemplateValue& item) {
    if (node.targets.size() == 1) {
        slot(node.targets[0]) = item;
        return true;
    }
    if (!item.is(Kind::kList) || item.list().size() != node.targets.size()) {
        fail("cannot take " + std::string(kind_name(item)) + " apart into " +
             std::to_string(node.targets.size()) + " names");
        return false;
    }
    const TemplateValue held = item;
    for (std::size_t i = 0; i < node.targets.size(); ++i) {
        slot(node.targets[i]) = held.list()[i];
    }
    return true;
}

Interpreter::Flow Interpreter::run_for(const Node& node, std::string& out) {
    const TemplateValue source = eval(node.expr);
    if (failed_) {
        return Flow::kOn;
    }
    Result<TemplateValue::List> found = items_of(source);
    if (!found) {
        fail(std::move(found).error());
        return Flow::kOn;
    }
    TemplateValue::List items = *std::move(found);
    if (node.has_filter) {
        TemplateValue::List kept;
        for (TemplateValue& item : items) {
            if (!spend() || !bind_targets(node, item)) {
                return Flow::kOn;
            }
            if (eval(node.filter).truthy()) {
                kept.push_back(std::move(item));
            }
        }
        items = std::move(kept);
    }
    if (items.empty()) {
        return failed_ || !node.otherwise ? Flow::kOn : run_nodes(*node.otherwise, out);
    }
    loops_.push_back({.items = &items, .index = 0, .changed = {}, .has_changed = false});
    for (std::size_t i = 0; i < items.size() && !failed_; ++i) {
        loops_.back().index = i;
        begin_scope(node.begin);
        if (!spend() || !bind_targets(node, items[i])) {
            break;
        }
        if (run_nodes(*node.body, out) == Flow::kBreak) {
            break;
        }
    }
    loops_.pop_back();
    return Flow::kOn;
}

void Interpreter::run_set(const Node& node) {
    const TemplateValue value = eval(node.expr);
    if (!failed_) {
        bind_targets(node, value);
    }
}

void Interpreter::run_set_field(const Node& node) {
    TemplateValue value = eval(node.expr);
    if (failed_) {
        return;
    }
    TemplateValue target = *value_of(node.targets[0]);
    const bool own = target.is(Kind::kMap) && std::find(namespaces_.begin(), namespaces_.end(),
                                                        &target.map()) != namespaces_.end();
    if (!own) {
        fail("only a namespace's fields can be set: {% set ns = namespace() %}");
        return;
    }
    std::size_t steps = budget_.left();
    if (reaches(value, &target.map(), steps)) {
        fail(steps == 0 ? Error{Fault::kTooLarge, "a value is too large to keep"}
                        : Error{Fault::kBadInput, "a namespace cannot be put into itself"});
        return;
    }
    if (spend(target.map().size() + 1)) {
        map_set(target.mutable_map(), node.text, std::move(value));
    }
}

void Interpreter::run_filtered(const Node& node, std::string& out) {
    std::string body;
    run_nodes(*node.body, body);
    if (failed_) {
        return;
    }
    (*frame_)[node.input_slot] = TemplateValue::string(std::move(body));
    const TemplateValue value = eval(node.expr);
    if (failed_) {
        return;
    }
    if (node.kind == Do::kSetBlock) {
        bind_targets(node, value);
        return;
    }
    const std::string text = to_str(value, limits_.depth);
    if (fits(out.size() + text.size())) {
        out += text;
    }
}

TemplateValue Interpreter::macro_value(const Macro& macro, const TemplateValue* caller) {
    const TemplateValue held = caller == nullptr ? TemplateValue() : *caller;
    return TemplateValue::function(
        [this, &macro, held](const TemplateCall& call) -> Result<TemplateValue> {
            return call_macro(macro, {call.positional, call.named}, &held);
        });
}

TemplateValue Interpreter::call_macro(const Macro& macro, const Args& args,
                                      const TemplateValue* caller) {
    if (depth_ >= limits_.depth) {
        return fail(Error{Fault::kTooLarge,
                          "macros call each other deeper than " + std::to_string(limits_.depth)});
    }
    if (args.size() > macro.names.size()) {
        return fail("macro " + macro.name + " takes " + std::to_string(macro.names.size()) +
                    " arguments, not " + std::to_string(args.size()));
    }
    Frame frame(macro.frame_size);
    Frame* const before = std::exchange(frame_, &frame);
    std::vector<Loop> loops;
    loops.swap(loops_);
    ++depth_;
    begin_scope(macro.begin);
    const TemplateValue* given_caller = args.find(SIZE_MAX, "caller");
    frame[macro.caller_slot] = given_caller != nullptr ? *given_caller : *caller;
    const std::size_t plain = macro.names.size() - macro.defaults.size();
    for (std::size_t i = 0; i < macro.names.size(); ++i) {
        const TemplateValue* value = args.find(i, macro.names[i]);
        if (value != nullptr) {
            frame[macro.slots[i]] = *value;
        } else if (i >= plain) {
            frame[macro.slots[i]] = eval(macro.defaults[i - plain]);
        }
    }
    for (const auto& [name, value] : args.named) {
        if (name != "caller" &&
            std::find(macro.names.begin(), macro.names.end(), name) == macro.names.end()) {
            fail("macro " + macro.name + " has no argument \"" + std::string(name) + "\"");
        }
    }
    std::string text;
    if (!failed_) {
        run_nodes(*macro.body, text);
    }
    --depth_;
    loops.swap(loops_);
    frame_ = before;
    return TemplateValue::string(std::move(text));
}

void Interpreter::run_call_block(const Node& node, std::string& out) {
    const TemplateValue caller = macro_value(*node.macro, nullptr);
    const TemplateValue callee = eval(node.expr.kids[0]);
    if (failed_) {
        return;
    }
    if (!callee.is(Kind::kFunction)) {
        fail("a call block calls a macro");
        return;
    }
    EvaluatedArgs args = evaluate_args(node.expr, 1);
    args.named.emplace_back("caller", caller);
    const TemplateValue value = take(host_call(callee.function(), args.view()));
    const std::string text = to_str(value, limits_.depth);
    if (!failed_ && fits(out.size() + text.size())) {
        out += text;
    }
}

}  // namespace tollgate::jinja
