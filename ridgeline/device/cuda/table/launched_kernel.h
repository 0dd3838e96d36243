// ridgeline/device/cuda/table/launched_kernel.h
//
// A kernel of the device's table that consists of launches of our kernels (kernels/launches.h), and what the files of
// the table share. Only for those files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ridgeline/device/cuda/device_stream.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda {

using GiveLaunches = std::function<void(LaunchSink sink, const KernelArguments& arguments)>;

class LaunchedKernel final : public Kernel {
 public:
  LaunchedKernel(std::string kernel_name, std::string node, GiveLaunches give)
      : node_(std::move(node)), give_(std::move(give)) {
    name = std::move(kernel_name);
  }
  void run(const KernelArguments& arguments) override {
    auto& stream = static_cast<DeviceStream&>(*arguments.stream);
    give_([&](const KernelLaunch& launch) { stream.give(node_, launch); }, arguments);
  }

 private:
  std::string node_;  // for messages
  GiveLaunches give_;
};

inline std::unique_ptr<LaunchedKernel> launched(const KernelRequest& request, std::string_view name,
                                                GiveLaunches give) {
  return std::make_unique<LaunchedKernel>("cuda " + std::string(name), request.node.name, std::move(give));
}

// Whether a value has more elements than our kernels can count.
inline bool too_large(const KernelRequest& request) {
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      if (operand.type.shape.elements() > kMostElements) return true;
    }
  }
  return false;
}
inline Refusal refuse_size() { return {"a value has 2^31 elements or more"}; }

template <class T = float>
const T* in(const KernelArguments& arguments, std::size_t index) {
  return static_cast<const T*>(arguments.inputs[index]);
}
template <class T = float>
T* out(const KernelArguments& arguments, std::size_t index) {
  return static_cast<T*>(arguments.outputs[index]);
}

// The bias, addend and relu of a node of conv2d or dense, without their addresses.
struct NodeEpilogue {
  bool bias, addend, relu;
  DType bias_type;
  explicit NodeEpilogue(const KernelRequest& request)
      : bias(request.inputs.size() >= 3),
        addend(request.inputs.size() == 4),
        relu(request.node.attributes.string("activation") == "relu"),
        bias_type(bias ? request.inputs[2].type.dtype : DType::f32) {}
  Epilogue of(const KernelArguments& a) const {
    return {.bias = bias ? a.inputs[2] : nullptr,
            .bias_type = bias_type,
            .addend = addend ? a.inputs[3] : nullptr,
            .relu = relu};
  }
};

// Entries of the table.
using EntryFactory = KernelChoice (*)(const KernelRequest&);
inline constexpr DTypeSet kCardTypes{DType::f32, DType::bf16, DType::f16};
// A kernel of ours: its bits depend only on the shapes.
constexpr KernelEntry own_entry(std::string_view op, std::string_view name, EntryFactory factory,
                                DTypeSet storage = kCardTypes) {
  return {op, name, Provider::own, factory, storage, Arithmetic::f32, {Reproducibility::portable, true}};
}

// The same by tensor cores, whose order of sums is that of the card. Biases, states and results may be f32.
constexpr KernelEntry tensor_core_entry(std::string_view op, std::string_view name, EntryFactory factory) {
  KernelEntry entry = own_entry(op, name, factory);
  entry.promise.bits = Reproducibility::deterministic;
  return entry;
}

// A kernel of NVIDIA's libraries: its bits depend on the card. `fp32_compute`: how it multiplies f32 values, if not in
// f32.
constexpr KernelEntry library_entry(std::string_view op, std::string_view name, EntryFactory factory,
                                    std::string_view fp32_compute = {}) {
  const DTypeSet storage = fp32_compute.empty() ? kCardTypes : DTypeSet{DType::f32};
  return {op,
          name,
          Provider::library,
          factory,
          storage,
          Arithmetic::f32,
          {Reproducibility::deterministic, true, fp32_compute}};
}

}  // namespace ridgeline::cuda
