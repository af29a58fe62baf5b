// Template against Jinja: every case of tests/golden/templates (make_templates.py) prints the same
// bytes, or fails with the message that the template raised.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "text/json.h"
#include "text/template.h"

namespace tollgate {
namespace {

TemplateValue from_json(const JsonValue& json) {
    switch (json.kind()) {
        case JsonKind::kNull:
            return TemplateValue::none();
        case JsonKind::kBool:
            return TemplateValue::boolean(json.boolean());
        case JsonKind::kInteger:
            return TemplateValue::integer(json.integer());
        case JsonKind::kUnsigned:
        case JsonKind::kDouble:
            return TemplateValue::real(json.number());
        case JsonKind::kString:
            return TemplateValue::string(std::string(json.string()));
        case JsonKind::kArray: {
            TemplateValue::List items;
            json.each_item([&](const JsonValue& item) {
                items.push_back(from_json(item));
                return true;
            });
            return TemplateValue::list(std::move(items));
        }
        case JsonKind::kObject:
            break;
    }
    TemplateValue::Map map;
    json.each_member([&](std::string_view key, const JsonValue& value) {
        map.emplace_back(std::string(key), from_json(value));
        return true;
    });
    return TemplateValue::map(std::move(map));
}

TEST(TemplateGolden, EveryCasePrintsWhatJinjaPrints) {
    std::ifstream file(std::string(TG_SOURCE_DIR) + "/tests/golden/templates/cases.json");
    std::stringstream text;
    text << file.rdbuf();
    JsonDocument document({.max_bytes = std::size_t{4} << 20});
    const auto cases = document.parse(text.str());
    ASSERT_TRUE(cases) << cases.error().message;
    std::size_t count = 0;
    cases->each_item([&](const JsonValue& one) {
        ++count;
        const std::string source(one.find("template")->string());
        const TemplateValue values = from_json(*one.find("values"));
        const auto made = Template::parse("t", source);
        const auto printed = made ? made->render(values.map()) : Result<std::string>(made.error());
        if (const auto output = one.find("output")) {
            EXPECT_TRUE(printed) << source << "\n" << (printed ? "" : printed.error().message);
            if (printed) {
                EXPECT_EQ(*printed, output->string()) << source;
            }
        } else {
            EXPECT_FALSE(printed) << source << "\nprinted " << (printed ? *printed : "");
            if (!printed && !one.find("error")->string().empty()) {
                EXPECT_EQ(printed.error().message, one.find("error")->string()) << source;
            }
        }
        return true;
    });
    EXPECT_GE(count, 140U);
}

}  // namespace
}  // namespace tollgate
