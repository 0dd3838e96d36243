#include "ridgeline/train/session_options.h"

namespace ridgeline::train {

SessionOptions session_options(const Recipe& recipe) {
  SessionOptions options{.compute_threads = recipe.intra_op_parallelism_threads,
                         .device = recipe.device,
                         .log = recipe.log,
                         .trace = !recipe.trace.empty()};
  if (recipe.log_device_placement) options.log += options.log.empty() ? "placement" : ",placement";
  return options;
}

}  // namespace ridgeline::train
