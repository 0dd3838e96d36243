#include "ridgeline/device/cuda/plans/library_kernel.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda {

LibraryWork::LibraryWork(std::string name, const OpDef& def, Attributes attributes, std::vector<LibraryValue> values,
                         std::size_t workspace_bytes)
    : def_(def), attributes_(std::move(attributes)), values_(std::move(values)), workspace_bytes_(workspace_bytes) {
  call_.name = std::move(name);
  call_.host = [this](std::span<void* const> addresses) { run_reference_on(addresses); };
}

const LibraryCall& LibraryWork::call(std::span<void* const> addresses, void* workspace,
                                     std::function<void(StreamHandle)> give) {
  call_.touches.clear();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    call_.touches.push_back({reinterpret_cast<DeviceAddress>(addresses[i]), values_[i].type.bytes(),
                             values_[i].result ? Touch::writes : Touch::reads});
  }
  if (workspace_bytes_ > 0) {
    call_.touches.push_back({reinterpret_cast<DeviceAddress>(workspace), workspace_bytes_, Touch::writes});
  }
  call_.enqueue = std::move(give);
  return call_;
}

void LibraryWork::run_reference_on(std::span<void* const> addresses) const {
  std::size_t operands = 0;
  for (const LibraryValue& value : values_) {
    if (!value.result) operands = std::max(operands, value.index + 1);
  }
  std::vector<Tensor> inputs(operands);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const LibraryValue& value = values_[i];
    if (!value.result) inputs[value.index] = Tensor::view(addresses[i], value.type.dtype, value.type.shape);
  }
  const std::vector<Tensor> results = run_reference(def_, inputs, attributes_, call_.name);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const LibraryValue& value = values_[i];
    if (!value.result) continue;
    const Tensor& result = results[value.index];
    RIDGELINE_CHECK(result.dtype() == value.type.dtype && result.byte_size() == value.type.bytes(),
                    "a library writes what the op's reference does");
    std::memcpy(addresses[i], result.raw(), result.byte_size());
  }
}

std::vector<ValueType> types_of(std::span<const KernelOperand> operands) {
  std::vector<ValueType> types;
  for (const KernelOperand& operand : operands) types.push_back(operand.type);
  return types;
}

}  // namespace ridgeline::cuda
