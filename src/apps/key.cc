// `tollgate key`: makes, lists and revokes API keys in a data folder, also while its server runs.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/cli.h"
#include "apps/commands.h"
#include "base/time.h"
#include "server/keys.h"

namespace tollgate::apps {

namespace {

struct KeyCommand {
    std::string data;
    std::string tenant;
    std::string name;
    std::string scopes;
    std::string expires;
    std::string id;
    bool json = false;
};

EventTime wall_now() {
    return std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now());
}

Status create(const KeyCommand& command) {
    server::NewKey wanted{.tenant = command.tenant, .name = command.name};
    TG_TRY(wanted.scopes, server::parse_scopes(command.scopes));
    if (!command.expires.empty()) {
        TG_TRY(wanted.expires, parse_rfc3339("--expires", command.expires.size() == 10
                                                              ? command.expires + "T00:00:00Z"
                                                              : command.expires));
        if (*wanted.expires <= wall_now()) {
            return Error{Fault::kBadInput,
                         "--expires = " + command.expires + ", it must lie in the future"};
        }
    }
    TG_TRY(const auto created, server::create_key(command.data, wanted, wall_now()));
    (void)std::fprintf(
        stderr,
        "key %s for tenant %s, scopes %s, expires %s\n"
        "It is shown once; only its hash is kept. A running server takes it within "
        "a second.\n",
        created.key.id.c_str(), created.key.tenant.c_str(),
        server::to_text(created.key.scopes).c_str(),
        created.key.expires ? format_rfc3339(*created.key.expires).c_str() : "never");
    (void)std::printf("%s\n", created.token.c_str());
    return ok();
}

Status list(const KeyCommand& command) {
    TG_TRY(const auto keys, server::load_keys(server::key_file(command.data)));
    const EventTime now = wall_now();
    if (command.json) {
        (void)std::printf("%s\n", server::keys_json(keys, now).c_str());
        return ok();
    }
    (void)std::printf("%-18s  %-16s  %-16s  %-24s  %-20s  %s\n", "id", "tenant", "name", "scopes",
                      "expires", "state");
    for (const server::Key& key : keys) {
        if (!command.tenant.empty() && key.tenant != command.tenant) {
            continue;
        }
        const char* state = key.live(now) ? "live" : key.revoked ? "revoked" : "expired";
        (void)std::printf("%-18s  %-16s  %-16s  %-24s  %-20s  %s\n", key.id.c_str(),
                          key.tenant.c_str(), key.name.c_str(), server::to_text(key.scopes).c_str(),
                          key.expires ? format_rfc3339(*key.expires).c_str() : "never", state);
    }
    return ok();
}

Status revoke(const KeyCommand& command) {
    TG_TRY([[maybe_unused]] const auto revoked,
           server::revoke_key(command.data, command.id, wall_now()));
    (void)std::fprintf(stderr, "key %s is revoked; a running server refuses it within a second\n",
                       command.id.c_str());
    return ok();
}

void add_data(CLI::App* sub, KeyCommand& command) {
    sub->add_option("--data", command.data, "the server's data folder")->required();
}

}  // namespace

void register_key(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<KeyCommand>();
    CLI::App* key = app.add_subcommand(
        "key",
        "Make, list and revoke API keys. Works while the server runs: it reads them again by "
        "itself.\n"
        "  tollgate key create --data ./data --tenant demo --scopes assess,read\n"
        "  tollgate key list --data ./data\n"
        "  tollgate key revoke k_0123456789abcdef --data ./data\n"
        "To rotate: create a second key of the same name, move the clients, revoke the first.");
    key->require_subcommand(1);

    CLI::App* made = key->add_subcommand(
        "create",
        "Make a key. The key alone is on standard output, so that a script can take it:\n"
        "  KEY=$(tollgate key create --data ./data --tenant demo --scopes assess)");
    add_data(made, *command);
    made->add_option("--tenant", command->tenant, "whose data the key opens; made if it is new")
        ->required();
    made->add_option("--scopes", command->scopes,
                     "comma separated: assess (decide, post outcomes), read, admin, chat")
        ->required();
    made->add_option("--name", command->name, "for people; at most two live keys share one");
    made->add_option("--expires", command->expires,
                     "2027-01-01 or an RFC 3339 time (default: never)");
    made->callback([command, &exit_code] { exit_code = report("key create", create(*command)); });

    CLI::App* listed = key->add_subcommand("list", "List keys; never the keys themselves.");
    add_data(listed, *command);
    listed->add_option("--tenant", command->tenant, "only that tenant's");
    listed->add_flag("--json", command->json, "as JSON");
    listed->callback([command, &exit_code] { exit_code = report("key list", list(*command)); });

    CLI::App* revoked = key->add_subcommand("revoke", "Refuse a key from now on.");
    add_data(revoked, *command);
    revoked->add_option("id", command->id, "the key's id, as `key list` shows it")->required();
    revoked->callback(
        [command, &exit_code] { exit_code = report("key revoke", revoke(*command)); });
}

}  // namespace tollgate::apps
