// `tollgate log`: a tenant's record log hashed, exported and verified, read only.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/log_hash.h"
#include "base/faults.h"
#include "base/metrics.h"
#include "store/store.h"

namespace tollgate::apps {

namespace {

struct LogCommand {
    std::string data;
    std::string tenant = "default";
    std::string out = "-";
    LogRange range;
};

struct ReadOnlyStore {
    FaultSwitches faults;
    Metrics metrics;
    std::unique_ptr<store::Store> store;
};

// The folder's store, and the proof that it knows the tenant: an empty log and a mistyped name must
// not look alike.
Status open(const LogCommand& command, ReadOnlyStore& out) {
    if (command.range.from < 1 || command.range.to < command.range.from) {
        return Error{Fault::kBadInput, "--from = " + std::to_string(command.range.from) +
                                           ", --to = " + std::to_string(command.range.to) +
                                           "; sequence numbers begin at 1 and --from comes first"};
    }
    store::StoreOptions options;
    options.path = command.data;
    options.read_only = true;
    TG_TRY(out.store, store::Store::open(options, out.faults, out.metrics));
    TG_TRY(const auto tenants, out.store->tenants());
    if (std::find(tenants.begin(), tenants.end(), command.tenant) == tenants.end()) {
        std::string names;
        for (const std::string& name : tenants) {
            names += (names.empty() ? "" : ", ") + name;
        }
        return Error{Fault::kNotFound, "--tenant = \"" + command.tenant + "\", " + command.data +
                                           " has " + (names.empty() ? "none" : names)};
    }
    return ok();
}

Status hash(const LogCommand& command) {
    ReadOnlyStore at;
    TG_TRY([[maybe_unused]] const auto opened, open(command, at));
    TG_TRY(const LogHash found, log_hash(*at.store, command.tenant, command.range));
    (void)std::fprintf(stderr, "%s records\n", grouped(found.records).c_str());
    (void)std::printf("%s\n", found.hex.c_str());
    return ok();
}

Status export_log(const LogCommand& command) {
    ReadOnlyStore at;
    TG_TRY([[maybe_unused]] const auto opened, open(command, at));
    TG_TRY(const auto out, LineWriter::open(command.out));
    Status written = ok();
    TG_TRY(
        [[maybe_unused]] const auto read,
        at.store->read_log(command.tenant, command.range.from, [&](const store::LogEntry& entry) {
            if (entry.seq > command.range.to) {
                return false;
            }
            written = out->write(entry.record);
            return written.has_value();
        }));
    if (!written) {
        return written;
    }
    return out->close();
}

Status verify(const LogCommand& command) {
    ReadOnlyStore at;
    TG_TRY([[maybe_unused]] const auto opened, open(command, at));
    TG_TRY([[maybe_unused]] const auto fits,
           at.store->verify_chain(command.tenant, command.range.from));
    TG_TRY(const std::uint64_t last, at.store->last_seq(command.tenant));
    (void)std::printf("the chain of %s fits, records %llu..%llu\n", command.tenant.c_str(),
                      static_cast<unsigned long long>(command.range.from),
                      static_cast<unsigned long long>(last));
    return ok();
}

void add_options(CLI::App* sub, LogCommand& command, bool with_end) {
    sub->add_option("--data", command.data, "data folder; its server may run")->required();
    sub->add_option("--tenant", command.tenant, "whose log")->capture_default_str();
    sub->add_option("--from", command.range.from, "first sequence number (default 1)");
    if (with_end) {
        sub->add_option("--to", command.range.to, "last sequence number (default: the newest)");
    }
}

}  // namespace

void register_log(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<LogCommand>();
    CLI::App* log = app.add_subcommand(
        "log",
        "The record log: what was decided, from what, in order.\n"
        "  tollgate log verify --data ./data --tenant demo\n"
        "  tollgate log export --data ./data --tenant demo --from 1000 --to 2000\n"
        "  tollgate log hash --data ./data --tenant demo     equal runs give equal hashes");
    log->require_subcommand(1);

    CLI::App* hashed = log->add_subcommand(
        "hash", "SHA-256 over the canonical records in order, each with its line feed.");
    add_options(hashed, *command, true);
    hashed->callback([command, &exit_code] { exit_code = report("log hash", hash(*command)); });

    CLI::App* exported = log->add_subcommand(
        "export",
        "The canonical records, one JSON a line. Personal fields are salted hashes, as in the "
        "chain.");
    add_options(exported, *command, true);
    exported
        ->add_option("--out", command->out,
                     "file, compressed when it ends in .zst; - for "
                     "standard output")
        ->capture_default_str();
    exported->callback(
        [command, &exit_code] { exit_code = report("log export", export_log(*command)); });

    CLI::App* verified = log->add_subcommand(
        "verify",
        "Recompute the hash chain; exit code 1 names the first record that does not fit.");
    add_options(verified, *command, false);
    verified->callback(
        [command, &exit_code] { exit_code = report("log verify", verify(*command)); });
}

}  // namespace tollgate::apps
