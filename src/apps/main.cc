// The `tollgate` command: reads the command line and hands over to one command.
#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "base/alloc_count_operators.inc"
#include "build_info.h"

int main(int argc, char** argv) {
    CLI::App app{
        "Tollgate decides payments, transfers and credit applications in milliseconds, on this "
        "machine.\n"
        "Start with:  tollgate serve --data ./data   and   tollgate key create --data ./data "
        "--tenant demo --scopes "
        "assess,read"};
    app.set_version_flag("--version",
                         std::string("tollgate ") + std::string(tollgate::kBuildVersion));
    app.require_subcommand(1);
    int exit_code = 0;
    tollgate::apps::register_serve(app, exit_code);
    tollgate::apps::register_import(app, exit_code);
    tollgate::apps::register_simulate(app, exit_code);
    tollgate::apps::register_replay(app, exit_code);
    tollgate::apps::register_key(app, exit_code);
    tollgate::apps::register_policy(app, exit_code);
    tollgate::apps::register_rules(app, exit_code);
    tollgate::apps::register_windows(app, exit_code);
    tollgate::apps::register_log(app, exit_code);
    tollgate::apps::register_features(app, exit_code);
    tollgate::apps::register_model(app, exit_code);
    tollgate::apps::register_tokenize(app, exit_code);
    tollgate::apps::register_kernels(app, exit_code);
    tollgate::apps::register_selftest(app, exit_code);
    tollgate::apps::register_eval(app, exit_code);
    tollgate::apps::register_bench(app, exit_code);
    tollgate::apps::register_version(app, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return exit_code;
}
