// One table of the settings beside the server's own, used for reading, checking and printing.
#include "apps/serve_config.h"

#include <toml++/toml.h>

#include <functional>
#include <string_view>
#include <vector>

namespace tollgate::apps {

namespace {

struct Setting {
    std::string_view name;
    std::uint64_t min;
    std::uint64_t max;
    std::function<std::uint64_t(const ServeConfig&)> get;
    std::function<void(ServeConfig&, std::uint64_t)> set;
};

const std::vector<Setting>& settings() {
    static const std::vector<Setting> table = {
        {"store.journal_capacity", 1, 1'000'000,
         [](const ServeConfig& c) { return c.store.journal_capacity; },
         [](ServeConfig& c, std::uint64_t v) { c.store.journal_capacity = v; }},
        {"store.block_cache_mb", 1, 1U << 20,
         [](const ServeConfig& c) { return c.store.block_cache_bytes >> 20U; },
         [](ServeConfig& c, std::uint64_t v) { c.store.block_cache_bytes = v << 20U; }},
        {"windows.memory_mb", 1, 1U << 22,
         [](const ServeConfig& c) { return c.pipeline.windows.memory_bytes >> 20U; },
         [](ServeConfig& c, std::uint64_t v) { c.pipeline.windows.memory_bytes = v << 20U; }},
        {"windows.max_events_per_key", 16, 100'000'000,
         [](const ServeConfig& c) { return c.pipeline.windows.max_events_per_key; },
         [](ServeConfig& c, std::uint64_t v) { c.pipeline.windows.max_events_per_key = v; }},
        {"windows.max_scan_rows", 1'024, 1'000'000'000,
         [](const ServeConfig& c) { return c.pipeline.windows.max_scan_rows; },
         [](ServeConfig& c, std::uint64_t v) { c.pipeline.windows.max_scan_rows = v; }},
        {"pipeline.max_in_flight", 1, 1'000'000,
         [](const ServeConfig& c) { return c.pipeline.max_in_flight; },
         [](ServeConfig& c, std::uint64_t v) { c.pipeline.max_in_flight = v; }},
        {"pipeline.max_tenants", 1, 10'000,
         [](const ServeConfig& c) { return c.pipeline.max_tenants; },
         [](ServeConfig& c, std::uint64_t v) { c.pipeline.max_tenants = v; }},
        {"pipeline.max_parked_outcomes", 0, 10'000'000,
         [](const ServeConfig& c) { return c.pipeline.max_parked_outcomes; },
         [](ServeConfig& c, std::uint64_t v) { c.pipeline.max_parked_outcomes = v; }},
        {"pipeline.idempotency_entries", 1'000, 1'000'000'000,
         [](const ServeConfig& c) { return c.pipeline.idempotency_entries; },
         [](ServeConfig& c, std::uint64_t v) { c.pipeline.idempotency_entries = v; }},
        {"pipeline.retention_days", 0, 36'500,
         [](const ServeConfig& c) { return static_cast<std::uint64_t>(c.pipeline.retention_days); },
         [](ServeConfig& c, std::uint64_t v) {
             c.pipeline.retention_days = static_cast<std::int64_t>(v);
         }},
        {"pipeline.snapshot_every_s", 0, 86'400,
         [](const ServeConfig& c) {
             return static_cast<std::uint64_t>(c.pipeline.snapshot_every.count());
         },
         [](ServeConfig& c, std::uint64_t v) {
             c.pipeline.snapshot_every = std::chrono::seconds(static_cast<std::int64_t>(v));
         }},
        {"model.threads", 0, 256, [](const ServeConfig& c) { return c.model_threads; },
         [](ServeConfig& c, std::uint64_t v) { c.model_threads = v; }},
        {"model.queue", 1, 100'000, [](const ServeConfig& c) { return c.encoder.queue; },
         [](ServeConfig& c, std::uint64_t v) { c.encoder.queue = v; }},
        {"model.batch_texts", 1, 1'024, [](const ServeConfig& c) { return c.encoder.batch_texts; },
         [](ServeConfig& c, std::uint64_t v) { c.encoder.batch_texts = v; }},
        {"model.batch_tokens", 16, 65'536,
         [](const ServeConfig& c) { return c.encoder.batch_tokens; },
         [](ServeConfig& c, std::uint64_t v) { c.encoder.batch_tokens = v; }},
        {"model.memory_mb", 1, 1U << 20, [](const ServeConfig& c) { return c.model_memory_mb; },
         [](ServeConfig& c, std::uint64_t v) { c.model_memory_mb = v; }},
    };
    return table;
}

Status apply(ServeConfig& config, const std::string& name, const toml::node& value) {
    if (name.rfind("server.", 0) == 0) {
        if (const auto number = value.value_exact<std::int64_t>()) {
            return server::set_property(config.server, name, std::to_string(*number));
        }
        if (const auto text = value.value_exact<std::string>()) {
            return server::set_property(config.server, name, *text);
        }
        return Error{Fault::kBadInput, name + ": a number or a string is needed"};
    }
    for (const Setting& setting : settings()) {
        if (setting.name != name) {
            continue;
        }
        const auto number = value.value_exact<std::int64_t>();
        if (!number || *number < 0 || static_cast<std::uint64_t>(*number) < setting.min ||
            static_cast<std::uint64_t>(*number) > setting.max) {
            return Error{Fault::kBadInput,
                         name + " = " + (number ? std::to_string(*number) : "no whole number") +
                             ", allowed " + std::to_string(setting.min) + ".." +
                             std::to_string(setting.max)};
        }
        setting.set(config, static_cast<std::uint64_t>(*number));
        return ok();
    }
    return Error{Fault::kBadInput,
                 "unknown setting " + name + "; `tollgate serve --print-config` lists them"};
}

}  // namespace

Result<ServeConfig> read_serve_config(const std::string& path) {
    ServeConfig config;
    toml::table root;
    try {
        root = toml::parse_file(path);
    } catch (const toml::parse_error& error) {
        return Error{Fault::kBadInput, path + ":" + std::to_string(error.source().begin.line) +
                                           ": " + std::string(error.description())};
    }
    for (const auto& [section, node] : root) {
        const toml::table* table = node.as_table();
        if (table == nullptr) {
            return Error{Fault::kBadInput,
                         path + ": " + std::string(section.str()) + " stands outside a [section]"};
        }
        for (const auto& [key, value] : *table) {
            const std::string name = std::string(section.str()) + "." + std::string(key.str());
            if (Status set = apply(config, name, value); !set) {
                return Error{set.error().fault, path + ":" +
                                                    std::to_string(value.source().begin.line) +
                                                    ": " + set.error().message};
            }
        }
    }
    return config;
}

std::string effective_config(const ServeConfig& config) {
    std::string out = "[server]\n";
    for (const server::Property& property : server::properties()) {
        const bool text =
            std::holds_alternative<std::string server::ServerConfig::*>(property.member);
        const std::string value = server::value_text(config.server, property);
        out += "# " + std::string(property.description) + "\n";
        out += std::string(property.name.substr(7)) + " = " + (text ? "\"" + value + "\"" : value) +
               "\n";
    }
    std::string section;
    for (const Setting& setting : settings()) {
        const std::size_t dot = setting.name.find('.');
        if (const std::string here(setting.name.substr(0, dot)); here != section) {
            section = here;
            out += "\n[" + section + "]\n";
        }
        out += std::string(setting.name.substr(dot + 1)) + " = " +
               std::to_string(setting.get(config)) + "  # " + std::to_string(setting.min) + ".." +
               std::to_string(setting.max) + "\n";
    }
    return out;
}

}  // namespace tollgate::apps
