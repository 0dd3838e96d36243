// ridgeline/graph/pass/pipeline_order.h
//
// When each stage of a pipeline runs which micro-batch forward and backward. Pure functions; times in ticks: a forward
// slot takes one and a backward slot two.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline {

struct PipelineSlot {
  bool backward = false;
  std::int64_t micro_batch = 0;
  std::int64_t begin = 0, end = 0;  // ticks
};

// Each stage's slots in the order in which it runs them. Backward slots follow the order of the micro-batches, with
// both gpipe and 1f1b.
std::vector<std::vector<PipelineSlot>> pipeline_slots(const PipelinePlan& plan);

// The fraction of all stages' time spent waiting for others, (S-1)/(M+S-1) where slots are equally long.
double pipeline_bubble(const PipelinePlan& plan);

}  // namespace ridgeline
