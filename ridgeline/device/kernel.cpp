#include "ridgeline/device/kernel.h"

#include <array>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

std::vector<ValueType> types_of(const std::vector<KernelOperand>& operands) {
  std::vector<ValueType> types;
  for (const KernelOperand& operand : operands) types.push_back(operand.type);
  return types;
}

}  // namespace

std::string_view name_of(Provider provider) {
  switch (provider) {
    case Provider::own: return "own";
    case Provider::library: return "library";
    case Provider::reference: return "reference";
  }
  return "";
}

constexpr std::array<std::string_view, 3> kLevels = {"fast", "deterministic", "portable"};

std::string_view name_of(Reproducibility level) { return kLevels[static_cast<std::size_t>(level)]; }

Reproducibility reproducibility_named(std::string_view name) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == name) return static_cast<Reproducibility>(i);
  }
  const std::string value(name);
  throw Error("unknown reproducibility '" + value + "'" + did_you_mean(value, {"fast", "deterministic", "portable"}) +
                  " (allowed: fast, deterministic, portable)",
              ErrorKind::usage);
}

KernelChoice KernelEntry::make(const KernelRequest& request) const {
  if (promise.bits < request.promise.bits) {
    return Refusal{"its bits depend on the " +
                   std::string(promise.bits == Reproducibility::fast ? "machine and the size of the team" : "machine") +
                   ", and reproducibility is " + std::string(ridgeline::name_of(request.promise.bits))};
  }
  if (request.promise.high_precision && !promise.high_precision) {
    return Refusal{"it saves multiplications at the cost of accuracy, and high precision is asked for"};
  }
  if (!promise.fp32_compute.empty() && promise.fp32_compute != request.promise.fp32_compute) {
    const std::string_view asked = request.promise.fp32_compute;
    return Refusal{"it multiplies f32 values by " + std::string(promise.fp32_compute) + ", and fp32_compute is " +
                   std::string(asked.empty() ? "f32" : asked)};
  }
  for (const std::vector<KernelOperand>* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      const DType dtype = operand.type.dtype;
      if (is_floating(dtype) && !storage.contains(dtype)) {
        return Refusal{std::string(ridgeline::name_of(dtype)) + " operand: this kernel takes " + storage.to_string()};
      }
    }
  }
  const std::vector<ValueType> inputs = types_of(request.inputs);
  const Arithmetic wanted =
      arithmetic_of(request.def, {inputs, request.node.attributes, request.node.name}, types_of(request.outputs));
  if (wanted == Arithmetic::f64 && arithmetic == Arithmetic::f32) {
    return Refusal{"the op computes in f64 on these types, this kernel in f32"};
  }
  KernelChoice choice = factory(request);
  if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) (*kernel)->device = request.device;
  return choice;
}

}  // namespace ridgeline
