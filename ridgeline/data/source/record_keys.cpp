#include "ridgeline/data/source/record_keys.h"

namespace ridgeline::data {
namespace {

constexpr RecordKeys kSlim{.image = "image/encoded", .label = "image/class/label"};
constexpr RecordKeys kTensorFlowDatasets{.image = "image", .label = "label", .from_zero = true};

bool has_any(const Example& example, const RecordKeys& keys) {
  return example.has(keys.image) || example.has(keys.label);
}

}  // namespace

const RecordKeys& keys_of(const Example& example) {
  return !has_any(example, kSlim) && has_any(example, kTensorFlowDatasets) ? kTensorFlowDatasets : kSlim;
}

}  // namespace ridgeline::data
