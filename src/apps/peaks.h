// What this machine could do at most: arithmetic peaks of a kernel table, read bandwidth.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace tollgate::apps {

// Billions of multiply-adds a second of one core; the best of a few short runs. 0 for a table
// without a peak loop. Takes about 50 ms.
double peak_gmacs(const kernels::PeakLoop& loop);

// GB/s that `threads` read together, each its own part of one buffer. Takes about 0.2 s.
double read_bandwidth(std::size_t bytes, std::size_t threads);

}  // namespace tollgate::apps
