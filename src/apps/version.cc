// `tollgate version`: which build this is and what it stands on.
#include <CLI/CLI.hpp>
#include <boost/version.hpp>
#include <cstdio>
#include <string>

#include "apps/commands.h"
#include "apps/cpu.h"
#include "build_info.h"

namespace tollgate::apps {

void register_version(CLI::App& app, int& exit_code) {
    CLI::App* sub =
        app.add_subcommand("version",
                           "Say which build this is: version, commit, compiler, processor.\n"
                           "  tollgate version\n"
                           "A running server says the same, and its policy, at GET /version.");
    sub->callback([&exit_code] {
        (void)std::printf("tollgate %s\n", std::string(kBuildVersion).c_str());
        (void)std::printf("compiler  %s %s\n",
#ifdef __clang__
                          "clang",
#else
                          "g++",
#endif
                          __VERSION__);
        (void)std::printf("boost     %d.%d.%d\n", BOOST_VERSION / 100'000,
                          BOOST_VERSION / 100 % 1'000, BOOST_VERSION % 100);
        (void)std::printf("cpu       %s, %zu threads\n", cpu_model().c_str(), cpu_threads());
        exit_code = 0;
    });
}

}  // namespace tollgate::apps
