// ridgeline/graph/pass/distribution.h
//
// Over which ranks a step is distributed, and how. A plain value; the same on all of them.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/graph/pass/split_strategy.h"

namespace ridgeline {

struct Distribution {
  std::int64_t ranks = 1;  // 1: not at all
  std::string group = "world";
  bool overlap = true;  // exchanges run beside the rest of the backward pass; else behind it. The bits are the same
  SplitStrategy split = {};
};

}  // namespace ridgeline
