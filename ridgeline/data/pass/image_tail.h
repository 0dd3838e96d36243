// ridgeline/data/pass/image_tail.h
//
// What raw images leave to the consumer: the difference that the pass split_tail makes.
#pragma once

#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// For the step's image_tail: mirror where the column "flip" is 1, then normalise.
struct ImageTail {
  bool normalize = false;
  std::vector<double> mean, std;  // per channel, in 0..1 terms as given to Normalize
  bool flip = false;              // whether any image can be flipped
};

// What split_tail split off, by the graph before and after it.
ImageTail tail_between(const DataGraph& before, const DataGraph& after);
// The same of a user's graph, with all passes before split_tail. An Error if its images cannot be raw. Files are opened
// only where a source's columns are in them.
ImageTail image_tail_of(DataGraph graph);

}  // namespace ridgeline::data
