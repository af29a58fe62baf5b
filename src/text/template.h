// Template: a Jinja subset, big enough for chat templates, prompts and encoder inputs; parsed once,
// rendered often, bounded in steps, depth and output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/template_value.h"

namespace tollgate {

struct TemplateLimits {
    std::size_t source_bytes = std::size_t{256} << 10;
    std::size_t nesting = 64;                         // of blocks and of expressions, when parsing
    std::uint64_t steps = 1000000;                    // nodes and items visited in one rendering
    std::size_t depth = 64;                           // of macro calls and of values printed
    std::size_t output_bytes = std::size_t{4} << 20;  // also of any one text made on the way
};

// Names the host adds. Filters and functions of the language itself are always there.
struct TemplateHost {
    std::vector<std::pair<std::string, TemplateFunction>> filters;
    std::vector<std::pair<std::string, TemplateFunction>> functions;
};

// Immutable once parsed; any thread may render it, several at once when the host's functions allow
// it. White space as transformers sets it: trim_blocks and lstrip_blocks on, one trailing newline
// of the source dropped. Autoescape off. Undefined: prints as nothing, its attribute is an error.
//
// Source: Jinja 3.1 template designer documentation; transformers' chat template extensions
// (raise_exception, strftime_now, tojson without HTML escapes, {% generation %}, loop controls).
class Template {
  public:
    // kBadInput with "NAME:LINE: what" for a template that does not parse, with the nearest known
    // filter or test for an unknown one; kTooLarge past a bound.
    static Result<Template> parse(std::string name, std::string source, TemplateHost host = {},
                                  const TemplateLimits& limits = {});
    Template(Template&&) noexcept;
    Template& operator=(Template&&) noexcept;
    ~Template();

    // The names that the template reads and does not set itself, in order of first use: what
    // render() wants values for.
    const std::vector<std::string>& names() const;
    // False for a name that the template sets itself, but maybe not always ({% if a %}{% set b = 1
    // %}): the host may give it a value and need not.
    bool is_read(std::size_t index) const;

    // Appends the rendering to `out`; `values` in the order of names(). On an error `out` is as it
    // was. kBadInput: what the template raised (raise_exception: its own message) or got wrong,
    // with its line; kTooLarge: output or steps past the bound.
    Status render(std::span<const TemplateValue> values, std::string& out) const;
    // The same with values by name; names that the template does not read are left out.
    Result<std::string> render(const TemplateValue::Map& values) const;

  private:
    struct Impl;
    explicit Template(std::unique_ptr<const Impl> impl);
    std::unique_ptr<const Impl> impl_;
};

}  // namespace tollgate
