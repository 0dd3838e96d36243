#include "ridgeline/graph/pass/fusion_limits.h"

#include <algorithm>

#include "ridgeline/graph/loop/expression.h"

namespace ridgeline {

bool FusionLimits::takes(const FusedForm& form) const {
  return std::any_of(forms.begin(), forms.end(), [&](const FusedForms& taken) {
    return taken.op == form.op && taken.with == form.with && taken.types.contains(form.type) &&
           form.rows <= taken.most_rows && form.weights >= taken.least_weights;
  });
}

double FusionLimits::times_its_bytes(std::string_view op, DType result) const {
  for (const SlowOp& slow : slow_ops) {
    if (slow.op == op && slow.results.contains(result)) return slow.times;
  }
  return 1;
}

FusionLimits reference_fusion_limits() {
  constexpr DTypeSet kUpdates{DType::f32, DType::bf16, DType::f16};
  FusionLimits limits;
  for (const char* op : {"conv2d", "dense", "batch_norm_train", "batch_norm_eval"}) {
    for (const char* with : {"relu", "add"}) limits.forms.push_back({op, with, kFloatingTypes});
  }
  limits.forms.insert(limits.forms.end(), {{"batch_norm_train", "relu6", kFloatingTypes},
                                           {"batch_norm_eval", "relu6", kFloatingTypes},
                                           {"batch_norm_bwd", "relu_grad", kFloatingTypes},
                                           {"batch_norm_bwd", "relu6_grad", kFloatingTypes},
                                           {"update_group", "", {DType::f32}},
                                           {"dense_update", "", kUpdates},
                                           {"dense_update", "l2_penalty", kUpdates}});
  limits.grouped_update_elements = std::numeric_limits<std::int64_t>::max();
  limits.loop = {.terms = 1024,
                 .operands = 256,
                 .inputs = {DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::boolean},
                 .results = loop::kLoopStorage,
                 .sums = true};
  return limits;
}

}  // namespace ridgeline
