// Any bytes as a template: refused or rendered, never a crash, and rendered twice alike.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "text/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using tollgate::TemplateValue;
    const tollgate::TemplateLimits limits{.source_bytes = 4096,
                                          .nesting = 32,
                                          .steps = 20'000,
                                          .depth = 16,
                                          .output_bytes = std::size_t{64} << 10};
    const std::string source(reinterpret_cast<const char*>(data), size);
    const auto made = tollgate::Template::parse("fuzz", source, {}, limits);
    if (!made) {
        return 0;
    }
    const TemplateValue message =
        TemplateValue::map({{"role", TemplateValue::string("user")},
                            {"content", TemplateValue::string("h\xC3\xA9 <x>")}});
    const TemplateValue::Map values = {
        {"messages", TemplateValue::list({message, message})},
        {"n", TemplateValue::integer(-3)},
        {"x", TemplateValue::real(2.5)},
        {"flag", TemplateValue::boolean(true)},
    };
    const auto first = made->render(values);
    const auto second = made->render(values);
    const bool same = first ? second && *first == *second
                            : !second && first.error().message == second.error().message;
    if (!same) {
        std::abort();
    }
    return 0;
}
