// Policy packs inside the binary: "default" for service, "handbook" and "bench" for the tools.
#pragma once

#include <string_view>

#include "decision/pack.h"

namespace tollgate::apps {

// Empty for an unknown name.
PackFiles embedded_pack(std::string_view name);

}  // namespace tollgate::apps
