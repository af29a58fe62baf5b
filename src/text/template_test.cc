// Template: bounds, hostile templates, what a failed rendering leaves behind, and the host's names.
#include "text/template.h"

#include <gtest/gtest.h>

namespace tollgate {
namespace {

Result<std::string> render(const std::string& source, const TemplateValue::Map& values = {},
                           const TemplateLimits& limits = {}) {
    auto made = Template::parse("t.j2", source, {}, limits);
    if (!made) {
        return made.error();
    }
    return made->render(values);
}

// Shared case C1: block trimming as transformers sets it.
TEST(Template, BlockTrimmingIsThatOfTransformers) {
    const TemplateValue::Map message = {{"role", TemplateValue::string("user")},
                                        {"content", TemplateValue::string("hi")}};
    const auto printed = render(
        "{% for m in messages %}\n  {% if m.role != \"tool\" %}\n[{{ m.role }}] {{ m.content }}\n"
        "  {% endif %}\n{% endfor %}\nEND",
        {{"messages", TemplateValue::list({TemplateValue::map(message)})}});
    ASSERT_TRUE(printed) << printed.error().message;
    EXPECT_EQ(*printed, "[user] hi\nEND");
}

// Shared case C3: what a template raises is the client's fault, and leaves nothing behind.
TEST(Template, ARaisedMessageIsTheErrorAndTheNextRenderingIsAsBefore) {
    const auto made = Template::parse(
        "t.j2", "{% if bad %}text{{ raise_exception('roles must alternate') }}{% endif %}fine");
    ASSERT_TRUE(made);
    const auto good = made->render({{"bad", TemplateValue::boolean(false)}});
    const auto bad = made->render({{"bad", TemplateValue::boolean(true)}});
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().fault, Fault::kBadInput);
    EXPECT_EQ(bad.error().message, "roles must alternate");
    const auto again = made->render({{"bad", TemplateValue::boolean(false)}});
    ASSERT_TRUE(good && again);
    EXPECT_EQ(*good, *again);
    std::string out = "kept";
    const std::vector<TemplateValue> values{TemplateValue::boolean(true)};
    EXPECT_FALSE(made->render(values, out));
    EXPECT_EQ(out, "kept");
}

TEST(Template, WhatWouldNeverEndIsTooLarge) {
    const std::string hostile[] = {
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{{ 'x' * 1000000000 }}",
        "{{ range(1000000000000) }}",
        "{{ [1] * 1000000000 }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}"
        "{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = ns.l + ns.l %}"
        "{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}"
        "{% endfor %}{{ ns.l }}",
        "{{ 'aaaaaaaaaa'|replace('a', 'b' * 2000000) }}",
    };
    for (const std::string& source : hostile) {
        const auto printed = render(source);
        ASSERT_FALSE(printed) << source;
        EXPECT_EQ(printed.error().fault, Fault::kTooLarge)
            << source << ": " << printed.error().message;
    }
    std::string doubling = "{% set a = [1] %}";
    for (int i = 0; i < 60; ++i) {
        doubling += "{% set a = [a, a] %}";
    }
    for (const std::string use : {"{{ a }}", "{{ a ~ '' }}", "{{ a|tojson }}", "{{ a|join }}"}) {
        const auto printed = render(doubling + use);
        ASSERT_FALSE(printed) << use;
        EXPECT_EQ(printed.error().fault, Fault::kTooLarge) << printed.error().message;
    }
    EXPECT_FALSE(render("{{ 9 ** 99 }}"));
    EXPECT_FALSE(render("{{ 9223372036854775807 + 1 }}"));
    EXPECT_FALSE(render("{{ '%99999d' % 1 }}"));
}

TEST(Template, NestingIsBoundedWhenParsing) {
    const auto many = [](const std::string& what, std::size_t times) {
        std::string out;
        for (std::size_t i = 0; i < times; ++i) {
            out += what;
        }
        return out;
    };
    for (const std::string& source :
         {"{{ " + many("(", 5000) + "1" + many(")", 5000) + " }}",
          "{{ " + many("[", 5000) + many("]", 5000) + " }}", "{{ " + many("-", 5000) + "1 }}",
          "{{ a" + many(".b", 50000) + " }}", "{{ 1" + many(" + 1", 50000) + " }}",
          "{{ 1" + many("|abs", 50000) + " }}", "{{ 1" + many(" if 1 else 1", 50000) + " }}",
          many("{% if 1 %}", 5000) + many("{% endif %}", 5000)}) {
        const auto made = Template::parse("t.j2", source);
        ASSERT_FALSE(made) << source.substr(0, 40);
        EXPECT_EQ(made.error().fault, Fault::kTooLarge) << made.error().message;
    }
    EXPECT_TRUE(render("{{ " + many("not ", 5001) + "1 }}"));
}

TEST(Template, ErrorsNameTheLineAndTheNearestName) {
    const auto filter = Template::parse("e.j2", "a\nb {{ x|uper }}");
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().message, "e.j2:2: unknown filter \"uper\"; did you mean \"upper\"?");
    const auto test = Template::parse("e.j2", "{{ x is defind }}");
    ASSERT_FALSE(test);
    EXPECT_EQ(test.error().message, "e.j2:1: unknown test \"defind\"; did you mean \"defined\"?");
    const auto run = render("\n\n{{ missing.field }}");
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().message, "t.j2:3: an undefined value has no \"field\"");
}

TEST(Template, NamesAreWhatTheTemplateReadsAndDoesNotSet) {
    const auto made =
        Template::parse("t.j2",
                        "{% set own = 1 %}{{ a }}{% for x in b %}{{ x }}{{ own }}{% endfor %}"
                        "{% macro m(p) %}{{ p }}{{ c }}{% endmacro %}{{ m(d) }}{{ range(3) }}");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->names(), (std::vector<std::string>{"a", "b", "c", "d"}));
}

class Card : public TemplateObject {
  public:
    TemplateValue attribute(std::string_view name) const override {
        return name == "brand" ? TemplateValue::string("visa") : TemplateValue();
    }
};

TEST(Template, HostObjectsFunctionsAndFiltersAreCalled) {
    TemplateHost host;
    host.filters.emplace_back("bucket", [](const TemplateCall& call) -> Result<TemplateValue> {
        return TemplateValue::string(call.positional[1].string() + "7");
    });
    host.functions.emplace_back("ratio", [](const TemplateCall& call) -> Result<TemplateValue> {
        double a = 0.0;
        double b = 0.0;
        if (!call.positional[0].to_number(a) || !call.positional[1].to_number(b) || b == 0.0) {
            return TemplateValue::none();
        }
        return TemplateValue::real(a / b);
    });
    host.functions.emplace_back("broken", [](const TemplateCall&) -> Result<TemplateValue> {
        return Error{Fault::kNotFound, "no such window"};
    });
    const auto made = Template::parse(
        "t.j2", "{{ card.brand }} {{ 3|bucket('amt') }} {{ ratio(1, 4) }} {{ ratio(1, 0) }}", host);
    ASSERT_TRUE(made) << made.error().message;
    const Card card;
    const auto printed = made->render({{"card", TemplateValue::object(&card)}});
    ASSERT_TRUE(printed) << printed.error().message;
    EXPECT_EQ(*printed, "visa amt7 0.25 None");
    const auto broken = Template::parse("t.j2", "{{ broken() }}", host);
    const auto failed = broken->render(TemplateValue::Map{});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::kNotFound);
    EXPECT_EQ(failed.error().message, "t.j2:1: no such window");
}

TEST(Template, ANamespaceCannotHoldItself) {
    const auto printed = render("{% set ns = namespace() %}{% set ns.list = [ns] %}");
    ASSERT_FALSE(printed);
    EXPECT_NE(printed.error().message.find("into itself"), std::string::npos);
}

TEST(Template, TheHostsValuesAreNotTheTemplatesToChange) {
    const TemplateValue shared = TemplateValue::map({{"a", TemplateValue::integer(1)}});
    EXPECT_FALSE(render("{% set d.a = 2 %}", {{"d", shared}}));
    EXPECT_FALSE(render("{{ d.update({'a': 2}) }}", {{"d", shared}}));
    EXPECT_EQ(shared.map()[0].second.integer(), 1);
}

}  // namespace
}  // namespace tollgate
