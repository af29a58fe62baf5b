// Template: a parsed program and the host's names.
#include "text/template.h"

#include "text/template_interpreter.h"
#include "text/template_parser.h"

namespace tollgate {

struct Template::Impl {
    jinja::Program program;
    TemplateHost host;
    TemplateLimits limits;
    std::vector<std::string> names;       // the program's, without functions
    std::vector<std::size_t> host_index;  // of each name in program.host_names
};

Template::Template(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

namespace {

bool is_function(const TemplateHost& host, const std::string& name) {
    for (const auto& [known, function] : host.functions) {
        if (known == name) {
            return true;
        }
    }
    for (const jinja::NamedBuiltin& known : jinja::functions()) {
        if (known.name == name) {
            return true;
        }
    }
    return name == "namespace";
}

}  // namespace

Result<Template> Template::parse(std::string name, std::string source, TemplateHost host,
                                 const TemplateLimits& limits) {
    auto impl = std::make_unique<Impl>();
    TG_TRY(impl->program, jinja::parse_program(name, source, host, limits));
    impl->host = std::move(host);
    impl->limits = limits;
    for (std::size_t i = 0; i < impl->program.host_names.size(); ++i) {
        if (!is_function(impl->host, impl->program.host_names[i])) {
            impl->names.push_back(impl->program.host_names[i]);
            impl->host_index.push_back(i);
        }
    }
    return Template(std::move(impl));
}

const std::vector<std::string>& Template::names() const {
    return impl_->names;
}

bool Template::is_read(std::size_t index) const {
    return impl_->program.host_read[impl_->host_index.at(index)];
}

Status Template::render(std::span<const TemplateValue> values, std::string& out) const {
    TG_CHECK(values.size() == impl_->names.size(), "one value per name");
    std::vector<TemplateValue> all(impl_->program.host_names.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        all[impl_->host_index[i]] = values[i];
    }
    std::string text;
    jinja::Interpreter interpreter(impl_->program, impl_->host, impl_->limits, all);
    if (Status done = interpreter.run(text); !done) {
        return done;
    }
    out += text;
    return ok();
}

Result<std::string> Template::render(const TemplateValue::Map& values) const {
    std::vector<TemplateValue> ordered;
    ordered.reserve(impl_->names.size());
    for (const std::string& name : impl_->names) {
        const TemplateValue* found = jinja::map_find(values, name);
        ordered.push_back(found == nullptr ? TemplateValue() : *found);
    }
    std::string out;
    if (Status done = render(ordered, out); !done) {
        return std::move(done).error();
    }
    return out;
}

}  // namespace tollgate
