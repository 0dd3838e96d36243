#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/loop/kernel.h"
#include "ridgeline/device/cuda/table/defined_kernel.h"
#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/pointwise.h"
#include "ridgeline/graph/op/update_group.h"

namespace ridgeline::cuda {
namespace {

// The kernel of a loop on a card: compiled when the device is first asked for its text.
class LoopLaunch final : public Kernel {
 public:
  LoopLaunch(const KernelRequest& request, LoopText text, const Shape& shape)
      : node_(request.node.name),
        loop_(std::move(text), shape),
        function_(static_cast<CudaDevice&>(*request.device).loop_function(loop_.text().name, loop_.text().text)) {
    name = "cuda loop";
    scratch_bytes = loop_.scratch_bytes();
    in_place = loop_.in_place();
  }
  void run(const KernelArguments& a) override {
    auto& stream = static_cast<DeviceStream&>(*a.stream);
    loop_.give(
        [&](const KernelLaunch& launch) {
          if (&launch.kernel == &loop_.row())
            stream.give(node_, launch, function_);
          else
            stream.give(node_, launch);
        },
        a.inputs, a.outputs, a.scratch);
  }

 private:
  std::string node_;
  LoopKernel loop_;
  FunctionHandle function_;
};

// The updates of a group: blocks take chunks of all parameters, in as many launches as the parameters' addresses need.
class GroupLaunch final : public Kernel {
 public:
  GroupLaunch(const KernelRequest& request, const UpdateGroup& group, LoopText text, const Shape& shape)
      : node_(request.node.name),
        loop_(std::move(text), shape),
        function_(static_cast<CudaDevice&>(*request.device).loop_function(loop_.text().name, loop_.text().text)) {
    name = kName;
    in_place.assign(request.outputs.size(), -1);
    const std::vector<int> over = loop_.in_place();
    for (std::size_t p = 0; p < group.parameters; ++p) {
      Part part{
          group.operands_of(p), group.results_of(p), {}, {}, request.inputs[p * group.states].type.shape.elements()};
      part.inputs.resize(part.operands.size());
      part.outputs.resize(part.results.size());
      for (std::size_t r = 0; r < part.results.size(); ++r)
        if (over[r] >= 0)
          in_place[part.results[r]] = static_cast<int>(part.operands[static_cast<std::size_t>(over[r])]);
      parts_.push_back(std::move(part));
    }
  }
  static constexpr const char* kName = "cuda update_group";

  void run(const KernelArguments& a) override {
    auto& stream = static_cast<DeviceStream&>(*a.stream);
    std::vector<LoopTensor> tensors;
    for (Part& part : parts_) {
      for (std::size_t i = 0; i < part.operands.size(); ++i) part.inputs[i] = a.inputs[part.operands[i]];
      for (std::size_t r = 0; r < part.results.size(); ++r) part.outputs[r] = a.outputs[part.results[r]];
      tensors.push_back({part.inputs.data(), part.outputs.data(), part.elements});
    }
    loop_.give([&](const KernelLaunch& launch) { stream.give(node_, launch, function_); }, tensors);
  }

 private:
  struct Part {
    std::vector<std::size_t> operands, results;
    std::vector<void*> inputs, outputs;  // of the run in progress
    std::int64_t elements;
  };
  std::string node_;
  LoopKernel loop_;
  FunctionHandle function_;
  std::vector<Part> parts_;
};

KernelChoice make_loop(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const OpDef& def = request.def;
  const std::vector<ValueType> inputs = types_of(request.inputs), outputs = types_of(request.outputs);
  const OpInstance instance{inputs, request.node.attributes, request.node.name};
  const loop::Expression expression = def.expression(request.node.attributes);
  const Shape shape = broadcast_shape(request.node.op, inputs);
  std::vector<DType> results;
  for (const ValueType& type : outputs) results.push_back(type.dtype);
  auto made = loop_text(expression, arithmetic_of(def, instance, outputs), shape, inputs, results);
  if (auto* refusal = std::get_if<Refusal>(&made)) return std::move(*refusal);
  if (static_cast<CudaDevice&>(*request.device).context().driver().recording())
    return std::make_unique<DefinedKernel>(request, "cuda loop");
  try {
    return std::make_unique<LoopLaunch>(request, std::get<LoopText>(std::move(made)), shape);
  } catch (const Error& error) {  // no NVRTC
    return Refusal{error.what()};
  }
}

KernelChoice make_update_group(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const UpdateGroup group(request.node.attributes, request.inputs.size());
  const Shape any{2};  // sizes are no part of the text
  std::vector<ValueType> inputs, outputs;
  for (std::size_t i : group.operands_of(0)) {
    const ValueType& type = request.inputs[i].type;
    inputs.push_back({type.dtype, inputs.size() <= group.states ? any : type.shape});
  }
  std::vector<DType> results;
  for (std::size_t r : group.results_of(0)) {
    results.push_back(request.outputs[r].type.dtype);
    outputs.push_back({results.back(), any});
  }
  const OpDef& loop = op_def("loop");
  const Attributes attributes{{"expression", request.node.attributes.string("expression")}};
  const OpInstance instance{inputs, attributes, request.node.name};
  const int room = tensors_of_a_launch(group.states + 1 + results.size(), group.shared);
  auto made =
      loop_text(loop.expression(attributes), arithmetic_of(loop, instance, outputs), any, inputs, results, room);
  if (auto* refusal = std::get_if<Refusal>(&made)) return std::move(*refusal);
  if (static_cast<CudaDevice&>(*request.device).context().driver().recording())
    return std::make_unique<DefinedKernel>(request, GroupLaunch::kName);
  try {
    return std::make_unique<GroupLaunch>(request, group, std::get<LoopText>(std::move(made)), any);
  } catch (const Error& error) {  // no NVRTC
    return Refusal{error.what()};
  }
}

}  // namespace

// Every op that is defined by an expression, whichever arithmetic its text takes.
std::span<const KernelEntry> loop_entries() {
  static const std::vector<KernelEntry> entries = [] {
    std::vector<KernelEntry> all;
    for (const OpDef& def : all_ops()) {
      if (!def.expression || def.name == "update_group") continue;
      all.push_back({def.name,
                     "loop",
                     Provider::own,
                     make_loop,
                     kFloatingTypes,
                     Arithmetic::f64,
                     {Reproducibility::portable, true}});
    }
    all.push_back({"update_group",
                   "loops",
                   Provider::own,
                   make_update_group,
                   kFloatingTypes,
                   Arithmetic::f64,
                   {Reproducibility::portable, true}});
    return all;
  }();
  return entries;
}

}  // namespace ridgeline::cuda
