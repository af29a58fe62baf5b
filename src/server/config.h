// ServerConfig: every knob of the HTTP server, and the one table that checks, explains and
// documents them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace tollgate::server {

// Defaults and bounds are in properties(); this struct only holds the values.
struct ServerConfig {
    std::string listen = "127.0.0.1:8080";
    std::string admin_listen = "127.0.0.1:0";  // empty: no admin listener
    std::string tls_cert;                      // PEM files; both or none
    std::string tls_key;
    std::uint64_t max_connections = 10'000;
    std::uint64_t max_body_bytes = 1U << 20;
    std::uint64_t max_policy_bytes = 16U << 20;
    std::uint64_t max_header_bytes = 16'384;
    std::uint64_t header_timeout_ms = 10'000;
    std::uint64_t body_timeout_ms = 30'000;
    std::uint64_t write_timeout_ms = 30'000;
    std::uint64_t idle_timeout_ms = 75'000;
    std::uint64_t max_deadline_ms = 1'000;
    std::uint64_t batch_line_bytes = 262'144;
    std::uint64_t batch_in_flight = 64;
    std::uint64_t batch_max_bytes = 1U << 30;
    std::uint64_t batch_buffer_bytes = 4U << 20;
    std::uint64_t batch_connections = 64;
    std::uint64_t drain_timeout_ms = 10'000;
    std::uint64_t key_reload_ms = 1'000;
};

// One knob: its name as the configuration file writes it ("server.listen"), where it is kept, its
// bounds and unit. Texts have no bounds; min and max are 0.
struct Property {
    std::string_view name;
    std::variant<std::uint64_t ServerConfig::*, std::string ServerConfig::*> member;
    std::uint64_t min = 0;
    std::uint64_t max = 0;
    std::string_view unit;  // "ms", "bytes", "" for none
    std::string_view description;
};
std::span<const Property> properties();

// Sets one knob from its text. kBadInput: unknown name (with the nearest one), not a number, out of
// range.
Status set_property(ServerConfig& config, std::string_view name, std::string_view text);

// Bounds of every knob and the rules between them.
Status validate(const ServerConfig& config);

// "host:port" in its parts. kBadInput names the knob; the port is 0..65535, the host an IP address
// or "localhost" ([::1]:80 for IPv6).
struct HostPort {
    std::string host;
    std::uint16_t port = 0;
};
Result<HostPort> parse_host_port(std::string_view name, std::string_view text);

std::string value_text(const ServerConfig& config, const Property& property);
// The reference table of docs/operations.md (Markdown), and the text for --help.
std::string reference_markdown();
std::string reference_help();

}  // namespace tollgate::server
