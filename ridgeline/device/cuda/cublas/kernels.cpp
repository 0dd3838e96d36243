#include "ridgeline/device/cuda/cublas/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "ridgeline/device/cuda/cublas/node.h"
#include "ridgeline/device/cuda/device_stream.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/plans/library_kernel.h"

namespace ridgeline::cuda::cublas {
namespace {

// Launches beside the product.
struct Form {
  bool rounds_bias = false;  // to the operands' type, in front
  bool sums_bias = false;    // the bias gradient, behind
};

std::vector<Form> forms_of(const Product& product, bool high_precision) {
  std::vector<Form> forms = {Form{}};
  if (product.bias && product.bias_type != product.operands && !high_precision) forms.push_back({true, false});
  if (product.bias_gradient) forms.push_back({false, true});
  return forms;
}

std::vector<LibraryValue> values_of(const KernelRequest& request, const Product& product) {
  std::vector<LibraryValue> values;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) values.push_back({request.inputs[i].type, false, i});
  if (product.bias) values[2].type.dtype = product.bias_type;
  values.push_back({request.outputs[0].type, true, 0});
  if (product.bias_gradient) values.push_back({request.outputs[1].type, true, 1});
  return values;
}

class ProductKernel final : public Kernel {
 public:
  ProductKernel(const KernelRequest& request, Libraries& libraries, const Product& product, const Form& form)
      : form_(form),
        product_(inner(product, form)),
        node_(request.node.name),
        plan_(*libraries.cublas(), libraries.cublas_handle(), product_),
        values_(values_of(request, product_)),
        work_(choose(libraries, request)) {
    workspace_at_ = places_.add(plan_.workspace_bytes());
    if (form.rounds_bias) bias_at_ = places_.add(static_cast<std::size_t>(product.outputs) * size_of(product.operands));
    if (form.sums_bias) {
      bias_gradient_ = product.bias_type;
      sums_at_ = places_.add(column_sums_scratch(product.operands, product.rows, product.outputs));
    }
    scratch_bytes = places_.bytes();
    products = product.operands;
    name = fmt::format("cublaslt {}", plan_.name());
  }

  void run(const KernelArguments& a) override {
    auto& stream = static_cast<DeviceStream&>(*a.stream);
    const auto give = [&](const KernelLaunch& launch) { stream.give(node_, launch); };
    char* const scratch = ScratchPlaces::begin(a.scratch);
    inputs_.assign(a.inputs, a.inputs + values_inputs());
    if (form_.rounds_bias) {
      inputs_[2] = scratch + bias_at_;
      cast(give, DType::f32, a.inputs[2], product_.operands, inputs_[2], product_.outputs);
    }
    addresses_.clear();
    for (const LibraryValue& value : values_) {
      addresses_.push_back(value.result ? a.outputs[value.index] : inputs_[value.index]);
    }
    void* const workspace = scratch + workspace_at_;
    stream.driver_stream().library_call(work_.call(addresses_, workspace, [&](StreamHandle handle) {
      plan_.run(addresses_of(product_, inputs_.data(), a.outputs), workspace, handle);
    }));
    if (bias_gradient_) {
      column_sums(give, product_.operands, a.inputs[1], product_.rows, product_.outputs, 1, *bias_gradient_,
                  a.outputs[1], scratch + sums_at_);
    }
  }

 private:
  static Product inner(Product product, const Form& form) {
    if (form.rounds_bias) product.bias_type = product.operands;
    if (form.sums_bias) product.bias_gradient = false;
    return product;
  }
  std::size_t values_inputs() const {
    return static_cast<std::size_t>(
        std::count_if(values_.begin(), values_.end(), [](const LibraryValue& value) { return !value.result; }));
  }

  LibraryWork choose(Libraries& libraries, const KernelRequest& request) {
    choose_algorithm(libraries);
    Attributes attributes = request.node.attributes;
    if (form_.sums_bias) attributes.set("bias", false);
    return LibraryWork(node_, request.def, std::move(attributes), values_, plan_.workspace_bytes());
  }

  // The first algorithm that keeps NaN where it has a relu, or the fastest of them where there is a clock.
  void choose_algorithm(Libraries& libraries) {
    const std::size_t inputs = values_inputs();
    Trial trial;
    for (const LibraryValue& value : values_) trial.bytes.push_back(value.type.bytes());
    trial.result = inputs;
    trial.type = product_.written;
    trial.run = [&](void* const* addresses, void* workspace, StreamHandle stream) {
      plan_.run(addresses_of(product_, addresses, addresses + inputs), workspace, stream);
    };
    double least = std::numeric_limits<double>::infinity();
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < plan_.algorithms(); ++i) {
      plan_.choose(i);
      trial.workspace_bytes = plan_.workspace_bytes();
      if (product_.relu && !libraries.keeps_nan(trial)) continue;
      if (!libraries.clock()) {
        chosen = i;
        break;
      }
      const double milliseconds = libraries.clock()(trial);
      if (milliseconds < least) least = milliseconds, chosen = i;
    }
    if (!chosen) throw Failure("no algorithm of cuBLASLt keeps NaN, or runs on this card");
    plan_.choose(*chosen);
  }

  Form form_;
  Product product_;
  std::string node_;  // for messages
  ProductPlan plan_;
  std::vector<LibraryValue> values_;
  LibraryWork work_;
  ScratchPlaces places_;
  std::size_t workspace_at_ = 0, bias_at_ = 0, sums_at_ = 0;
  std::optional<DType> bias_gradient_;
  std::vector<void*> inputs_, addresses_;
};

}  // namespace

KernelChoice make_product(const KernelRequest& request, Libraries& libraries) {
  if (has_empty_value(request)) return Refusal{"an operand or result is empty"};
  if (libraries.cublas() == nullptr || libraries.cublas_handle() == nullptr) {
    return Refusal{"cuBLASLt is not open"};
  }
  Product product;
  try {
    product = product_of(request.node, types_of(request.inputs), types_of(request.outputs));
  } catch (const Failure& failure) {
    return Refusal{failure.what()};
  }
  product.tf32 = product.operands == DType::f32 && request.promise.fp32_compute == "tf32";
  std::string why;
  for (const Form& form : forms_of(product, request.promise.high_precision)) {
    try {
      return std::make_unique<ProductKernel>(request, libraries, product, form);
    } catch (const Failure& failure) {
      why = failure.what();
    }
  }
  return Refusal{why};
}

}  // namespace ridgeline::cuda::cublas
