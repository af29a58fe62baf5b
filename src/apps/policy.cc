// `tollgate policy`: checks and compares packs, and puts them into a running server.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/load_client.h"
#include "apps/open_pack.h"
#include "decision/pack.h"
#include "text/json.h"
#include "text/json_writer.h"
#include "text/utf8.h"

namespace tollgate::apps {

namespace {

struct PolicyCommand {
    std::string folder;
    std::string other;
    std::string server;
    std::string key;
};

Status check(const PolicyCommand& command, int& exit_code) {
    if (command.folder.empty()) {
        TG_TRY(const auto pack, open_pack(""));
        (void)std::printf("the embedded pack %s is valid: %s\n", pack->policy.name.c_str(),
                          pack->hash.c_str());
        return ok();
    }
    TG_TRY(PackFiles files, read_pack_folder(command.folder));
    std::vector<Diagnostic> findings;
    const EventTime now = std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now());
    const auto pack = load_pack(std::move(files), findings, now);
    std::size_t warnings = 0;
    for (const Diagnostic& finding : findings) {
        warnings += finding.level == Diagnostic::Level::kWarning ? 1U : 0U;
        (void)std::printf("%s\n", format(finding).c_str());
    }
    if (!pack) {
        if (findings.empty()) {
            (void)std::printf("%s\n", pack.error().message.c_str());
        }
        (void)std::printf("%s is refused: %zu errors, %zu warnings\n", command.folder.c_str(),
                          std::max<std::size_t>(1, findings.size() - warnings), warnings);
        exit_code = 1;
        return ok();
    }
    const PolicyPack& p = **pack;
    (void)std::printf(
        "%s is valid, %zu warnings\n  name     %s\n  hash     %s\n  rules    %zu in %zu rule sets\n"
        "  windows  %zu over %zu kinds of keys, events kept for %lld h\n"
        "  cost     %.1f us for one event at worst, %llu bytes of rows\n",
        command.folder.c_str(), warnings, p.policy.name.c_str(), p.hash.c_str(),
        p.rules->rules.size(), p.rules->rulesets.size(), p.rules->plan.windows.size(),
        p.rules->plan.keys.size(),
        static_cast<long long>(
            std::chrono::duration_cast<std::chrono::hours>(p.rules->plan.retention).count()),
        static_cast<double>(p.rules->worst_case_ns) / 1000.0,
        static_cast<unsigned long long>(p.rules->window_bytes_per_event));
    return ok();
}

Status diff(const PolicyCommand& command, int& exit_code) {
    TG_TRY(const auto before, open_pack(command.folder));
    TG_TRY(const auto after, open_pack(command.other));
    const std::string text = diff_packs(*before, *after);
    if (text.empty()) {
        (void)std::printf("the packs are equal: %s\n", before->hash.c_str());
        return ok();
    }
    (void)std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
    exit_code = 1;
    return ok();
}

Result<std::string> upload_body(const std::string& folder) {
    TG_TRY(const PackFiles files, read_pack_folder(folder));
    std::string body;
    JsonWriter out(body);
    out.begin_object();
    out.key("files");
    out.begin_object();
    for (const auto& [path, content] : files) {
        if (!is_valid_utf8(content)) {
            return Error{Fault::kBadInput, folder + "/" + path + ": is not UTF-8 text"};
        }
        out.key(path);
        out.string(content);
    }
    out.end_object();
    out.end_object();
    return body;
}

// The server's answer; a problem document becomes an error with its detail.
Result<std::string> ask(const PolicyCommand& command, const std::string& method,
                        const std::string& target, const std::string& body) {
    if (command.server.empty() || command.key.empty()) {
        return Error{Fault::kBadInput,
                     "--server ADMIN_URL and --key KEY (scope admin) are needed; `tollgate serve` "
                     "prints the admin address"};
    }
    LoadOptions options;
    TG_TRY([[maybe_unused]] const auto parsed, parse_server_url(command.server, options));
    options.key = command.key;
    TG_TRY(LoadReply reply, send_once(options, method, target, body));
    if (reply.status >= 200 && reply.status < 300) {
        return std::move(reply.body);
    }
    std::string detail = reply.body;
    JsonDocument json;
    const auto root = json.parse(reply.body);
    if (root && root->is(JsonKind::kObject)) {
        const auto text = root->find("detail");
        if (text && text->is(JsonKind::kString)) {
            detail = std::string(text->string());
        }
    }
    return Error{reply.status < 500 ? Fault::kBadInput : Fault::kInternal,
                 "the server answered " + std::to_string(reply.status) + ": " + detail};
}

Status activate(const PolicyCommand& command) {
    std::string target = "/admin/policy:activate";
    std::string body;
    std::string method = "POST";
    if (command.folder == "list") {
        method = "GET";
        target = "/admin/policy";
    } else if (command.folder == "rollback") {
        target = "/admin/policy:rollback";
    } else {
        TG_TRY(body, upload_body(command.folder));
    }
    TG_TRY(const std::string answer, ask(command, method, target, body));
    (void)std::printf("%s\n", answer.c_str());
    return ok();
}

// One decision for a command whose work may find something wrong without failing.
template <class Work>
void run(const char* name, int& exit_code, const Work& work) {
    int verdict = 0;
    const Status status = work(verdict);
    exit_code = status ? verdict : report(name, status);
}

}  // namespace

void register_policy(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<PolicyCommand>();
    CLI::App* policy = app.add_subcommand(
        "policy",
        "Check, compare and activate policy packs: folders with policy.toml, rules/ and lists/.\n"
        "  tollgate policy check policies/default\n"
        "  tollgate policy diff policies/default my-pack\n"
        "  tollgate policy activate my-pack --server http://127.0.0.1:8081 --key $ADMIN_KEY\n"
        "  tollgate policy activate rollback --server ... --key ...   the one before\n"
        "  tollgate policy activate list --server ... --key ...       all that were ever active");
    policy->require_subcommand(1);

    CLI::App* checked = policy->add_subcommand(
        "check",
        "Compile a pack whole and print every finding with its line; exit code 1 when it is "
        "refused.");
    checked->add_option("folder", command->folder, "pack folder (default: the embedded pack)");
    checked->callback([command, &exit_code] {
        run("policy check", exit_code, [&](int& verdict) { return check(*command, verdict); });
    });

    CLI::App* compared = policy->add_subcommand(
        "diff", "What differs between two packs, one line each; exit code 1 when something does.");
    compared->add_option("before", command->folder, "pack folder")->required();
    compared->add_option("after", command->other, "pack folder")->required();
    compared->callback([command, &exit_code] {
        run("policy diff", exit_code, [&](int& verdict) { return diff(*command, verdict); });
    });

    CLI::App* activated = policy->add_subcommand(
        "activate",
        "Send a pack to a running server, which compiles it whole and swaps it in between two "
        "events, for the key's tenant. A pack with an error changes nothing.");
    activated
        ->add_option("folder", command->folder,
                     "pack folder; or `rollback` for the pack before; or `list`")
        ->required();
    activated->add_option("--server", command->server, "http://HOST:PORT of the admin listener");
    activated->add_option("--key", command->key, "API key with the scope admin");
    activated->callback([command, &exit_code] {
        run("policy activate", exit_code, [&](int&) { return activate(*command); });
    });
}

}  // namespace tollgate::apps
