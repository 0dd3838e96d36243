#include "ridgeline/data/runtime/batch_step.h"

namespace ridgeline::data {

std::unique_ptr<BatchStep> make_batch_step(const Transform& transform, const Schema&, std::uint64_t) {
  throw InternalError("no step for batch operation " + transform.op);
}

}  // namespace ridgeline::data
