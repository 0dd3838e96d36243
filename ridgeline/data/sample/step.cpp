#include "ridgeline/data/sample/step.h"

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/sample/batch_step.h"

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
  const TransformEntry& entry = transform_entry(transform.op);
  RIDGELINE_CHECK(entry.step != nullptr, "no step for transform " + transform.op);
  return entry.step(transform, seed);
}

std::unique_ptr<BatchStep> make_batch_step(const Transform& transform, const Schema& schema, std::uint64_t seed) {
  const TransformEntry& entry = transform_entry(transform.op);
  RIDGELINE_CHECK(entry.batch_step != nullptr, "no step for batch operation " + transform.op);
  return entry.batch_step(transform, schema, seed);
}

}  // namespace ridgeline::data
