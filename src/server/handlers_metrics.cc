// What of /metrics a tenant's key may see.
#include <string>
#include <string_view>

#include "server/handlers.h"

namespace tollgate::server {

std::string metrics_of_tenant(std::string_view text, std::string_view tenant) {
    constexpr std::string_view kLabel = "tenant=\"";
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line =
            text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
        text.remove_prefix(line.size());
        const std::size_t at = line.starts_with('#') ? std::string_view::npos : line.find(kLabel);
        if (at != std::string_view::npos) {
            const std::string_view value = line.substr(at + kLabel.size());
            if (value.substr(0, value.find('"')) != tenant) {
                continue;
            }
        }
        out += line;
    }
    return out;
}

}  // namespace tollgate::server
