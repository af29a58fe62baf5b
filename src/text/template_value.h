// TemplateValue: what a template's names hold while it renders, with Jinja's (Python's) kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tollgate {

class TemplateValue;

// A value whose members the host works out when a template asks for them: an event, the windows. It
// must outlive the rendering. attribute() serves both `x.name` and `x["name"]`; an unknown name is
// an undefined value.
class TemplateObject {
  public:
    virtual ~TemplateObject() = default;
    virtual TemplateValue attribute(std::string_view name) const = 0;
};

// One call's arguments. Named ones in the order written.
struct TemplateCall {
    std::span<const TemplateValue> positional;
    std::span<const std::pair<std::string_view, TemplateValue>> named;
};
// A function or filter of the host (a filter's input is positional[0]). An Error ends the rendering
// with that fault and message.
using TemplateFunction = std::function<Result<TemplateValue>(const TemplateCall&)>;

// Cheap to copy: lists and maps are shared (docs/adr/0015). A template changes nothing but its own
// namespaces, so two threads may render with the same values.
class TemplateValue {
  public:
    enum class Kind : std::uint8_t {
        kUndefined,
        kNone,
        kBool,
        kInteger,  // 64 bits; arithmetic past them is an error, not a wrap
        kFloat,
        kString,
        kList,
        kMap,  // string keys, in order of insertion
        kObject,
        kFunction,
    };
    using List = std::vector<TemplateValue>;
    using Map = std::vector<std::pair<std::string, TemplateValue>>;

    TemplateValue() = default;  // undefined
    static TemplateValue none();
    static TemplateValue boolean(bool v);
    static TemplateValue integer(std::int64_t v);
    static TemplateValue real(double v);
    static TemplateValue string(std::string v);
    static TemplateValue list(List v);
    static TemplateValue map(Map v);
    static TemplateValue object(const TemplateObject* v);  // not owned
    static TemplateValue function(TemplateFunction v);

    Kind kind() const;
    bool is(Kind kind) const { return this->kind() == kind; }
    // Each is TG_CHECKed on another kind.
    bool boolean() const;
    std::int64_t integer() const;
    double real() const;
    const std::string& string() const;
    const List& list() const;
    List& mutable_list();
    const Map& map() const;
    Map& mutable_map();
    const TemplateObject& object() const;
    const TemplateFunction& function() const;

    // The number in a bool, integer or float; false for any other kind.
    bool to_number(double& out) const;
    bool truthy() const;  // Python's: empty text, list and map, 0, none and undefined are false

  private:
    using State = std::variant<std::monostate, std::nullptr_t, bool, std::int64_t, double,
                               std::string, std::shared_ptr<List>, std::shared_ptr<Map>,
                               const TemplateObject*, std::shared_ptr<const TemplateFunction>>;
    State state_;
};

}  // namespace tollgate
