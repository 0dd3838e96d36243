#include "ridgeline/device/cuda/cudnn/kernels.h"

#include <fmt/format.h>

#include <optional>

#include "ridgeline/device/cuda/cudnn/blocks.h"
#include "ridgeline/device/cuda/cudnn/convolution_plans.h"
#include "ridgeline/device/cuda/cudnn/node.h"
#include "ridgeline/device/cuda/device_stream.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/plans/library_kernel.h"

namespace ridgeline::cuda::cudnn {
namespace {

// Launches beside the plan.
struct Form {
  bool rounds_bias = false;        // to the operands' type, in front
  bool widens_result = false;      // to f32, behind
  std::optional<Blocks> blocks{};  // the convolution goes over blocks of pixels
};

// The variants of a convolution, the faster one first.
std::vector<Form> forms_of(const Convolution& convolution, const PlanRules& rules) {
  const bool bias_differs = convolution.bias && convolution.bias_type != convolution.operands;
  const bool widens = convolution.pass == Pass::backward_filter && convolution.written != convolution.operands;
  std::vector<Form> forms;
  if (!rules.high_precision && (bias_differs || widens)) forms.push_back({bias_differs, widens});
  forms.push_back({});
  if (!rules.tensor_cores) return forms;
  const auto blocks = blocks_of(convolution);
  if (blocks && (forms.front().widens_result || !widens)) {
    forms.insert(forms.begin(), {forms.front().rounds_bias, forms.front().widens_result, blocks});
  }
  return forms;
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const KernelRequest& request, Libraries& libraries, const Convolution& convolution,
                    const PlanRules& rules, const Form& form)
      : form_(form),
        convolution_(convolution),
        operands_(convolution.operands),
        node_(request.node.name),
        plans_(libraries, inner(convolution, form), rules),
        work_(make_work(request)) {
    workspace_at_ = places_.add(plans_.workspace_bytes());
    if (form.rounds_bias) bias_at_ = places_.add(ValueType{operands_, {convolution.filter[0]}}.bytes());
    if (form.widens_result) result_at_ = places_.add(ValueType{operands_, convolution.filter}.bytes());
    if (form.blocks) {
      image_at_ = places_.add(form.blocks->image_bytes());
      padded_at_ = places_.add(form.blocks->padded_filter_bytes());
      filter_at_ = places_.add(form.blocks->filter_bytes());
    }
    if (convolution.pass == Pass::backward_filter && request.outputs.size() == 2) {
      bias_gradient_ = request.outputs[1].type.dtype;
      rows_ = convolution.result.elements() / convolution.result[3];
      sums_at_ = places_.add(column_sums_scratch(operands_, rows_, convolution.result[3]));
    }
    scratch_bytes = places_.bytes();
    products = operands_;
    name = fmt::format("cudnn {}{}", form.blocks ? "blocks " : "", plans_.plan().name());
  }

  void run(const KernelArguments& a) override {
    auto& stream = static_cast<DeviceStream&>(*a.stream);
    const auto give = [&](const KernelLaunch& launch) { stream.give(node_, launch); };
    char* const scratch = ScratchPlaces::begin(a.scratch);
    const bool forward = convolution_.pass == Pass::forward;
    if (form_.rounds_bias) {
      cast(give, DType::f32, a.inputs[2], operands_, scratch + bias_at_, convolution_.filter[0]);
    }
    if (form_.blocks) form_.blocks->block_image(give, a.inputs[0], scratch + image_at_);
    if (form_.blocks && forward) {
      form_.blocks->block_filter(give, a.inputs[1], scratch + padded_at_, scratch + filter_at_);
    }
    // The gradient in the operands' type.
    void* const result = form_.widens_result ? scratch + result_at_ : a.outputs[0];
    addresses_.clear();
    for (const ConvolutionValue& value : values_of(plans_.convolution())) {
      void* address = (value.result ? a.outputs : a.inputs)[value.index];
      if (value.id == kBiasId && form_.rounds_bias) address = scratch + bias_at_;
      if (value.id == kWrittenId) address = result;
      if (form_.blocks && value.id == kFirstId) address = scratch + image_at_;
      if (form_.blocks && value.id == (forward ? kSecondId : kWrittenId)) address = scratch + filter_at_;
      addresses_.push_back(address);
    }
    void* const workspace = scratch + workspace_at_;
    stream.driver_stream().library_call(
        work_.call(addresses_, workspace, [&](StreamHandle handle) { plans_.run(addresses_, workspace, handle); }));
    if (form_.blocks && !forward) {
      form_.blocks->unblock_filter(give, scratch + filter_at_, scratch + padded_at_, result);
    }
    if (form_.widens_result) {
      cast(give, operands_, result, DType::f32, a.outputs[0], convolution_.filter.elements());
    }
    if (bias_gradient_) {
      column_sums(give, operands_, a.inputs[1], rows_, convolution_.result[3], 1, *bias_gradient_, a.outputs[1],
                  scratch + sums_at_);
    }
  }

 private:
  // The convolution that the plan computes.
  static Convolution inner(const Convolution& convolution, const Form& form) {
    Convolution inner = form.blocks ? form.blocks->convolution : convolution;
    if (form.rounds_bias) inner.bias_type = inner.operands;
    if (form.widens_result) inner.written = inner.operands;
    return inner;
  }

  LibraryWork make_work(const KernelRequest& request) const {
    Attributes attributes = request.node.attributes;
    if (form_.widens_result) attributes.set("f32_results", false);
    if (request.outputs.size() == 2) attributes.set("bias", false);
    if (form_.blocks) {
      const Convolution& blocked = form_.blocks->convolution;
      using Integers = std::vector<std::int64_t>;
      attributes.set("stride", Integers{1, 1});
      attributes.set("pad", Integers{0, 0, 0, 0});
      if (convolution_.pass == Pass::backward_filter) {
        attributes.set("kernel", Integers{blocked.filter[1], blocked.filter[2]});
      }
    }
    std::vector<LibraryValue> values;
    for (const ConvolutionValue& value : values_of(plans_.convolution())) {
      values.push_back({value.type, value.result, value.index});
    }
    return LibraryWork(node_, request.def, std::move(attributes), std::move(values), plans_.workspace_bytes());
  }

  Form form_;
  Convolution convolution_;
  DType operands_;
  std::string node_;  // for messages
  ConvolutionPlans plans_;
  LibraryWork work_;
  ScratchPlaces places_;
  std::size_t workspace_at_ = 0, bias_at_ = 0, result_at_ = 0, image_at_ = 0, padded_at_ = 0, filter_at_ = 0,
              sums_at_ = 0;
  std::optional<DType> bias_gradient_;
  std::int64_t rows_ = 0;
  std::vector<void*> addresses_;
};

}  // namespace

KernelChoice make_convolution(const KernelRequest& request, Libraries& libraries) {
  if (has_empty_value(request)) return Refusal{"an operand or result is empty"};
  const Convolution convolution = convolution_of(request.node, types_of(request.inputs), types_of(request.outputs));
  if (convolution.window.pad_before != convolution.window.pad_after) {
    return Refusal{"its padding differs between two sides, and some of cuDNN's engines then compute something else"};
  }
  PlanRules rules;
  rules.tensor_cores = convolution.operands != DType::f32 || request.promise.fp32_compute == "tf32";
  rules.high_precision = request.promise.high_precision;
  rules.compiled = request.promise.bits == Reproducibility::fast;
  std::string why;
  for (const Form& form : forms_of(convolution, rules)) {
    try {
      return std::make_unique<ConvolutionKernel>(request, libraries, convolution, rules, form);
    } catch (const Failure& failure) {
      why = failure.what();
    }
  }
  return Refusal{"cuDNN has no plan for it (" + why + ")"};
}

}  // namespace ridgeline::cuda::cudnn
