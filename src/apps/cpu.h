// Which processor this machine has, for reports of measurements.
#pragma once

#include <cstddef>
#include <string>

namespace tollgate::apps {

std::string cpu_model();  // as the system names it; "unknown" where it does not
std::size_t cpu_threads();

}  // namespace tollgate::apps
