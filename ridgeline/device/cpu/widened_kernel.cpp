#include "ridgeline/device/cpu/widened_kernel.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/conversion_kernel.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/loop/kernels.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/graph/loop/expression.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {
namespace {

bool narrow(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

std::unique_ptr<Kernel> make_type_cast(const ValueType& from, DType to) {
  Node node;
  node.op = "cast";
  node.name = "cast";
  node.attributes = {{"to", to}};
  const KernelRequest request{op_def("cast"), node, {{from, {}, false}}, {{{to, from.shape}, {}, false}}};
  return std::get<std::unique_ptr<Kernel>>(make_loop_kernel(request));
}

// Rounds f32 values to what the narrow type holds; in place, too.
std::unique_ptr<Kernel> make_rounding(DType narrow, std::size_t values) {
  const auto elements = static_cast<std::int64_t>(values);
  const ValueType type{DType::f32, {elements}};
  const ValueType operands[] = {type};
  const auto expression = loop::parse(std::string(name_of(narrow)) + "(x0)");
  return std::make_unique<LoopKernel>(compile_loop(expression, type.shape, operands, operands), elements, operands);
}

// Values of a narrow type, held as f32 in the layout of an f32 kernel. Made once for all launches that read them where
// they are a parameter's copy, instead of by each.
class WidenedLayout final : public BlockedLayout {
 public:
  WidenedLayout(const ValueType& narrow, Layout wide) : narrow_(narrow), wide_(std::move(wide)) {}
  std::size_t bytes() const override { return wide_.bytes(wide_type()); }
  std::string name() const override { return "f32 " + wide_.name(); }
  bool equals(const BlockedLayout& other) const override {
    const auto* same = dynamic_cast<const WidenedLayout*>(&other);
    return same != nullptr && same->narrow_ == narrow_ && same->wide_ == wide_;
  }
  bool one_way() const override { return true; }
  void from_plain(const void* plain, void* blocked) const override {
    Tensor rows(DType::f32, narrow_.shape);
    void* const at = rows.raw();
    make_type_cast(narrow_, DType::f32)->run({const_cast<void* const*>(&plain), &at, nullptr});
    wide_.blocked()->from_plain(at, blocked);
  }
  std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const override {
    if (from != nullptr) return nullptr;
    const std::size_t rows = (wide_type().bytes() + 63) / 64 * 64;
    std::shared_ptr<Kernel> cast = make_type_cast(narrow_, DType::f32);
    std::shared_ptr<Kernel> layout = make_conversion_kernel(wide_type(), Layout(), wide_);
    auto kernel = make_body_kernel("", [=](const KernelArguments& a) {
      void* const plain = a.scratch;
      cast->run({a.inputs, &plain, nullptr});
      layout->run({&plain, a.outputs, static_cast<char*>(a.scratch) + rows});
    });
    kernel->scratch_bytes = rows + layout->scratch_bytes;
    return kernel;
  }
  // From the f32 values that the narrow ones are rounded from.
  std::unique_ptr<Kernel> make_cast(DType from_type, const BlockedLayout* from) const override {
    if (from_type != DType::f32) return nullptr;
    std::shared_ptr<Kernel> rounding = make_rounding(narrow_.dtype, bytes() / sizeof(float));
    if (from != nullptr && wide_.blocked()->equals(*from)) {
      return make_body_kernel("", [=](const KernelArguments& a) { rounding->run(a); });
    }
    std::shared_ptr<Kernel> layout = wide_.blocked()->make_conversion(from);
    if (!layout) return nullptr;
    auto kernel = make_body_kernel("", [=](const KernelArguments& a) {
      layout->run(a);
      rounding->run({a.outputs, a.outputs, nullptr});
    });
    kernel->scratch_bytes = layout->scratch_bytes;
    return kernel;
  }

 private:
  ValueType wide_type() const { return {DType::f32, narrow_.shape}; }

  ValueType narrow_;
  Layout wide_;
};

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
      if (!input_layouts[i].plain()) {  // weights: compilation makes that form
        input_layouts[i] = Layout(std::make_shared<WidenedLayout>(type, input_layouts[i]));
        continue;
      }
      operands_.push_back({i, make_type_cast(type, DType::f32), reserve(wide.inputs[i].type.bytes())});
    }
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      const ValueType& type = request.outputs[i].type;
      if (!narrow(type.dtype)) continue;
      RIDGELINE_CHECK(output_layouts[i].plain(), inner_->name + " chose a layout for a result that is not free");
      results_.push_back({i, make_type_cast(wide.outputs[i].type, type.dtype), reserve(wide.outputs[i].type.bytes())});
    }
    inner_at_ = reserve(inner_->scratch_bytes);
    inputs_.resize(request.inputs.size());
    outputs_.resize(request.outputs.size());
  }

  void run(const KernelArguments& arguments) override {
    const auto scratch = [&](std::size_t at) -> void* { return static_cast<char*>(arguments.scratch) + at; };
    std::copy_n(arguments.inputs, inputs_.size(), inputs_.begin());
    std::copy_n(arguments.outputs, outputs_.size(), outputs_.begin());
    for (const Operand& operand : operands_) {
      void* plain = scratch(operand.at);
      operand.cast->run({&arguments.inputs[operand.index], &plain, nullptr});
      inputs_[operand.index] = plain;
    }
    for (const Operand& result : results_) outputs_[result.index] = scratch(result.at);
    inner_->run({inputs_.data(), outputs_.data(), scratch(inner_at_)});
    for (const Operand& result : results_) {
      result.cast->run({&outputs_[result.index], &arguments.outputs[result.index], nullptr});
    }
  }

 private:
  // An operand or result that is f32 for this launch alone.
  struct Operand {
    std::size_t index;
    std::unique_ptr<Kernel> cast;
    std::size_t at;  // in the scratch memory, in plain rows
  };

  std::size_t reserve(std::size_t bytes) {
    const std::size_t at = scratch_bytes;
    scratch_bytes += (bytes + 63) / 64 * 64;
    return at;
  }

  std::unique_ptr<Kernel> inner_;
  std::vector<Operand> operands_;
  std::vector<Operand> results_;
  std::size_t inner_at_ = 0;  // the inner kernel's scratch memory
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
};

KernelChoice make_widened(const KernelRequest& request) {
  KernelRequest wide = request;
  bool any = false;
  for (std::vector<KernelOperand>* operands : {&wide.inputs, &wide.outputs}) {
    for (KernelOperand& operand : *operands) {
      if (!narrow(operand.type.dtype)) continue;
      operand = {{DType::f32, operand.type.shape}, {}, operands == &wide.inputs};  // weights lie as the kernel likes
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
