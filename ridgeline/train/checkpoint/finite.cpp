#include "ridgeline/train/checkpoint/finite.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {
namespace {

template <class T>
bool finite_values(const Tensor& tensor) {
  const auto values = tensor.span<T>();
  return std::all_of(values.begin(), values.end(), [](T x) { return std::isfinite(x); });
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32: return finite_values<float>(tensor);
    case DType::f64: return finite_values<double>(tensor);
    default: return true;  // training keeps no number in 16 bits
  }
}

std::string first_not_finite(const std::vector<NamedTensor>& tensors) {
  const auto it = std::find_if(tensors.begin(), tensors.end(), [](const auto& t) { return !all_finite(t.tensor); });
  return it == tensors.end() ? "" : it->name;
}

std::optional<std::string> newest_finite_checkpoint(const std::string& directory) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    try {
      if (first_not_finite(load_checkpoint(*file).tensors.tensors()).empty()) return file->path;
    } catch (const Error&) {  // not a good one either
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::train
