// docs/openapi.json documents exactly the routes that are served: path, method, listener, scope.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "server/routes.h"
#include "text/json.h"

namespace tollgate::server {
namespace {

std::string line_of(std::string_view method, std::string_view path, bool admin,
                    std::string_view scope) {
    return std::string(method) + " " + std::string(path) + (admin ? " admin " : " api ") +
           std::string(scope);
}

TEST(OpenApi, DocumentsExactlyTheServedRoutes) {
    std::ifstream in(TG_SOURCE_DIR "/docs/openapi.json");
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    JsonDocument document;
    const JsonValue root = document.parse(text).value_or_die();
    std::set<std::string> documented;
    (void)root.find("paths")->each_member([&](std::string_view path, const JsonValue& methods) {
        return methods.each_member([&](std::string_view method, const JsonValue& operation) {
            std::string upper(method);
            for (char& c : upper) {
                c = static_cast<char>(c - 32);
            }
            const JsonValue scope = *operation.find("x-tollgate-scope");
            documented.insert(line_of(upper, path,
                                      operation.find("x-tollgate-listener")->string() == "admin",
                                      scope.is(JsonKind::kNull) ? "none" : scope.string()));
            return true;
        });
    });
    std::set<std::string> served;
    for (const Route& route : routes()) {
        served.insert(line_of(to_text(route.method), route.path,
                              route.listener == ListenerKind::kAdmin,
                              route.keyless ? "none" : to_text(static_cast<Scopes>(route.scope))));
    }
    EXPECT_EQ(documented, served);
}

}  // namespace
}  // namespace tollgate::server
