#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/loop/update_kernel.h"
#include "ridgeline/device/cuda/table/defined_kernel.h"
#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::cuda {
namespace {

constexpr const char* kName = "cuda dense_update";

// On a card: compiled when the device is first asked for its text.
class UpdateLaunch final : public Kernel {
 public:
  UpdateLaunch(const KernelRequest& request, UpdateText text, const DenseSizes& sizes)
      : node_(request.node.name),
        update_(std::move(text), sizes),
        function_(static_cast<CudaDevice&>(*request.device).loop_function(update_.text().name, update_.text().text)) {
    name = kName;
    scratch_bytes = update_.scratch_bytes();
    in_place = update_.in_place();
    products = update_.text().values;
  }
  void run(const KernelArguments& a) override {
    auto& stream = static_cast<DeviceStream&>(*a.stream);
    update_.give(
        [&](const KernelLaunch& launch) {
          if (&launch.kernel == &update_.row())
            stream.give(node_, launch, function_);
          else
            stream.give(node_, launch);
        },
        a.inputs, a.outputs, a.scratch);
  }

 private:
  std::string node_;
  UpdateKernel update_;
  FunctionHandle function_;
};

KernelChoice make_dense_update(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const DenseUpdate at(request.node.attributes);
  const ValueType& x = request.inputs[at.x()].type;
  const DenseSizes sizes{x.shape[0], x.shape[1], request.inputs[at.dy()].type.shape[1]};
  if (sizes.rows > kMostUpdateRows) return Refusal{fmt::format("more than {} rows", kMostUpdateRows)};
  if (sizes.inputs == 0 || sizes.outputs == 0) return Refusal{"no weights"};
  if (sizes.outputs > kMostUpdateOutputs) return Refusal{fmt::format("more than {} outputs", kMostUpdateOutputs)};
  std::vector<DType> scalars, copies;
  for (std::size_t i = at.scalars(); i < request.inputs.size(); ++i) scalars.push_back(request.inputs[i].type.dtype);
  for (std::size_t r = at.copies(); r < request.outputs.size(); ++r) copies.push_back(request.outputs[r].type.dtype);
  loop::Expression expression = loop::parse(request.node.attributes.string("expression"));
  expression.operands = static_cast<std::int32_t>(request.inputs.size()) - 1;
  auto made = update_text(expression, at, x.dtype, scalars, copies);
  if (auto* refusal = std::get_if<Refusal>(&made)) return std::move(*refusal);
  if (static_cast<CudaDevice&>(*request.device).context().driver().recording()) {
    auto kernel = std::make_unique<DefinedKernel>(request, kName);
    kernel->in_place = UpdateKernel(std::get<UpdateText>(std::move(made)), sizes).in_place();
    return kernel;
  }
  try {
    return std::make_unique<UpdateLaunch>(request, std::get<UpdateText>(std::move(made)), sizes);
  } catch (const Error& error) {  // no NVRTC
    return Refusal{error.what()};
  }
}

constexpr KernelEntry kDenseUpdates[] = {tensor_core_entry("dense_update", "tiles", make_dense_update)};

}  // namespace

std::span<const KernelEntry> dense_update_entries() { return kDenseUpdates; }

}  // namespace ridgeline::cuda
