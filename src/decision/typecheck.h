// Names and types: what each name of an expression is, and whether the parts fit together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision/ast.h"
#include "decision/compile_report.h"
#include "decision/lists.h"
#include "decision/schema.h"

namespace tollgate {

// What a pack's files declare, while it is being compiled. Indexes are in order of declaration.
struct Symbols {
    struct Window {
        std::string name;
        Type type;
        WindowFn fn = WindowFn::kCount;
        std::uint32_t last_n = 0;
        std::string key;  // KeySpec::name
        bool used = false;
    };
    struct Keep {
        std::string name;
        ExprPtr tree;  // null until it is checked
        bool used = false;
    };
    const FieldTable& fields;
    const ListSet& lists;
    std::vector<Window> windows;
    std::vector<Keep> keeps;
    std::vector<bool> list_used;  // by list index
    std::vector<RowSlot> slots;
    std::vector<std::string> broken;  // declared, with a fault that is reported already

    std::optional<std::size_t> find_window(std::string_view name) const;
    std::optional<std::size_t> find_keep(std::string_view name) const;
    // The place of a field or kept number in stored rows, made on first use.
    std::uint32_t slot_of_field(FieldId field);
    std::uint32_t slot_of_keep(std::size_t keep);
};

// From where an expression is seen.
struct Context {
    enum class Place : std::uint8_t { kRule, kKeep, kWhere } place = Place::kRule;
    Currency currency;
    std::string zone;
    std::size_t window = 0;  // kWhere: whose
    std::size_t max_depth = 64;
};

// Resolves names and checks types in place; every fault is reported, its type is kUnknown.
class TypeChecker {
  public:
    TypeChecker(Symbols& symbols, const Context& context, Reporter& report)
        : symbols_(symbols), context_(context), report_(report) {}
    Type check(Expr& e);
    // The whole must be true or false.
    bool check_condition(Expr& e);
    // A literal as the rule set reads it (currency, days).
    Type check_literal(Expr& e);

  private:
    Type name(Expr& e);
    Type field_name(Expr& e, FieldId field);
    Type window_name(Expr& e, std::size_t window);
    Type keep_name(Expr& e, std::size_t keep);
    Type unknown_name(const Expr& e);
    Type logic(Expr& e);
    Type comparison(Expr& e);
    Type between(Expr& e);
    Type in_set(Expr& e);
    Type in_list(Expr& e);
    Type arithmetic(Expr& e);
    Type call(Expr& e);
    Type text_call(Expr& e);
    Type extreme_call(Expr& e);
    bool comparable(const Expr& left, const Expr& right);
    bool known_choice(const Expr& subject, const Expr& value);
    void take_label_words(Expr& e);
    Type fault(const Expr& at, std::string code, std::string message, std::string help = "");

    Symbols& symbols_;
    const Context& context_;
    Reporter& report_;
};

std::string type_name(const Type& type);  // "text", "money in USD"
// Values that a text field can have, when they are few and known: event_type, label.
std::span<const std::string_view> choices_of(const Expr& subject);
// Compiles a pattern to see whether it is allowed; an empty string, or why not.
std::string pattern_fault(std::string_view pattern);

}  // namespace tollgate
