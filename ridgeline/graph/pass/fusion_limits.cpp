#include "ridgeline/graph/pass/fusion_limits.h"

#include <algorithm>

#include "ridgeline/graph/loop/expression.h"

namespace ridgeline {

bool FusionLimits::takes_epilogue(std::string_view op, std::string_view activation, DType type) const {
  return std::any_of(epilogues.begin(), epilogues.end(), [&](const EpilogueLimits& e) {
    return e.op == op && e.activation == activation && e.types.contains(type);
  });
}

bool FusionLimits::takes_addend(std::string_view op, DType type) const {
  return std::any_of(epilogues.begin(), epilogues.end(),
                     [&](const EpilogueLimits& e) { return e.op == op && e.addend && e.types.contains(type); });
}

double FusionLimits::times_its_bytes(std::string_view op, DType result) const {
  for (const SlowOp& slow : slow_ops) {
    if (slow.op == op && slow.results.contains(result)) return slow.times;
  }
  return 1;
}

namespace {

bool within(const DenseUpdateLimits& limits, const ValueType& x, const ValueType& w) {
  return limits.types.contains(x.dtype) && x.shape[0] <= limits.rows && w.shape.elements() >= limits.weights;
}

}  // namespace

bool FusionLimits::takes_dense_update(const ValueType& x, const ValueType& w) const {
  return std::any_of(dense_updates.begin(), dense_updates.end(),
                     [&](const DenseUpdateLimits& limits) { return within(limits, x, w); });
}

bool FusionLimits::takes_squares(const ValueType& x, const ValueType& w) const {
  return std::any_of(dense_updates.begin(), dense_updates.end(),
                     [&](const DenseUpdateLimits& limits) { return limits.squares && within(limits, x, w); });
}

FusionLimits reference_fusion_limits() {
  FusionLimits limits;
  for (const char* op : {"conv2d", "dense", "batch_norm_train", "batch_norm_eval"}) {
    limits.epilogues.push_back({op, "relu", kFloatingTypes, true});
  }
  limits.data_gradients = kFloatingTypes;
  limits.pools = kFloatingTypes;
  limits.pool_gradients = kFloatingTypes;
  limits.norm_gradients = kFloatingTypes;
  limits.updates = {DType::f32};
  limits.dense_updates = {{.types = {DType::f32, DType::bf16, DType::f16}, .squares = true}};
  limits.loop = {.terms = 1024,
                 .operands = 256,
                 .inputs = {DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::boolean},
                 .results = loop::kLoopStorage,
                 .sums = true};
  return limits;
}

}  // namespace ridgeline
