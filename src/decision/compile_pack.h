// The compiler's working state over all files of a pack, between parsing and the finished
// CompiledRules.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decision/ast.h"
#include "decision/compile_report.h"
#include "decision/rules.h"
#include "decision/typecheck.h"

namespace tollgate {

// One use: call run() once. Stages in the order of the private functions below.
class PackCompiler {
  public:
    PackCompiler(std::span<const RuleSource> sources, FieldTable& fields, ListSet& lists,
                 const CompileLimits& limits, std::vector<Diagnostic>& out);
    std::unique_ptr<CompiledRules> run();

  private:
    // A window between its declaration and its place in the plan.
    struct Draft {
        const WindowAst* ast = nullptr;
        std::size_t ruleset = 0;
        WindowDef def;
        std::uint32_t key = 0;  // into keys_
        ExprPtr where;
        bool broken = false;
    };
    struct KeepDraft {
        const KeepAst* ast = nullptr;
        std::size_t ruleset = 0;
    };

    // compile.cc
    void parse();
    void read_headers();
    bool read_header(const FileAst& file, Ruleset& out);
    void read_lists();
    void read_list(const ListAst& list, std::size_t ruleset);
    void declare();
    bool good_name(const Word& name);
    void check_rules();
    void check_rule(RuleAst& rule, std::size_t ruleset);
    void assemble();
    void assemble_rules();
    void count_cost();
    Context context(Context::Place place, std::size_t ruleset, std::size_t window = 0) const;

    // compile_windows.cc
    void check_windows();
    void check_window(std::size_t index);
    bool check_argument(Draft& draft, Symbols::Window& symbol);
    bool check_result(Draft& draft, Symbols::Window& symbol, const Type& argument,
                      std::string_view argument_name);
    bool check_keys(Draft& draft, Symbols::Window& symbol);
    void check_bounds(Draft& draft);
    void check_else(Draft& draft, const Symbols::Window& symbol);
    void check_where(std::size_t index);
    void order_windows();
    bool visit_window(std::uint32_t index, std::vector<std::uint8_t>& state,
                      std::vector<std::uint32_t>& path);
    void check_keeps();
    void warn_unused();
    void place_slots(std::vector<std::uint32_t>& slot_map);
    void place_keys(std::vector<std::uint32_t>& key_map);
    void assemble_plan();
    void check_kept_current(const Draft& draft);
    void mark_feeders();
    std::string identity_of(std::size_t window) const;
    void sign_plan();

    std::span<const RuleSource> sources_;
    FieldTable& fields_;
    ListSet& lists_;
    const CompileLimits& limits_;
    std::vector<Diagnostic>& out_;
    Reporter report_;
    Symbols symbols_;
    std::vector<FileAst> files_;  // one per source
    std::vector<bool> usable_;    // the source has a good header
    std::vector<Ruleset> rulesets_;
    std::vector<std::size_t> ruleset_of_;  // source -> rulesets_
    struct ListUse {
        std::size_t list = 0;
        SourceSpan span;
    };
    std::vector<ListUse> declared_lists_;
    std::vector<Draft> windows_;
    std::vector<KeepDraft> keeps_;
    std::vector<KeySpec> keys_;
    std::vector<std::uint32_t> order_;       // window indexes, dependencies first
    std::vector<std::uint32_t> window_map_;  // declared index -> WindowId
    struct RuleDraft {
        RuleAst* ast = nullptr;
        std::size_t ruleset = 0;
        bool broken = false;
    };
    std::vector<RuleDraft> rules_;
    std::unique_ptr<CompiledRules> done_;
};

WindowFn window_fn_of(std::string_view name, bool& known);
std::string_view to_text(WindowFn fn);

}  // namespace tollgate
