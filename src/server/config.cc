// The table of the server's knobs and what is derived from it.
#include "server/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "text/utf8.h"

namespace tollgate::server {
namespace {

using C = ServerConfig;

constexpr std::array kProperties{
    Property{"server.listen", &C::listen, 0, 0, "",
             "Address and port of the API; port 0 takes a free one."},
    Property{"server.admin_listen", &C::admin_listen, 0, 0, "",
             "Address and port of the admin routes; empty: none are served."},
    Property{"server.tls_cert", &C::tls_cert, 0, 0, "",
             "PEM file of the certificate chain; with tls_key it turns TLS on."},
    Property{"server.tls_key", &C::tls_key, 0, 0, "", "PEM file of the certificate's private key."},
    Property{
        "server.max_connections", &C::max_connections, 1, 100'000, "",
        "Connections held at once; past it an idle one makes room, else the new one gets 503."},
    Property{"server.max_body_bytes", &C::max_body_bytes, 1'024, 16U << 20, "bytes",
             "Largest request body, but for batches and policies; past it 413."},
    Property{"server.max_policy_bytes", &C::max_policy_bytes, 1'024, 256U << 20, "bytes",
             "Largest body of a policy upload; past it 413."},
    Property{"server.max_header_bytes", &C::max_header_bytes, 1'024, 65'536, "bytes",
             "Largest request line with its headers; past it 431."},
    Property{"server.header_timeout_ms", &C::header_timeout_ms, 100, 120'000, "ms",
             "From a request's first byte to the end of its headers; past it 408."},
    Property{"server.body_timeout_ms", &C::body_timeout_ms, 100, 600'000, "ms",
             "From the end of the headers to the end of the body; between two reads of a batch."},
    Property{"server.write_timeout_ms", &C::write_timeout_ms, 100, 600'000, "ms",
             "For one answer to be taken by the client; past it the connection is closed."},
    Property{"server.idle_timeout_ms", &C::idle_timeout_ms, 100, 3'600'000, "ms",
             "A kept-alive connection without a request is closed after it."},
    Property{"server.max_deadline_ms", &C::max_deadline_ms, 1, 60'000, "ms",
             "Largest X-Deadline-Ms a caller may ask for."},
    Property{"server.batch_line_bytes", &C::batch_line_bytes, 1'024, 16U << 20, "bytes",
             "Longest line of a batch; a longer one is answered by an error and skipped."},
    Property{"server.batch_in_flight", &C::batch_in_flight, 1, 4'096, "",
             "Lines of one batch in work at once; past it reading waits."},
    Property{"server.batch_max_bytes", &C::batch_max_bytes, 1U << 20, std::uint64_t{1} << 40,
             "bytes", "Largest body of one batch; past it 413."},
    Property{"server.batch_buffer_bytes", &C::batch_buffer_bytes, 65'536, 256U << 20, "bytes",
             "Answers of one batch held for a client that does not read; past it reading waits."},
    Property{"server.batch_connections", &C::batch_connections, 1, 4'096, "",
             "Batches served at once; further ones wait for their turn."},
    Property{"server.drain_timeout_ms", &C::drain_timeout_ms, 100, 600'000, "ms",
             "How long a drain waits for requests in flight before it closes them."},
    Property{"server.key_reload_ms", &C::key_reload_ms, 10, 60'000, "ms",
             "How often the key file is looked at for changes."},
};

// Edit distance for "did you mean"; names are short, so quadratic is fine.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            const std::size_t swap = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above + 1, row[j - 1] + 1, swap});
            diagonal = above;
        }
    }
    return row[b.size()];
}

Error unknown_name(std::string_view name) {
    std::string message = printable(name, 80) + " is no setting of the server";
    if (name.size() <= 64) {
        const auto* nearest = std::min_element(
            kProperties.begin(), kProperties.end(), [name](const Property& a, const Property& b) {
                return distance(a.name, name) < distance(b.name, name);
            });
        message += "; did you mean " + std::string(nearest->name) + "?";
    }
    return Error{Fault::kBadInput, std::move(message)};
}

Status check_range(const Property& property, std::uint64_t value) {
    if (value < property.min || value > property.max) {
        return Error{Fault::kBadInput, std::string(property.name) + " is " + std::to_string(value) +
                                           "; allowed are " + std::to_string(property.min) + ".." +
                                           std::to_string(property.max)};
    }
    return ok();
}

}  // namespace

std::span<const Property> properties() {
    return kProperties;
}

Status set_property(ServerConfig& config, std::string_view name, std::string_view text) {
    const auto* property = std::find_if(kProperties.begin(), kProperties.end(),
                                        [name](const Property& p) { return p.name == name; });
    if (property == kProperties.end()) {
        return unknown_name(name);
    }
    if (const auto* member = std::get_if<std::string ServerConfig::*>(&property->member)) {
        if (text.size() > 4'096 || !is_valid_utf8(text)) {
            return Error{Fault::kBadInput,
                         std::string(name) + " must be UTF-8 text of at most 4096 bytes"};
        }
        config.*(*member) = std::string(text);
        return ok();
    }
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) {
        return Error{Fault::kBadInput, std::string(name) + " is \"" + printable(text, 40) +
                                           "\"; a whole number " + std::to_string(property->min) +
                                           ".." + std::to_string(property->max) + " is needed"};
    }
    TG_TRY([[maybe_unused]] const auto in_range, check_range(*property, value));
    config.*std::get<std::uint64_t ServerConfig::*>(property->member) = value;
    return ok();
}

Status validate(const ServerConfig& config) {
    for (const Property& property : kProperties) {
        if (const auto* member = std::get_if<std::uint64_t ServerConfig::*>(&property.member)) {
            TG_TRY([[maybe_unused]] const auto in_range, check_range(property, config.*(*member)));
        }
    }
    TG_TRY([[maybe_unused]] const auto api, parse_host_port("server.listen", config.listen));
    if (!config.admin_listen.empty()) {
        TG_TRY([[maybe_unused]] const auto admin,
               parse_host_port("server.admin_listen", config.admin_listen));
    }
    if (config.tls_cert.empty() != config.tls_key.empty()) {
        return Error{Fault::kBadInput,
                     "server.tls_cert and server.tls_key are set together or not at all"};
    }
    return ok();
}

Result<HostPort> parse_host_port(std::string_view name, std::string_view text) {
    const auto refuse = [&] {
        return Error{Fault::kBadInput, std::string(name) + " is \"" + printable(text, 80) +
                                           "\"; HOST:PORT is needed, such as 127.0.0.1:8080 "
                                           "(port 0..65535)"};
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return refuse();
    }
    HostPort out;
    std::string_view host = text.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    out.host = host == "localhost" ? "127.0.0.1" : std::string(host);
    const std::string_view port = text.substr(colon + 1);
    const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (fault != std::errc{} || end != port.data() + port.size() || port.empty()) {
        return refuse();
    }
    return out;
}

std::string value_text(const ServerConfig& config, const Property& property) {
    if (const auto* member = std::get_if<std::string ServerConfig::*>(&property.member)) {
        return config.*(*member);
    }
    return std::to_string(config.*std::get<std::uint64_t ServerConfig::*>(property.member));
}

std::string reference_markdown() {
    const ServerConfig defaults;
    std::string out = "| setting | default | allowed | what it does |\n|---|---|---|---|\n";
    for (const Property& p : kProperties) {
        const std::string value = value_text(defaults, p);
        out +=
            "| `" + std::string(p.name) + "` | " + (value.empty() ? "(empty)" : "`" + value + "`");
        out += p.unit.empty() ? "" : " " + std::string(p.unit);
        out += " | ";
        out += p.max == 0 ? "text" : std::to_string(p.min) + ".." + std::to_string(p.max);
        out += " | " + std::string(p.description) + " |\n";
    }
    return out;
}

std::string reference_help() {
    const ServerConfig defaults;
    std::string out;
    for (const Property& p : kProperties) {
        out += "  " + std::string(p.name) + " = " + value_text(defaults, p);
        out += p.unit.empty() ? "" : " " + std::string(p.unit);
        out += p.max == 0 ? "" : "  (" + std::to_string(p.min) + ".." + std::to_string(p.max) + ")";
        out += "\n      " + std::string(p.description) + "\n";
    }
    return out;
}

}  // namespace tollgate::server
