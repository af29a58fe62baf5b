// `tollgate serve`: builds the process bottom-up and runs it until it is told to stop.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "apps/commands.h"
#include "apps/cpu.h"
#include "apps/open_pack.h"
#include "apps/serve_config.h"
#include "base/faults.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/threads.h"
#include "build_info.h"
#include "pipeline/encoder_seam.h"
#include "pipeline/pipeline.h"
#include "server/asio_loop.h"
#include "server/pipeline_service.h"
#include "server/server.h"
#include "server/worker.h"
#include "store/store.h"

namespace tollgate::apps {

namespace {

struct ServeOptions {
    std::string config;
    std::string data = "./tollgate-data";
    std::string listen;
    std::string admin_listen;
    std::string policy;
    std::string log = "-";
    std::string model;
    std::string kernels;
    std::string precision = "fp32";
    bool enable_faults = false;
    bool print_config = false;
};

// The encoder, warmed up, when one was asked for; says on the log what it is and what it takes.
Result<std::unique_ptr<pipeline::EncoderSeam>> open_encoder(const ServeOptions& options,
                                                            const ServeConfig& config,
                                                            const PolicyPack& pack, LaneGate& gate,
                                                            FaultSwitches& faults,
                                                            Metrics& metrics) {
    if (options.model.empty()) {
        return std::unique_ptr<pipeline::EncoderSeam>();
    }
    for (const kernels::TableChoice& table : kernels::known_tables()) {
        log_event(Level::kInfo, "kernel_table",
                  {{"table", table.name},
                   {"runs_here", table.table != nullptr},
                   {"reason", std::string_view(table.reason)}});
    }
    TG_TRY(const kernels::KernelTable* table, kernels::choose_table(options.kernels));
    TG_TRY(const Precision precision, precision_of(options.precision));
    pipeline::EncoderSeamOptions seam{
        .folder = options.model,
        .encoder = {.precision = precision, .max_bytes = config.model_memory_mb << 20U},
        .service = config.encoder};
    seam.service.threads = config.model_threads != 0 ? config.model_threads : cpu_threads();
    seam.service.probe_limit = pack.policy.timeouts.model;
    TG_TRY(auto encoder, pipeline::EncoderSeam::open(seam, *table, gate, faults, metrics));
    if (pack.encoder != nullptr) {
        if (Status fits = pack.encoder->check(encoder->profile().buckets); !fits) {
            return std::move(fits).error();
        }
    } else {
        log_event(Level::kWarn, "pack_has_no_encoder_j2", {});
    }
    log_event(Level::kInfo, "encoder",
              {{"model", std::string_view(encoder->profile().digest)},
               {"kernels", table->name},
               {"precision", to_text(precision)},
               {"threads", static_cast<std::int64_t>(seam.service.threads)},
               {"memory_kib", static_cast<std::int64_t>(encoder->bytes() >> 10U)},
               {"calibrated", encoder->profile().calibration.has_value()}});
    return encoder;
}

Status serve(const ServeOptions& options) {
    ServeConfig config;
    if (!options.config.empty()) {
        TG_TRY(config, read_serve_config(options.config));
    }
    if (!options.listen.empty()) {
        config.server.listen = options.listen;
    }
    if (!options.admin_listen.empty()) {
        config.server.admin_listen = options.admin_listen;
    }
    TG_TRY(const auto valid, server::validate(config.server));
    (void)valid;
    if (options.print_config) {
        (void)std::fputs(effective_config(config).c_str(), stdout);
        return ok();
    }
    TG_TRY(const auto pack, open_pack(options.policy));
    TG_TRY(const auto log, start_log(options.log, Level::kInfo));
    (void)log;

    FaultSwitches faults;
    Metrics metrics;
    config.store.path = options.data;
    TG_TRY(const auto store, store::Store::open(config.store, faults, metrics));
    server::AsioLoop loop(&faults);
    config.pipeline.build = kBuildVersion;
    config.pipeline.max_deadline = std::chrono::milliseconds(config.server.max_deadline_ms);
    LaneGate gate;
    TG_TRY(const auto encoder, open_encoder(options, config, *pack, gate, faults, metrics));
    if (encoder != nullptr) {
        config.pipeline.kernels = encoder->profile().kernels;
    }
    TG_TRY(const auto pipeline, pipeline::Pipeline::open(config.pipeline, pack, *store, loop,
                                                         metrics, faults, encoder.get()));
    server::Worker worker;
    server::PipelineService service(*pipeline, loop, worker);
    TG_TRY(const auto server,
           server::Server::create(config.server,
                                  {.loop = loop,
                                   .service = service,
                                   .metrics = metrics,
                                   .data_dir = options.data,
                                   .faults = options.enable_faults ? &faults : nullptr}));
    server->take_signals();  // before anybody can know the address
    TG_TRY(const auto started, server->start());
    (void)started;
    (void)std::printf("%s\n", server->where().c_str());
    (void)std::fflush(stdout);
    log_event(
        Level::kInfo, "serving",
        {{"policy", std::string_view(pack->hash)}, {"build", std::string_view(kBuildVersion)}});
    (void)enter_thread(ThreadRole::kIo, "tg-io");
    server->run();
    // Asked to stop again while the store closes: it is stopping already.
    (void)std::signal(SIGTERM, SIG_IGN);
    (void)std::signal(SIGINT, SIG_IGN);
    log_event(Level::kInfo, "stopped", {});
    return ok();
}

}  // namespace

void register_serve(CLI::App& app, int& exit_code) {
    auto options = std::make_shared<ServeOptions>();
    CLI::App* command =
        app.add_subcommand("serve",
                           "Answer the API.\n"
                           "  tollgate serve --data ./data --listen 127.0.0.1:8080\n"
                           "Prints the addresses once it answers. SIGTERM finishes what is in "
                           "flight, writes a snapshot and ends.");
    command->add_option("--config", options->config, "server settings (TOML); see --print-config");
    command->add_option("--data", options->data, "data folder, made if absent")
        ->capture_default_str();
    command->add_option("--listen", options->listen,
                        "HOST:PORT of the API; port 0 takes a free one");
    command->add_option("--admin-listen", options->admin_listen,
                        "HOST:PORT of the admin routes (default 127.0.0.1:0)");
    command->add_option(
        "--policy", options->policy,
        "policy pack folder for tenants that have activated none (default: the embedded pack)");
    command->add_option("--model", options->model,
                        "encoder model folder (default: none, the rules decide alone)");
    command->add_option("--kernels", options->kernels,
                        "kernel table of the encoder (default: the best; see `tollgate kernels`)");
    command->add_option("--precision", options->precision, "of the encoder: fp32 or int8")
        ->check(CLI::IsMember({"fp32", "int8"}))
        ->capture_default_str();
    command->add_option("--log", options->log, "log file, - for standard error")
        ->capture_default_str();
    command->add_flag("--enable-faults", options->enable_faults,
                      "serve /admin/faults: break this process on purpose (drills and tests only)");
    command->add_flag("--print-config", options->print_config,
                      "print the effective settings and end");
    command->callback([options, &exit_code] {
        const Status status = serve(*options);
        stop_log();
        if (!status) {
            (void)std::fprintf(stderr, "tollgate serve: %s\n", status.error().message.c_str());
            if (!status.error().detail.empty()) {
                (void)std::fprintf(stderr, "  %s\n", status.error().detail.c_str());
            }
            exit_code = status.error().fault == Fault::kBadInput ? 2 : 1;
        }
    });
}

}  // namespace tollgate::apps
