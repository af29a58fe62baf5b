// Runs a parsed template once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/template.h"
#include "text/template_ast.h"
#include "text/template_builtins.h"

namespace tollgate::jinja {

// One rendering: made on the stack, used once. The first error stops it; what has been printed by
// then is thrown away by the caller.
class Interpreter {
  public:
    Interpreter(const Program& program, const TemplateHost& host, const TemplateLimits& limits,
                std::span<const TemplateValue> values);

    Status run(std::string& out);

  private:
    enum class Flow : std::uint8_t { kOn, kBreak, kContinue };
    struct Loop {
        const TemplateValue::List* items = nullptr;
        std::size_t index = 0;
        TemplateValue changed;
        bool has_changed = false;
    };
    using Frame = std::vector<TemplateValue>;

    // --- statements (template_interpreter.cc) ---
    Flow run_nodes(const Nodes& nodes, std::string& out);
    Flow run_node(const Node& node, std::string& out);
    void print(const Node& node, std::string& out);
    Flow run_if(const Node& node, std::string& out);
    Flow run_for(const Node& node, std::string& out);
    void run_set(const Node& node);
    void run_set_field(const Node& node);
    void run_filtered(const Node& node, std::string& out);
    void run_call_block(const Node& node, std::string& out);
    bool bind_targets(const Node& node, const TemplateValue& item);
    void begin_scope(const std::vector<std::pair<std::uint32_t, Ref>>& begin);
    TemplateValue macro_value(const Macro& macro, const TemplateValue* caller);
    TemplateValue call_macro(const Macro& macro, const Args& args, const TemplateValue* caller);

    // --- expressions (template_eval.cc); an undefined value after a failure ---
    TemplateValue eval(const Expr& expr);
    TemplateValue eval_name(const Expr& expr);
    TemplateValue eval_list(const Expr& expr);
    TemplateValue eval_map(const Expr& expr);
    TemplateValue eval_attribute(const Expr& expr);
    TemplateValue member(const TemplateValue& of, std::string_view name);
    TemplateValue eval_item(const Expr& expr);
    TemplateValue eval_slice(const Expr& expr);
    TemplateValue eval_call(const Expr& expr);
    TemplateValue call_named(const Expr& expr, const Args& args, bool& done);
    TemplateValue eval_filter(const Expr& expr);
    TemplateValue calling_filter(const Expr& expr, const Args& args);
    TemplateValue mapped(const TemplateValue& item, const Args& args,
                         const TemplateValue* attribute);
    bool selected(std::string_view how, const TemplateValue& item, const Args& args);
    TemplateValue eval_test(const Expr& expr);
    TemplateValue eval_loop(const Expr& expr);
    TemplateValue eval_concat(const Expr& expr);
    TemplateValue eval_compare(const Expr& expr);
    TemplateValue eval_sign(const Expr& expr);
    TemplateValue arithmetic(const Expr& expr);
    TemplateValue add(const TemplateValue& a, const TemplateValue& b);
    TemplateValue multiply(const TemplateValue& a, const TemplateValue& b);
    TemplateValue divide(Op op, const TemplateValue& a, const TemplateValue& b);
    TemplateValue power(const TemplateValue& a, const TemplateValue& b);
    TemplateValue repeat(const TemplateValue& what, std::int64_t times);

    struct EvaluatedArgs {
        std::vector<TemplateValue> positional;
        std::vector<std::pair<std::string_view, TemplateValue>> named;
        Args view() const { return {positional, named}; }
    };
    EvaluatedArgs evaluate_args(const Expr& expr, std::size_t first);
    Result<TemplateValue> host_call(const TemplateFunction& function, const Args& args);

    // Fails once; later failures are echoes.
    TemplateValue fail(Error error);
    TemplateValue fail(std::string what) { return fail(Error{Fault::kBadInput, std::move(what)}); }
    TemplateValue take(Result<TemplateValue> result);
    bool spend(std::uint64_t steps = 1);
    bool fits(std::size_t bytes);
    TemplateValue& slot(const Ref& ref);
    const TemplateValue* value_of(const Ref& ref) const;
    Result<TemplateValue::List> items_of(const TemplateValue& value);

    const Program& program_;
    const TemplateHost& host_;
    const TemplateLimits& limits_;
    std::span<const TemplateValue> values_;
    Budget budget_;
    Frame outer_;             // the template's own slots
    Frame* frame_ = nullptr;  // the slots being used: outer_ or a macro's
    std::vector<Loop> loops_;
    std::vector<const void*> namespaces_;
    std::vector<TemplateValue>
        kept_;  // namespaces stay alive, so that their addresses are not reused
    std::size_t depth_ = 0;
    std::uint32_t line_ = 0;
    bool failed_ = false;
    Error error_{Fault::kInternal, {}, {}};
};

}  // namespace tollgate::jinja
