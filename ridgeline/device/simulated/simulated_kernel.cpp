#include "ridgeline/device/simulated/simulated_kernel.h"

#include "ridgeline/core/error.h"
#include "ridgeline/device/reference_kernel.h"
#include "ridgeline/device/simulated/simulated_stream.h"

namespace ridgeline {

void SimulatedKernel::run(const KernelArguments& arguments) {
  if (arguments.stream == nullptr || &arguments.stream->device() != device) {
    throw Error(
        "[simulated] a kernel of the simulated device was run on host addresses; give it to the device's stream");
  }
  static_cast<SimulatedStream&>(*arguments.stream).launch(*this, arguments);
}

KernelChoice make_simulated_kernel(const KernelRequest& request) {
  RIDGELINE_CHECK(request.device != nullptr, "a kernel of the simulated device is made for one");
  const auto& missing = static_cast<const SimulatedDevice&>(*request.device).options().missing_dtypes;
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      if (missing.contains(operand.type.dtype))
        return Refusal{"the device has no " + std::string(name_of(operand.type.dtype))};
    }
  }
  KernelChoice choice = make_reference_kernel(request);
  auto* reference = std::get_if<std::unique_ptr<Kernel>>(&choice);
  if (reference == nullptr) return choice;
  auto kernel = std::make_unique<SimulatedKernel>();
  kernel->name = "simulated " + request.def.name;
  kernel->product = request.def.name.starts_with("dense") || request.def.name.starts_with("conv2d");
  kernel->reference = std::move(*reference);
  kernel->scratch_bytes = kernel->reference->scratch_bytes;
  for (const KernelOperand& operand : request.inputs) kernel->input_bytes.push_back(operand.type.bytes());
  for (const KernelOperand& operand : request.outputs) kernel->output_bytes.push_back(operand.type.bytes());
  return kernel;
}

}  // namespace ridgeline
