#include "ridgeline/device/cuda/table/defined_kernel.h"

#include <cstring>

#include "ridgeline/device/cuda/device_stream.h"

namespace ridgeline::cuda {

std::vector<ValueType> types_of(const std::vector<KernelOperand>& operands) {
  std::vector<ValueType> types;
  for (const KernelOperand& operand : operands) types.push_back(operand.type);
  return types;
}

DefinedKernel::DefinedKernel(const KernelRequest& request, std::string_view of)
    : node_(request.node), inputs_(types_of(request.inputs)), outputs_(types_of(request.outputs)) {
  name = std::string(of) + " by its definition";
  for (std::size_t r = 0; r < outputs_.size(); ++r)
    in_place.push_back(r < inputs_.size() && inputs_[r] == outputs_[r] ? static_cast<int>(r) : -1);
}

void DefinedKernel::run(const KernelArguments& a) {
  LibraryCall call{.name = node_.name};
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    call.touches.push_back({reinterpret_cast<DeviceAddress>(a.inputs[i]), inputs_[i].bytes(), Touch::reads});
  for (std::size_t r = 0; r < outputs_.size(); ++r)
    call.touches.push_back({reinterpret_cast<DeviceAddress>(a.outputs[r]), outputs_[r].bytes(), Touch::writes});
  call.host = [this](std::span<void* const> addresses) { compute(addresses); };
  static_cast<DeviceStream&>(*a.stream).driver_stream().library_call(call);
}

void DefinedKernel::compute(std::span<void* const> addresses) const {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs.emplace_back(inputs_[i].dtype, inputs_[i].shape);
    std::memcpy(inputs.back().raw(), addresses[i], inputs.back().byte_size());
  }
  const std::vector<Tensor> results = run_reference(op_def(node_.op), inputs, node_.attributes, node_.name);
  for (std::size_t r = 0; r < results.size(); ++r)
    std::memcpy(addresses[inputs_.size() + r], results[r].raw(), results[r].byte_size());
}

}  // namespace ridgeline::cuda
