// ridgeline/graph/pass/fuse_max_pool.h
//
// Lets one launch compute a convolution and the max pooling that alone reads it, where the device has a kernel that
// does so:
//   max_pool(conv2d(x, w, b))  ->  conv2d_max_pool(x, w, b)
// Keeps: every returned value and update, and the name of conv2d. Drops: the image between both.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_max_pool(Graph graph, PassContext& context);

}  // namespace ridgeline
