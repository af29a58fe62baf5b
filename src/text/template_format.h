// Python's % formatting.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template_builtins.h"

namespace tollgate::jinja {

// "%d", "%.2f", "%s", "%05d", "%x", "%e", "%g", "%%". Widths and precisions to 200.
Result<TemplateValue> format_text(std::string_view pattern, std::span<const TemplateValue> values,
                                  Budget& budget);
// One number; kind is one of d i u f F e E g G x X o.
Result<std::string> format_number(char kind, int precision, const TemplateValue& value);

}  // namespace tollgate::jinja
