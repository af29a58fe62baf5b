// A bare Beast echo server: the yardstick that the HTTP face's events per second are held against.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"

namespace tollgate::server {

// Answers every request on 127.0.0.1:`port` (0: a free one) with its own body and status 200,
// keep-alive, as Beast's examples do, on the calling thread. `listening` is told the port; ends on
// SIGTERM or SIGINT.
Status run_echo(std::uint16_t port, const std::function<void(std::uint16_t)>& listening);

}  // namespace tollgate::server
