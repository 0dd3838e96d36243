#include "tests/device/cuda/device_support.h"

#include <set>

namespace ridgeline::cuda::testing {

void add_recording_device(std::string_view name, const ExchangeOptions& exchanges) {
  static std::set<std::string_view> added;
  if (!added.insert(name).second) return;
  add_device({.name = name,
              .doc = "a card of the recording driver",
              .make = [name, exchanges](const DeviceOptions& options) -> std::unique_ptr<Device> {
                auto calls = start_driver(RecordingDriver::make({.kernels = host_kernels()}));
                return std::make_unique<CudaDevice>(std::make_shared<Context>(calls, 0),
                                                    CudaDeviceOptions{.name = std::string(name),
                                                                      .promise = options.promise,
                                                                      .images = kAnyImages,
                                                                      .exchanges = exchanges});
              }});
}

RecordingCounts counts_of(Device& device) {
  return static_cast<RecordingDriver&>(static_cast<CudaDevice&>(device).context().driver()).counts();
}

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
