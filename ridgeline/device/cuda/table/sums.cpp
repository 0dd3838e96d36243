#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"

namespace ridgeline::cuda {
namespace {

// One step for each group of axes that lie side by side, the last group first.
std::vector<Reduction> reduction_steps(const KernelRequest& request) {
  const ValueType& x = request.inputs[0].type;
  std::vector<bool> reduced(static_cast<std::size_t>(x.shape.rank()), false);
  const std::vector<std::int64_t>& axes = request.node.attributes.integers("axes");
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  if (axes.empty()) reduced.assign(reduced.size(), true);
  std::vector<Reduction> steps;
  std::int64_t inner = 1;
  for (int axis = x.shape.rank() - 1; axis >= 0; --axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) {
      inner *= x.shape[axis];
      continue;
    }
    Reduction r{.type = x.dtype, .inner = inner, .maximum = request.node.op == "reduce_max"};
    while (axis >= 0 && reduced[static_cast<std::size_t>(axis)]) r.reduced *= x.shape[axis--];
    ++axis;
    for (int a = 0; a < axis; ++a) r.outer *= x.shape[a];
    steps.push_back(r);
  }
  if (steps.empty())
    steps.push_back({.type = x.dtype, .outer = x.shape.elements(), .maximum = request.node.op == "reduce_max"});
  return steps;
}

KernelChoice make_reduce(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  if (request.inputs[0].type.shape.elements() == 0) return Refusal{"nothing to reduce"};
  std::vector<Reduction> steps = reduction_steps(request);
  if (request.node.op == "reduce_mean") {
    steps.back().factor = static_cast<double>(request.outputs[0].type.shape.elements()) /
                          static_cast<double>(request.inputs[0].type.shape.elements());
  }
  const std::size_t scratch = reduce_scratch(steps);
  auto kernel = launched(request, "reduce", [steps = std::move(steps)](LaunchSink sink, const KernelArguments& a) {
    reduce(sink, steps, a.inputs[0], a.outputs[0], a.scratch);
  });
  kernel->scratch_bytes = scratch;
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
