#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/common.h"

namespace ridgeline::device {
namespace {

struct Scores {
  std::int64_t rows;
  std::int64_t classes;
  bool masked;
  std::int64_t k;  // entries that may be larger; 0 asks for the first maximum instead
};

// A hit when the label is the first maximum.
bool is_first_maximum(const float* z, std::int64_t classes, std::int32_t label) {
  for (std::int64_t c = 0; c < classes; ++c) {
    if (c < label ? z[c] >= z[label] : z[c] > z[label]) return false;
  }
  return true;
}

// A hit when fewer than k entries are strictly greater than the label's.
bool is_in_top(const float* z, std::int64_t classes, std::int32_t label, std::int64_t k) {
  const float own = z[label];
  std::int64_t greater = 0;
  for (std::int64_t c = 0; c < classes; ++c) greater += z[c] > own ? 1 : 0;
  return greater < k;
}

// A row with an infinity or a NaN is never a hit.
bool is_finite(const float* z, std::int64_t classes) {
  float sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) sum += z[c] * 0.0f;  // 0, or NaN from the first value that is not finite
  return sum == 0;
}

KernelChoice make_accuracy(const KernelRequest& request, std::int64_t k) {
  const Shape& shape = request.inputs[0].type.shape;
  const Scores scores{shape[0], shape[1], request.inputs.size() == 3, k};
  return make_body_kernel(own_name(request.def.name), [scores, op = request.def.name](const KernelArguments& a) {
    const auto* labels = input<std::int32_t>(a, 1);
    std::int64_t hits = 0;
    for (std::int64_t row = 0; row < scores.rows; ++row) {
      if (scores.masked && input<float>(a, 2)[row] == 0) continue;
      const std::int32_t label = labels[row];
      if (label < 0 || label >= scores.classes) {
        throw Error("[" + op + "] label " + std::to_string(label) + " of row " + std::to_string(row) +
                    " is outside the " + std::to_string(scores.classes) + " classes");
      }
      const float* z = input<float>(a, 0) + row * scores.classes;
      const bool hit =
          scores.k == 0 ? is_first_maximum(z, scores.classes, label) : is_in_top(z, scores.classes, label, scores.k);
      hits += hit && is_finite(z, scores.classes) ? 1 : 0;
    }
    *output<float>(a, 0) = static_cast<float>(hits);
  });
}

}  // namespace

KernelChoice make_own_top_k_accuracy(const KernelRequest& request) {
  return make_accuracy(request, request.node.attributes.integer("k"));
}

KernelChoice make_own_argmax_accuracy(const KernelRequest& request) { return make_accuracy(request, 0); }

}  // namespace ridgeline::device
