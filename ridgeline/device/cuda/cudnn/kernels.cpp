#include "ridgeline/device/cuda/cudnn/kernels.h"

#include <fmt/format.h>

#include <optional>

#include "ridgeline/device/cuda/cudnn/convolution_plans.h"
#include "ridgeline/device/cuda/cudnn/node.h"
#include "ridgeline/device/cuda/device_stream.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/plans/library_kernel.h"

namespace ridgeline::cuda::cudnn {
namespace {

// What is launched beside the plan.
struct Form {
  bool rounds_bias = false;    // to the operands' type, in front
  bool widens_result = false;  // to f32, behind
};

// The forms of a convolution, the faster one first.
std::vector<Form> forms_of(const Convolution& convolution, bool high_precision) {
  const bool bias_differs = convolution.bias && convolution.bias_type != convolution.operands;
  const bool widens = convolution.pass == Pass::backward_filter && convolution.written != convolution.operands;
  if (high_precision || (!bias_differs && !widens)) return {Form{}};
  return {Form{bias_differs, widens}, Form{}};
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const KernelRequest& request, Libraries& libraries, const Convolution& convolution,
                    const PlanRules& rules, const Form& form)
      : form_(form),
        operands_(convolution.operands),
        node_(request.node.name),
        plans_(libraries, inner(convolution, form), rules),
        work_(make_work(request)) {
    const Convolution& c = plans_.convolution();
    workspace_at_ = places_.add(plans_.workspace_bytes());
    if (form.rounds_bias) extra_at_ = places_.add(ValueType{operands_, {c.filter[0]}}.bytes());
    if (form.widens_result) extra_at_ = places_.add(ValueType{operands_, c.filter}.bytes());
    if (c.pass == Pass::backward_filter && request.outputs.size() == 2) {
      bias_gradient_ = request.outputs[1].type.dtype;
      rows_ = c.result.elements() / c.result[3];
      sums_at_ = places_.add(column_sums_scratch(operands_, rows_, c.result[3]));
    }
    scratch_bytes = places_.bytes();
    products = operands_;
    name = fmt::format("cudnn {}", plans_.plan().name());
  }

  void run(const KernelArguments& a) override {
    auto& stream = static_cast<DeviceStream&>(*a.stream);
    const auto give = [&](const KernelLaunch& launch) { stream.give(node_, launch); };
    const Convolution& c = plans_.convolution();
    char* const scratch = ScratchPlaces::begin(a.scratch);
    addresses_.clear();
    for (const ConvolutionValue& value : values_of(c)) {
      addresses_.push_back((value.result ? a.outputs : a.inputs)[value.index]);
      const bool extra = (form_.rounds_bias && value.id == kBiasId) || (form_.widens_result && value.id == kWrittenId);
      if (extra) addresses_.back() = scratch + extra_at_;
    }
    if (form_.rounds_bias) cast(give, DType::f32, a.inputs[2], operands_, scratch + extra_at_, c.filter[0]);
    void* const workspace = scratch + workspace_at_;
    stream.driver_stream().library_call(work_.call(
        addresses_, workspace, [&](StreamHandle handle) { plans_.run(addresses_, workspace, handle); }));
    if (form_.widens_result) {
      cast(give, operands_, scratch + extra_at_, DType::f32, a.outputs[0], c.filter.elements());
    }
    if (bias_gradient_) {
      column_sums(give, operands_, a.inputs[1], rows_, c.result[3], 1, *bias_gradient_, a.outputs[1],
                  scratch + sums_at_);
    }
  }

 private:
  // What the plan computes.
  static Convolution inner(Convolution convolution, const Form& form) {
    if (form.rounds_bias) convolution.bias_type = convolution.operands;
    if (form.widens_result) convolution.written = convolution.operands;
    return convolution;
  }

  LibraryWork make_work(const KernelRequest& request) const {
    Attributes attributes = request.node.attributes;
    if (form_.widens_result) attributes.set("f32_results", false);
    if (request.outputs.size() == 2) attributes.set("bias", false);
    std::vector<LibraryValue> values;
    for (const ConvolutionValue& value : values_of(plans_.convolution())) {
      values.push_back({value.type, value.result, value.index});
    }
    return LibraryWork(node_, request.def, std::move(attributes), std::move(values), plans_.workspace_bytes());
  }

  Form form_;
  DType operands_;
  std::string node_;  // for messages
  ConvolutionPlans plans_;
  LibraryWork work_;
  ScratchPlaces places_;
  std::size_t workspace_at_ = 0, extra_at_ = 0, sums_at_ = 0;
  std::optional<DType> bias_gradient_;
  std::int64_t rows_ = 0;
  std::vector<void*> addresses_;
};

}  // namespace

KernelChoice make_convolution(const KernelRequest& request, Libraries& libraries) {
  if (has_empty_value(request)) return Refusal{"an operand or result is empty"};
  const Convolution convolution =
      convolution_of(request.node, types_of(request.inputs), types_of(request.outputs));
  PlanRules rules;
  rules.tensor_cores = convolution.operands != DType::f32 || request.promise.fp32_compute == "tf32";
  rules.high_precision = request.promise.high_precision;
  rules.compiled = request.promise.bits == Reproducibility::fast;
  std::string why;
  for (const Form& form : forms_of(convolution, rules.high_precision)) {
    try {
      return std::make_unique<ConvolutionKernel>(request, libraries, convolution, rules, form);
    } catch (const Failure& failure) {
      why = failure.what();
    }
  }
  return Refusal{"cuDNN has no plan for it (" + why + ")"};
}

}  // namespace ridgeline::cuda::cudnn
