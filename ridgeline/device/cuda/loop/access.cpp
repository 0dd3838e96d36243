#include "ridgeline/device/cuda/loop/access.h"

#include <algorithm>

#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline::cuda {

bool reads_operand(const loop::Expression& expression, int index) {
  return std::any_of(expression.terms.begin(), expression.terms.end(),
                     [&](const loop::Term& t) { return t.kind == loop::Kind::operand && t.operand == index; });
}

LoopAccess loop_access(const loop::Expression& expression, int index, const ValueType& operand, const Shape& shape,
                       int each, int tensors) {
  LoopAccess access;
  access.type = operand.dtype;
  if (!reads_operand(expression, index)) return access;
  if (only_a_step(expression, index)) {
    access.kind = LoopAccess::step;
    return access;
  }
  // Of many tensors one may have a single element, so only an operand without axes is common to all.
  if (tensors > 1 ? operand.shape.rank() == 0 : operand.shape.elements() == 1 && shape.elements() != 1) {
    access.kind = LoopAccess::scalar;
    return access;
  }
  if (operand.shape.elements() == shape.elements()) {
    access.kind = LoopAccess::direct;
    return access;
  }
  // The loop's axes from the innermost outwards; neighbours with a uniform stride become one.
  std::int64_t stride = 1;
  for (int axis = -1; axis >= -shape.rank(); --axis) {
    const std::int64_t own = -axis <= operand.shape.rank() ? operand.shape[axis] : 1;
    const std::int64_t step = own == 1 ? 0 : stride;
    stride *= own;
    if (shape[axis] == 1) continue;
    if (!access.extents.empty() && step == access.strides.back() * access.extents.back()) {
      access.extents.back() *= shape[axis];
    } else {
      access.extents.push_back(shape[axis]);
      access.strides.push_back(step);
    }
  }
  // Whether full groups are contiguous, or one element.
  const bool whole = access.extents[0] % each == 0;
  const bool even =
      std::all_of(access.strides.begin() + 1, access.strides.end(), [&](std::int64_t s) { return s % each == 0; });
  if (whole && access.strides[0] == 0)
    access.kind = LoopAccess::repeated;
  else if (whole && access.strides[0] == 1 && even)
    access.kind = LoopAccess::run;
  else
    access.kind = LoopAccess::scattered;
  return access;
}

}  // namespace ridgeline::cuda
