// GreySeam: where doubtful cases go for a second look; the deep tier implements it.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace tollgate::pipeline {

struct GreyCase {
    std::string tenant;
    std::string event_id;
    std::uint64_t seq = 0;  // of the assessment's record
    float probability = 0.0F;
    double score = 0.0;
    bool late = false;  // the score came after the rules had answered, and is grey or high
};

// Thread: the io thread; must not block.
class GreySeam {
  public:
    virtual ~GreySeam() = default;
    virtual void offer(const GreyCase& grey) = 0;
};

}  // namespace tollgate::pipeline
