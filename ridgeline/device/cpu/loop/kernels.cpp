#include <algorithm>
#include <optional>
#include <string>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/loop/program.h"
#include "ridgeline/device/update_group_kernel.h"
#include "ridgeline/graph/loop/evaluate.h"
#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline::device {
namespace {

using loop::Expression;
using loop::Kind;
using loop::kLoopStorage;

// The types in which elements can be stored, beside the table's floating types.
std::optional<Refusal> refuse_results(std::span<const ValueType> results) {
  for (const ValueType& type : results) {
    if (!is_floating(type.dtype) && type.dtype != DType::boolean) {
      return Refusal{"a result is " + std::string(name_of(type.dtype)) + ": the loop interpreter gives " +
                     kLoopStorage.to_string() + " and bool"};
    }
  }
  return std::nullopt;
}

// A loop over a blocked layout with padding. Padding must stay zero, which depends only on the scalars (an infinite
// factor turns it into NaN), so each run checks first, and otherwise computes in plain rows between conversions. That
// happens only with invalid numbers; only then does it allocate.
class PaddedLoopKernel final : public Kernel {
 public:
  PaddedLoopKernel(Expression expression, LoopProgram program, Layout layout, const Shape& shape,
                   std::span<const ValueType> results)
      : expression_(std::move(expression)),
        program_(std::move(program)),
        layout_(std::move(layout)),
        plain_bytes_(static_cast<std::size_t>(shape.elements()) * sizeof(float)),
        blocked_(program_, static_cast<std::int64_t>(layout_.blocked()->bytes() / sizeof(float)), results),
        rows_(program_, shape.elements(), results) {
    scratch_bytes = blocked_.scratch_bytes;
    in_place = blocked_.in_place;
  }

  void run(const KernelArguments& arguments) override {
    if (padding_stays_zero(arguments))
      blocked_.run(arguments);
    else
      run_in_rows(arguments);
  }

 private:
  bool padding_stays_zero(const KernelArguments& arguments) const {
    FlushDenormals flush;  // as in the blocks
    return keeps_zero(expression_, program_,
                      [&](std::size_t i) { return read_loop_scalar(program_.operands[i], arguments.inputs[i]); });
  }

  void run_in_rows(const KernelArguments& arguments) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<void*> inputs(arguments.inputs, arguments.inputs + program_.operands.size());
    std::vector<void*> outputs(arguments.outputs, arguments.outputs + program_.sums.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (program_.operands[i].access != LoopOperand::direct) continue;
      memory.emplace_back(plain_bytes_);
      layout_.blocked()->to_plain(inputs[i], memory.back().data());
      inputs[i] = memory.back().data();
    }
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      if (program_.sums[r] >= 0) continue;
      memory.emplace_back(plain_bytes_);
      outputs[r] = memory.back().data();
    }
    rows_.run({inputs.data(), outputs.data(), arguments.scratch});
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      if (program_.sums[r] < 0) layout_.blocked()->from_plain(outputs[r], arguments.outputs[r]);
    }
  }

  Expression expression_;
  LoopProgram program_;
  Layout layout_;
  std::size_t plain_bytes_;
  LoopKernel blocked_;
  LoopKernel rows_;
};

// The blocked layout that all operands and results of the loop can share, or plain.
Layout common_layout(const KernelRequest& request, const Expression& expression, const LoopProgram& program) {
  const auto is_direct = [&](std::size_t i) { return program.operands[i].access == LoopOperand::direct; };
  for (const LoopOperand& o : program.operands) {
    const bool follows =
        o.access == LoopOperand::direct || o.access == LoopOperand::scalar || o.access == LoopOperand::unused;
    if (!follows) return {};
  }
  bool any_direct = false;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) any_direct = any_direct || is_direct(i);
  if (!any_direct) return {};
  std::vector<Layout> votes;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    if (is_direct(i) && !request.inputs[i].free) votes.push_back(request.inputs[i].layout);
  }
  for (std::size_t r = 0; r < request.outputs.size(); ++r) {
    if (request.outputs[r].type.dtype != DType::f32) return {};
    if (votes.empty() && program.sums[r] < 0 && !request.outputs[r].free) votes.push_back(request.outputs[r].layout);
  }
  // The layout that most operands have needs fewest conversions; among equals the first operand's.
  Layout best;
  std::ptrdiff_t most = 0;
  for (const Layout& vote : votes) {
    const auto count = std::count(votes.begin(), votes.end(), vote);
    if (count > most) {
      most = count;
      best = vote;
    }
  }
  if (best.plain()) return {};
  const auto ordinary = [](std::size_t) { return 0.7f; };
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const ValueType& type = request.inputs[i].type;
    if (is_direct(i) && best.bytes(type) != type.bytes() && !keeps_zero(expression, program, ordinary)) return {};
  }
  return best;
}

KernelChoice make_own_update_group(const KernelRequest& request) {
  return make_update_group_kernel(request, make_loop_kernel, own_name("update_group"));
}

}  // namespace

KernelChoice make_loop_kernel(const KernelRequest& request) {
  if (!request.def.expression) return Refusal{"the op has no loop expression"};
  Expression expression = request.def.expression(request.node.attributes);
  expression.operands = static_cast<std::int32_t>(request.inputs.size());  // a loop may leave its last ones unread
  std::vector<ValueType> inputs;
  std::vector<ValueType> results;
  for (const KernelOperand& operand : request.inputs) inputs.push_back(operand.type);
  for (const KernelOperand& operand : request.outputs) results.push_back(operand.type);
  if (auto refusal = refuse_results(results)) return *refusal;
  if (expression.terms.size() > static_cast<std::size_t>(kMaxLoopTerms)) {
    return Refusal{"a loop of more than " + std::to_string(kMaxLoopTerms) + " terms"};
  }

  const Shape shape = broadcast_shape(request.def.name, inputs);
  LoopProgram program = compile_loop(expression, shape, inputs, results);
  const Layout layout = common_layout(request, expression, program);
  const bool padded =
      !layout.plain() && layout.blocked()->bytes() != static_cast<std::size_t>(shape.elements()) * sizeof(float);
  std::vector<Layout> input_layouts(inputs.size());
  std::vector<Layout> output_layouts(results.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (program.operands[i].access == LoopOperand::direct) input_layouts[i] = layout;
  }
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (program.sums[r] < 0) output_layouts[r] = layout;
  }
  std::unique_ptr<Kernel> kernel;
  if (padded)
    kernel = std::make_unique<PaddedLoopKernel>(std::move(expression), std::move(program), layout, shape, results);
  else
    kernel = std::make_unique<LoopKernel>(std::move(program), shape.elements(), results);
  // All sets from AVX-512 on run the same code.
  kernel->name = "own " + request.def.name + " " + std::string(name_of(vector_isa()));
  kernel->input_layouts = std::move(input_layouts);
  kernel->output_layouts = std::move(output_layouts);
  return kernel;
}

std::span<const KernelEntry> loop_kernels() {
  static const std::vector<KernelEntry> entries = [] {
    std::vector<KernelEntry> list;
    for (const OpDef& op : all_ops()) {
      if (op.has(kPointwise))
        list.push_back(own_entry(op.name, "loop_interpreter", make_loop_kernel, {.storage = kLoopStorage}));
    }
    list.push_back(own_entry("update_group", "own", make_own_update_group));
    return list;
  }();
  return entries;
}

}  // namespace ridgeline::device
