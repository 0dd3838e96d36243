#include <algorithm>

#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"

namespace ridgeline::cuda {
namespace {

// A reduction over axes that lie side by side is [outer, reduced, inner]; others are refused.
KernelChoice make_reduce(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const ValueType x = request.inputs[0].type;
  std::vector<std::int64_t> axes = request.node.attributes.integers("axes");
  if (axes.empty()) {
    for (int axis = 0; axis < x.shape.rank(); ++axis) axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end());
  Reduction r{.type = x.dtype, .maximum = request.node.op == "reduce_max"};
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) return Refusal{"the axes are not side by side"};
  }
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    std::int64_t& part = axes.empty() || axis < axes.front() ? r.outer : axis <= axes.back() ? r.reduced : r.inner;
    part *= x.shape[axis];
  }
  if (x.shape.elements() == 0) return Refusal{"nothing to reduce"};
  if (request.node.op == "reduce_mean") r.factor = 1.0 / static_cast<double>(r.reduced);
  auto kernel = launched(request, "reduce", [=](LaunchSink sink, const KernelArguments& a) {
    reduce(sink, r, a.inputs[0], a.outputs[0], a.scratch);
  });
  kernel->scratch_bytes = reduce_scratch(r);
  return kernel;
}

KernelChoice make_l2_penalty(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  std::vector<std::int64_t> elements;
  for (const KernelOperand& operand : request.inputs) {
    if (operand.type.dtype != request.inputs[0].type.dtype) return Refusal{"operands of several types"};
    elements.push_back(operand.type.shape.elements());
  }
  const DType type = request.inputs[0].type.dtype;
  const double factor = request.node.attributes.real("factor") / 2;
  auto kernel = launched(request, "l2_penalty", [=](LaunchSink sink, const KernelArguments& a) {
    std::vector<NormTensor> tensors;
    for (std::size_t i = 0; i < elements.size(); ++i) tensors.push_back({a.inputs[i], elements[i]});
    tensors_total(sink, TensorsTotal::squares, type, tensors, factor, 0, a.outputs[0], a.scratch);
  });
  kernel->scratch_bytes = tensors_total_scratch(elements);
  return kernel;
}

constexpr KernelEntry kSums[] = {
    own_entry("reduce_sum", "own", make_reduce),
    own_entry("reduce_mean", "own", make_reduce),
    own_entry("reduce_max", "own", make_reduce),
    own_entry("l2_penalty", "own", make_l2_penalty, {DType::f32}),
};

}  // namespace

std::span<const KernelEntry> sum_entries() { return kSums; }

}  // namespace ridgeline::cuda
