#include "ridgeline/device/cpu/widened_kernel.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/device/conversion_kernel.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/loop/kernels.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::device {
namespace {

bool narrow(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

std::unique_ptr<Kernel> make_cast(const ValueType& from, DType to) {
  Node node;
  node.op = "cast";
  node.name = "cast";
  node.attributes = {{"to", to}};
  const KernelRequest request{op_def("cast"), node, {{from, {}, false}}, {{{to, from.shape}, {}, false}}};
  return std::get<std::unique_ptr<Kernel>>(make_loop_kernel(request));
}

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(const KernelRequest& request, const KernelRequest& wide, std::unique_ptr<Kernel> inner)
      : inner_(std::move(inner)) {
    name = "widened " + inner_->name;
    emulates = true;
    input_layouts = inner_->input_layouts;
    output_layouts = inner_->output_layouts;
    input_layouts.resize(request.inputs.size());
    output_layouts.resize(request.outputs.size());
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const ValueType& type = request.inputs[i].type;
      if (!narrow(type.dtype)) continue;
      Operand operand{i, make_cast(type, DType::f32), nullptr, reserve(wide.inputs[i].type.bytes()), 0};
      if (const Layout wanted = input_layouts[i]; !wanted.plain()) {
        operand.layout = make_conversion_kernel(wide.inputs[i].type, Layout(), wanted);
        operand.blocked_at = reserve(wanted.bytes(wide.inputs[i].type));
        shared_ = std::max(shared_, operand.layout->scratch_bytes);
        input_layouts[i] = Layout();
      }
      operands_.push_back(std::move(operand));
    }
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      const ValueType& type = request.outputs[i].type;
      if (!narrow(type.dtype)) continue;
      RIDGELINE_CHECK(output_layouts[i].plain(), inner_->name + " chose a layout for a result that is not free");
      results_.push_back(
          {i, make_cast(wide.outputs[i].type, type.dtype), nullptr, reserve(wide.outputs[i].type.bytes()), 0});
    }
    shared_at_ = reserve(std::max(shared_, inner_->scratch_bytes));
    inputs_.resize(request.inputs.size());
    outputs_.resize(request.outputs.size());
  }

  void run(const KernelArguments& arguments) override {
    const auto scratch = [&](std::size_t at) -> void* { return static_cast<char*>(arguments.scratch) + at; };
    void* const shared = scratch(shared_at_);
    std::copy_n(arguments.inputs, inputs_.size(), inputs_.begin());
    std::copy_n(arguments.outputs, outputs_.size(), outputs_.begin());
    for (const Operand& operand : operands_) {
      void* plain = scratch(operand.at);
      operand.cast->run({&arguments.inputs[operand.index], &plain, nullptr});
      inputs_[operand.index] = plain;
      if (!operand.layout) continue;
      void* blocked = scratch(operand.blocked_at);
      operand.layout->run({&plain, &blocked, shared});
      inputs_[operand.index] = blocked;
    }
    for (const Operand& result : results_) outputs_[result.index] = scratch(result.at);
    inner_->run({inputs_.data(), outputs_.data(), shared});
    for (const Operand& result : results_) {
      result.cast->run({&outputs_[result.index], &arguments.outputs[result.index], nullptr});
    }
  }

 private:
  // An operand or result in f32.
  struct Operand {
    std::size_t index;
    std::unique_ptr<Kernel> cast;
    std::unique_ptr<Kernel> layout;  // into what the inner kernel wants, if that is not plain rows
    std::size_t at;                  // in the scratch memory, in plain rows
    std::size_t blocked_at;
  };

  std::size_t reserve(std::size_t bytes) {
    const std::size_t at = scratch_bytes;
    scratch_bytes += (bytes + 63) / 64 * 64;
    return at;
  }

  std::unique_ptr<Kernel> inner_;
  std::vector<Operand> operands_;
  std::vector<Operand> results_;
  std::size_t shared_ = 0;  // bytes of scratch that conversions and the inner kernel use in turn
  std::size_t shared_at_ = 0;
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
};

KernelChoice make_widened(const KernelRequest& request) {
  KernelRequest wide = request;
  bool any = false;
  for (std::vector<KernelOperand>* operands : {&wide.inputs, &wide.outputs}) {
    for (KernelOperand& operand : *operands) {
      if (!narrow(operand.type.dtype)) continue;
      operand = {{DType::f32, operand.type.shape}, {}, false};
      any = true;
    }
  }
  if (!any) return Refusal{"no value of bf16 or f16 to convert"};
  std::string reasons;
  for (const KernelEntry& entry : cpu_kernels(request.node.op, forced_provider())) {
    if (entry.provider == Provider::reference || entry.factory == make_widened) continue;
    KernelChoice choice = entry.make(wide);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) {
      return std::make_unique<WidenedKernel>(request, wide, std::move(*kernel));
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(entry.name) + ": " + std::get<Refusal>(choice).reason;
  }
  return Refusal{"no f32 kernel takes it either (" + reasons + ")"};
}

}  // namespace

KernelEntry widened_entry(const OpDef& def) {
  return {def.name,
          "widened",
          Provider::own,
          make_widened,
          loop::kLoopStorage,
          Arithmetic::f32,
          {Reproducibility::portable, true}};  // what it calls keeps its own promise
}

}  // namespace ridgeline::device
