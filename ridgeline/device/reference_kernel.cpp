#include "ridgeline/device/reference_kernel.h"

namespace ridgeline {
namespace {

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const KernelRequest& request) : def_(request.def), node_(request.node) {
    name = "reference " + def_.name;
    for (const KernelOperand& operand : request.inputs) input_types_.push_back(operand.type);
    for (const KernelOperand& operand : request.outputs) output_types_.push_back(operand.type);
  }

  void run(const KernelArguments& arguments) override {
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < input_types_.size(); ++i) {
      inputs.push_back(Tensor::view(arguments.inputs[i], input_types_[i].dtype, input_types_[i].shape));
    }
    for (std::size_t i = 0; i < output_types_.size(); ++i) {
      outputs.push_back(Tensor::view(arguments.outputs[i], output_types_[i].dtype, output_types_[i].shape));
    }
    def_.reference({input_types_, node_.attributes, node_.name}, inputs, outputs);
  }

 private:
  const OpDef& def_;
  Node node_;
  std::vector<ValueType> input_types_;
  std::vector<ValueType> output_types_;
};

}  // namespace

KernelChoice make_reference_kernel(const KernelRequest& request) {
  if (!request.def.reference) return Refusal{"the op has no reference implementation"};
  return std::make_unique<ReferenceKernel>(request);
}

// Behind every kernel.
constexpr double kReferenceSpeed = 1e-3;

KernelEntry reference_entry(const OpDef& def) {
  return {def.name,
          "reference",
          Provider::reference,
          make_reference_kernel,
          kFloatingTypes,
          Arithmetic::f64,
          {Reproducibility::portable, true},
          kReferenceSpeed};
}

}  // namespace ridgeline
