#include "ridgeline/device/simulated/simulated_kernel.h"

#include <array>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/device/reference_kernel.h"

namespace ridgeline {
namespace {

constexpr unsigned kSets = 1u << (static_cast<unsigned>(DType::boolean) + 1);

KernelChoice make_checked(const KernelRequest& request, unsigned missing) {
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      if ((missing >> static_cast<unsigned>(operand.type.dtype) & 1u) != 0) {
        return Refusal{"the device has no " + std::string(name_of(operand.type.dtype))};
      }
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

template <unsigned kMissing>
KernelChoice make_without(const KernelRequest& request) {
  return make_checked(request, kMissing);
}

template <std::size_t... kMissing>
constexpr std::array<SimulatedMake, sizeof...(kMissing)> make_table(std::index_sequence<kMissing...>) {
  return {make_without<static_cast<unsigned>(kMissing)>...};
}

constexpr auto kTable = make_table(std::make_index_sequence<kSets>());

}  // namespace

void SimulatedKernel::run(const KernelArguments&) {
  throw Error("[simulated] a kernel of the simulated device was run on host addresses; give it to the device's stream");
}

SimulatedMake simulated_make(unsigned missing_dtypes) {
  RIDGELINE_CHECK(missing_dtypes < kSets, "types that tensors of a graph can have");
  return kTable[missing_dtypes];
}

}  // namespace ridgeline
