#include "ridgeline/optim/trust_ratio.h"

namespace ridgeline::optim {

Value norm(Value x, const Location& where) {
  GraphBuilder& builder = x.builder();
  return builder.apply_at(where, "sqrt", {builder.apply_at(where, "reduce_sum", {x * x})});
}

Value ratio_or_one(Value norm_w, Value norm_g, Value numerator, Value denominator, const Location& where) {
  GraphBuilder& builder = norm_w.builder();
  const Value zero = builder.constant(0.0, DType::f32, where);
  const Value one = builder.constant(1.0, DType::f32, where);
  const Value smaller = builder.apply_at(where, "minimum", {norm_w, norm_g});
  const Value positive = builder.apply_at(where, "less", {zero, smaller});
  return builder.apply_at(where, "select", {positive, numerator / denominator, one});
}

Value trust_ratio(Value w, Value direction, const Location& where) {
  const Value norm_w = norm(w, where), norm_d = norm(direction, where);
  return ratio_or_one(norm_w, norm_d, norm_w, norm_d, where);
}

}  // namespace ridgeline::optim
