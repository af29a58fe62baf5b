// `tollgate windows`: a data folder's windows shown and hashed, and the Handbook's recomputed
// against published values.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "apps/cli.h"
#include "apps/commands.h"
#include "apps/open_windows.h"
#include "apps/windows_verify.h"
#include "base/faults.h"
#include "base/metrics.h"
#include "decision/event_json.h"
#include "store/store.h"

namespace tollgate::apps {

namespace {

struct WindowsCommand {
    std::string data;
    std::string tenant = "default";
    std::string policy;
    std::string key;
    VerifyOptions verify;
};

class Folder {
  public:
    static Result<std::unique_ptr<Folder>> open(const std::string& path) {
        auto folder = std::unique_ptr<Folder>(new Folder());
        store::StoreOptions options;
        options.path = path;
        options.read_only = true;
        TG_TRY(folder->store_, store::Store::open(options, folder->faults_, folder->metrics_));
        return folder;
    }
    const store::Store& store() const { return *store_; }

  private:
    Folder() = default;
    FaultSwitches faults_;
    Metrics metrics_;
    std::unique_ptr<store::Store> store_;
};

std::string spec_names(const WindowPlan& plan) {
    std::string names;
    for (const KeySpec& spec : plan.keys) {
        names += (names.empty() ? "" : "; ") + spec.name;
    }
    return names;
}

// "account_id=A-17" or "account_id,counterparty.id=A-17,T-9" as the store's key.
Result<WindowStore::KeyRef> key_of(const PolicyPack& pack, const std::string& text) {
    const WindowPlan& plan = pack.rules->plan;
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto spec = std::find_if(plan.keys.begin(), plan.keys.end(),
                                   [&name](const KeySpec& s) { return s.name == name; });
    if (equals == std::string::npos || spec == plan.keys.end()) {
        return Error{
            Fault::kBadInput,
            "--key = \"" + text + "\", expected NAME=VALUE with NAME of: " + spec_names(plan)};
    }
    std::vector<std::string> parts;
    std::string rest = text.substr(equals + 1);
    for (std::size_t i = 1; i < spec->fields.size() && rest.find(',') != std::string::npos; ++i) {
        parts.push_back(rest.substr(0, rest.find(',')));
        rest = rest.substr(rest.find(',') + 1);
    }
    parts.push_back(rest);
    if (parts.size() != spec->fields.size()) {
        return Error{Fault::kBadInput, "--key = \"" + text + "\", " + spec->name + " takes " +
                                           std::to_string(spec->fields.size()) + " values"};
    }
    std::vector<Value> fields(pack.fields.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        fields[static_cast<std::size_t>(spec->fields[i])] = Value::of_string(parts[i]);
    }
    EventKeys keys;
    WindowStore::keys_of(plan, fields, keys);
    const auto id = KeySpecId{static_cast<std::uint8_t>(spec - plan.keys.begin())};
    for (std::size_t i = 0; i < keys.count; ++i) {
        if (keys.keys[i].spec == id) {
            return WindowStore::KeyRef{.spec = id, .bytes = keys.keys[i].bytes};
        }
    }
    return Error{Fault::kBadInput, "--key = \"" + text + "\", an empty value is no key"};
}

std::string slot_text(const Value& value) {
    switch (value.kind) {
        case ValueKind::kString: {
            std::string_view text;
            return string_key_text(value.key, text) ? std::string(text) : "(long text)";
        }
        case ValueKind::kTime:
            return format_rfc3339(from_micros(static_cast<std::int64_t>(value.number.num)));
        case ValueKind::kBool:
            return value.boolean ? "true" : "false";
        case ValueKind::kUnknown:
        case ValueKind::kError:
            return "-";
        default:
            return to_text(value.number);
    }
}

Status show(const WindowsCommand& command) {
    TG_TRY(const auto folder, Folder::open(command.data));
    TG_TRY(const auto opened, open_windows(folder->store(), command.tenant, command.policy));
    const WindowPlan& plan = opened.pack->rules->plan;
    if (command.key.empty()) {
        const WindowStats stats = opened.windows->stats();
        (void)std::printf("%-32s %12s %12s %14s\n", "key", "keys", "events", "bytes");
        for (const WindowStats::PerKey& key : stats.keys) {
            (void)std::printf("%-32s %12s %12s %14s\n", key.name.c_str(), grouped(key.keys).c_str(),
                              grouped(key.events).c_str(), grouped(key.bytes).c_str());
        }
        return ok();
    }
    TG_TRY(const auto key, key_of(*opened.pack, command.key));
    std::string head = "time                         arrival  label ";
    for (const RowSlot& slot : plan.layout.slots) {
        head += "  " + slot.name;
    }
    (void)std::printf("%s\n", head.c_str());
    std::uint64_t rows = 0;
    opened.windows->visit_rows(key, [&](std::span<const std::uint64_t> row, Label label) {
        std::string line = format_rfc3339(from_micros(static_cast<std::int64_t>(row[0])));
        line.resize(std::max<std::size_t>(line.size(), 28), ' ');
        (void)std::printf("%s %7llu  %-6s", line.c_str(), static_cast<unsigned long long>(row[1]),
                          std::string(to_text(label)).c_str());
        for (const RowSlot& slot : plan.layout.slots) {
            (void)std::printf("  %s", slot_text(read_slot(slot, row.data())).c_str());
        }
        (void)std::printf("\n");
        ++rows;
    });
    (void)std::printf("%s events of %s\n", grouped(rows).c_str(), command.key.c_str());
    return ok();
}

Status hash(const WindowsCommand& command) {
    TG_TRY(const auto folder, Folder::open(command.data));
    TG_TRY(const auto opened, open_windows(folder->store(), command.tenant, command.policy));
    (void)std::printf("%s\n", to_hex(opened.windows->hash()).c_str());
    return ok();
}

Status verify(const VerifyOptions& options, int& exit_code) {
    if (options.threads < 1 || options.threads > 64) {
        return Error{Fault::kBadInput,
                     "--threads = " + std::to_string(options.threads) + ", allowed 1..64"};
    }
    if (options.crash_at != 0 && options.threads != 1) {
        return Error{Fault::kBadInput, "--crash-at goes with --threads 1"};
    }
    TG_TRY(const VerifyInput input, read_verify_input(options));
    const auto began = Steady::now();
    VerifyResult result;
    if (options.crash_at == 0) {
        result = verify_in_memory(input, options);
    } else {
        TG_TRY(result, verify_with_crash(input, options));
        (void)std::printf("killed at row %s, %s events recovered from the folder\n",
                          grouped(options.crash_at).c_str(), grouped(result.recovered).c_str());
    }
    const double seconds = std::chrono::duration<double>(Steady::now() - began).count();
    (void)std::printf("%s events in %.1f s, %s rows compared, %llu threads\n",
                      grouped(result.events).c_str(), seconds,
                      grouped(result.cells / kOracleCells).c_str(),
                      static_cast<unsigned long long>(options.threads));
    (void)std::printf("cells=%llu mismatches=%llu\n", static_cast<unsigned long long>(result.cells),
                      static_cast<unsigned long long>(result.wrong));
    const bool all = result.cells == input.oracle.size() * kOracleCells;
    exit_code = all && result.wrong == 0 ? 0 : 1;
    return ok();
}

void add_folder(CLI::App* sub, WindowsCommand& command) {
    sub->add_option("--data", command.data, "data folder; its server may run")->required();
    sub->add_option("--tenant", command.tenant, "whose windows")->capture_default_str();
    sub->add_option("--policy", command.policy,
                    "pack folder, for a tenant that never activated one (default: the stored or "
                    "embedded pack)");
}

void register_verify(CLI::App* windows, const std::shared_ptr<WindowsCommand>& command,
                     int& exit_code) {
    CLI::App* sub = windows->add_subcommand(
        "verify",
        "Recompute the Fraud-Detection-Handbook's window features and compare every cell.\n"
        "  tollgate windows verify --input handbook.csv.zst --oracle windows_public.csv.zst\n"
        "  tollgate windows verify ... --threads 4        the same with concurrent recording\n"
        "  tollgate windows verify ... --crash-at 600000  the same across a kill -9\n"
        "Counts must be equal; averages and risks to 1e-6. The last line is\n"
        "  cells=N mismatches=M\n"
        "and the exit code 0 only when M is 0 and no row of the oracle was left out.");
    VerifyOptions& options = command->verify;
    sub->add_option("--input", options.input, "the Handbook's transactions (CSV, .zst too)")
        ->required();
    sub->add_option("--oracle", options.oracle, "published window values (CSV, .zst too)")
        ->required();
    sub->add_option("--threads", options.threads, "threads on one window store, 1..64")
        ->capture_default_str();
    sub->add_option("--crash-at", options.crash_at,
                    "go through a data folder and kill -9 the process at this row of the input");
    sub->add_option("--tmp", options.data, "where that folder is made (default: TMPDIR or /tmp)");
    sub->add_option("--policy", options.policy,
                    "another pack's folder (default: the embedded handbook pack)");
    sub->add_flag("--quiet", options.quiet, "no progress line");
    sub->callback([command, &exit_code] {
        int verdict = 1;
        const Status status = verify(command->verify, verdict);
        exit_code = status ? verdict : report("windows verify", status);
    });
}

}  // namespace

void register_windows(CLI::App& app, int& exit_code) {
    auto command = std::make_shared<WindowsCommand>();
    CLI::App* windows = app.add_subcommand(
        "windows",
        "Look into the windows of a data folder, or prove that windows are exact.\n"
        "  tollgate windows show --data ./data --tenant demo --key account_id=A-17\n"
        "  tollgate windows hash --data ./data --tenant demo\n"
        "  tollgate windows verify --input handbook.csv.zst --oracle windows_public.csv.zst");
    windows->require_subcommand(1);

    CLI::App* shown = windows->add_subcommand(
        "show",
        "The stored events of one key, oldest first; without --key the kinds of keys and their "
        "sizes.");
    add_folder(shown, *command);
    shown->add_option("--key", command->key,
                      "account_id=A-17, or account_id,counterparty.id=A-17,T-9");
    shown->callback([command, &exit_code] { exit_code = report("windows show", show(*command)); });

    CLI::App* hashed = windows->add_subcommand(
        "hash",
        "One hash over every stored row: equal sets of events give equal hashes, whatever order "
        "they came in.");
    add_folder(hashed, *command);
    hashed->callback([command, &exit_code] { exit_code = report("windows hash", hash(*command)); });

    register_verify(windows, command, exit_code);
}

}  // namespace tollgate::apps
