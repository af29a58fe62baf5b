// Parses a template into its program, names resolved to slots.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template.h"
#include "text/template_ast.h"

namespace tollgate::jinja {

Result<Program> parse_program(const std::string& name, std::string_view source,
                              const TemplateHost& host, const TemplateLimits& limits);

}  // namespace tollgate::jinja
