#include "ridgeline/data/runtime/steps/step.h"

namespace ridgeline::data {

std::uint8_t* Frame::output(std::size_t bytes) {
  if (slot && !tail) {
    RIDGELINE_CHECK(bytes == slot_bytes, "the last step writes another size than the schema says");
    return slot;
  }
  std::vector<std::uint8_t>& buffer = work->buffers[turn ^= 1];
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

std::unique_ptr<Step> make_step(const Transform& transform, std::uint64_t seed) {
  if (auto step = make_geometry_step(transform, seed)) return step;
  if (auto step = make_tail_step(transform, seed)) return step;
  if (auto step = make_value_step(transform)) return step;
  if (auto step = make_warp_step(transform, seed)) return step;
  if (auto step = make_colour_step(transform, seed)) return step;
  if (auto step = make_erase_step(transform, seed)) return step;
  if (auto step = make_policy_step(transform, seed)) return step;
  if (auto step = make_resize_write_step(transform, seed)) return step;
  if (auto step = make_nested_step(transform, seed)) return step;
  if (auto step = make_box_step(transform)) return step;
  throw InternalError("no step for transform " + transform.op);
}

}  // namespace ridgeline::data
