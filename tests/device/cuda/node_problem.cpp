#include "tests/device/cuda/node_problem.h"

namespace ridgeline::cuda::testing {

std::vector<Tensor> run_on_device(CudaDevice& device, Kernel& kernel, const NodeProblem& problem, bool recorded) {
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<void*> inputs, outputs;
  Stream& stream = device.stream();
  for (const Tensor& t : problem.inputs) {
    memory.push_back(device.allocate(t.byte_size()));
    inputs.push_back(memory.back()->address());
    stream.copy_from_host(inputs.back(), t.raw(), t.byte_size());
  }
  for (const ValueType& type : problem.outputs) {
    memory.push_back(device.allocate(type.bytes()));
    outputs.push_back(memory.back()->address());
  }
  memory.push_back(device.allocate(kernel.scratch_bytes));
  const KernelArguments arguments{inputs.data(), outputs.data(), memory.back()->address()};
  if (recorded) {
    const std::unique_ptr<Recording> recording = device.record([&] { stream.run(kernel, arguments); });
    recording->replay();
    stream.synchronize();
  } else {
    stream.run(kernel, arguments);
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.emplace_back(problem.outputs[i].dtype, problem.outputs[i].shape);
    stream.copy_to_host(results.back().raw(), outputs[i], results.back().byte_size());
  }
  stream.synchronize();
  return results;
}

}  // namespace ridgeline::cuda::testing
