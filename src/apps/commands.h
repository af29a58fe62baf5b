// Commands of `tollgate`: each adds its subcommands to the command line and, when chosen, sets the
// exit code.
#pragma once

namespace CLI {
class App;
}

namespace tollgate::apps {

// Exit codes of every command: 0 done; 1 it failed, or what was checked is wrong (message on
// standard error); 2 the command line or an input is wrong. `exit_code` must outlive the parsing.
void register_serve(CLI::App& app, int& exit_code);
void register_import(CLI::App& app, int& exit_code);
void register_simulate(CLI::App& app, int& exit_code);
void register_replay(CLI::App& app, int& exit_code);
void register_key(CLI::App& app, int& exit_code);
void register_policy(CLI::App& app, int& exit_code);
void register_rules(CLI::App& app, int& exit_code);
void register_windows(CLI::App& app, int& exit_code);
void register_log(CLI::App& app, int& exit_code);
void register_features(CLI::App& app, int& exit_code);
void register_model(CLI::App& app, int& exit_code);
void register_tokenize(CLI::App& app, int& exit_code);
void register_kernels(CLI::App& app, int& exit_code);
void register_selftest(CLI::App& app, int& exit_code);
void register_eval(CLI::App& app, int& exit_code);
void register_bench(CLI::App& app, int& exit_code);
void register_version(CLI::App& app, int& exit_code);

}  // namespace tollgate::apps
