#include <cmath>

#include "ridgeline/device/cpu/onednn/common.h"

namespace ridgeline::device {
namespace {

using Argument = OnednnKernel::Argument;
using dnnl::normalization_flags;

constexpr auto kAcross = dnnl::algorithm::lrn_across_channels;

struct Lrn {
  Desc x;
  std::int64_t size;
  float alpha, beta, bias;

  explicit Lrn(const KernelRequest& request)
      : x(activation_desc(request.inputs[0].type)),
        size(request.node.attributes.integer("size")),
        alpha(static_cast<float>(request.node.attributes.real("alpha"))),
        beta(static_cast<float>(request.node.attributes.real("beta"))),
        bias(static_cast<float>(request.node.attributes.real("bias"))) {}

  dnnl::lrn_forward::primitive_desc forward(dnnl::prop_kind kind) const {
    return {onednn_engine(), kind, kAcross, x, x, size, alpha, beta, bias, user_scratchpad()};
  }
};

std::optional<Refusal> refuse_unless_images(const KernelRequest& request) {
  const int rank = request.inputs[0].type.shape.rank();
  if (rank == 4) return std::nullopt;
  return Refusal{"an operand of rank " + std::to_string(rank) + ": this kernel takes [N,H,W,C]"};
}

const auto kScaleAndShift = normalization_flags::use_scale | normalization_flags::use_shift;

// [N,H,W,C] or a matrix, with parameters and statistics (from operand `first` on) in f32, without fused addend,
// activation or gate.
std::optional<Refusal> refuse_unless_normable(const KernelRequest& request, std::size_t first) {
  if (request.inputs[first].type.dtype != DType::f32) return Refusal{"parameters and statistics that are not f32"};
  const Attribute* activation = request.node.attributes.find("activation");
  const bool relu = activation != nullptr && request.node.attributes.string("activation") != "none";
  if (request.inputs.size() != 5 || relu || request.outputs.size() == 4) {
    return Refusal{"an addend, an activation or its gate: this kernel takes the batch norm alone"};
  }
  const int rank = request.inputs[0].type.shape.rank();
  if (rank == 4 || rank == 2) return std::nullopt;
  return Refusal{"an operand of rank " + std::to_string(rank) + ": this kernel takes [N,H,W,C] or [N,C]"};
}

// A library kernel with small loops over channels around it (`body` calls it): the library needs variances where our
// rule has inverse deviations.
template <class Body>
KernelChoice wrap(std::unique_ptr<OnednnKernel> library, const Body& body) {
  const std::size_t scratch = library->scratch_bytes;
  std::string name = library->name;
  auto run = [library = std::move(library), body](const KernelArguments& a) { body(*library, a); };
  auto kernel = make_body_kernel(std::move(name), std::move(run));
  kernel->scratch_bytes = scratch;
  return kernel;
}

}  // namespace

KernelChoice make_onednn_lrn(const KernelRequest& request) {
  if (auto refusal = refuse_unless_images(request)) return *refusal;
  return onednn_choice(request, [&]() -> KernelChoice {
    const Lrn lrn(request);
    const auto desc = lrn.forward(dnnl::prop_kind::forward_inference);
    auto kernel = std::make_unique<OnednnKernel>("lrn", desc.impl_info_str());
    kernel->add(dnnl::lrn_forward(desc), desc.scratchpad_desc(),
                {{DNNL_ARG_SRC, lrn.x, Argument::input, 0}, {DNNL_ARG_DST, lrn.x, Argument::output, 0}});
    return kernel;
  });
}

// The library's backward pass may need a workspace of the forward one, which our op does not keep: it is recomputed.
KernelChoice make_onednn_lrn_bwd(const KernelRequest& request) {
  if (auto refusal = refuse_unless_images(request)) return *refusal;
  // With AVX-512 its gradient is wrong in the last channels that fill no vector ([1, 7, 7, 66] f32, size 7, alpha 5),
  // and making one for windows of one or two channels ends the process. In bf16 errors were a twentieth of the largest
  // result.
  if (request.inputs[0].type.shape[-1] % 16 != 0) return Refusal{"channels that are no multiple of 16"};
  if (request.node.attributes.integer("size") < 3) return Refusal{"windows of fewer than three channels"};
  if (request.inputs[0].type.dtype == DType::bf16) return Refusal{"bf16: the library keeps its sums in it"};
  return onednn_choice(request, [&]() -> KernelChoice {
    const Lrn lrn(request);
    const auto forward = lrn.forward(dnnl::prop_kind::forward_training);
    const dnnl::lrn_backward::primitive_desc desc(onednn_engine(), kAcross, lrn.x, lrn.x, lrn.x, lrn.size, lrn.alpha,
                                                  lrn.beta, lrn.bias, forward, user_scratchpad());
    auto kernel = std::make_unique<OnednnKernel>("lrn_bwd", desc.impl_info_str());
    const Desc workspace = desc.workspace_desc();
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, lrn.x, Argument::input, 0},
                                       {DNNL_ARG_DIFF_DST, lrn.x, Argument::input, 1},
                                       {DNNL_ARG_DIFF_SRC, lrn.x, Argument::output, 0}};
    if (workspace.get_size() > 0) {
      const std::size_t at = kernel->reserve(workspace.get_size());
      kernel->add(dnnl::lrn_forward(forward), forward.scratchpad_desc(),
                  {{DNNL_ARG_SRC, lrn.x, Argument::input, 0},
                   {DNNL_ARG_DST, lrn.x, Argument::output, 0},  // overwritten by dx below
                   {DNNL_ARG_WORKSPACE, workspace, Argument::scratch, at}});
      arguments.push_back({DNNL_ARG_WORKSPACE, workspace, Argument::scratch, at});
    }
    kernel->add(dnnl::lrn_backward(desc), desc.scratchpad_desc(), arguments);
    return kernel;
  });
}

KernelChoice make_onednn_batch_norm_train(const KernelRequest& request) {
  if (auto refusal = refuse_unless_normable(request, 1)) return *refusal;
  return onednn_choice(request, [&]() -> KernelChoice {
    const ValueType& type = request.inputs[0].type;
    const std::int64_t channels = type.shape[-1];
    const double momentum = request.node.attributes.real("momentum");
    const double epsilon = request.node.attributes.real("epsilon");
    const Desc x = activation_desc(type);
    const Desc c = vector_desc(channels);
    const dnnl::batch_normalization_forward::primitive_desc desc(onednn_engine(), dnnl::prop_kind::forward_training, x,
                                                                 x, static_cast<float>(epsilon), kScaleAndShift,
                                                                 user_scratchpad());
    auto inner = std::make_unique<OnednnKernel>("batch_norm_train", desc.impl_info_str());
    inner->add(dnnl::batch_normalization_forward(desc), desc.scratchpad_desc(),
               {{DNNL_ARG_SRC, x, Argument::input, 0},
                {DNNL_ARG_SCALE, c, Argument::input, 1},
                {DNNL_ARG_SHIFT, c, Argument::input, 2},
                {DNNL_ARG_DST, x, Argument::output, 0},
                {DNNL_ARG_MEAN, c, Argument::output, 1},
                {DNNL_ARG_VARIANCE, c, Argument::output, 2}});  // made the inverse deviation below
    const std::int64_t rows = type.shape.elements() / channels;
    const auto count = static_cast<double>(rows);
    return wrap(std::move(inner), [=](OnednnKernel& library, const KernelArguments& a) {
      library.run(a);
      for (std::int64_t i = 0; i < channels; ++i) {
        const auto mean = static_cast<double>(output<float>(a, 1)[i]);
        const auto variance = static_cast<double>(output<float>(a, 2)[i]);
        const double unbiased = count > 1 ? variance * count / (count - 1) : variance;
        output<float>(a, 2)[i] = static_cast<float>(1.0 / std::sqrt(variance + epsilon));
        output<float>(a, 3)[i] =
            static_cast<float>((1 - momentum) * static_cast<double>(input<float>(a, 3)[i]) + momentum * mean);
        output<float>(a, 4)[i] =
            static_cast<float>((1 - momentum) * static_cast<double>(input<float>(a, 4)[i]) + momentum * unbiased);
      }
    });
  });
}

KernelChoice make_onednn_batch_norm_bwd(const KernelRequest& request) {
  if (auto refusal = refuse_unless_normable(request, 2)) return *refusal;
  return onednn_choice(request, [&]() -> KernelChoice {
    const ValueType& type = request.inputs[0].type;
    const std::int64_t channels = type.shape[-1];
    const Desc x = activation_desc(type);
    const Desc c = vector_desc(channels);
    // With epsilon 0 the library uses only the variance below: 1 / inv_std^2.
    const dnnl::batch_normalization_forward::primitive_desc forward(onednn_engine(), dnnl::prop_kind::forward_training,
                                                                    x, x, 0.0f, kScaleAndShift, user_scratchpad());
    const dnnl::batch_normalization_backward::primitive_desc desc(onednn_engine(), dnnl::prop_kind::backward, x, x, x,
                                                                  0.0f, kScaleAndShift, forward, user_scratchpad());
    auto inner = std::make_unique<OnednnKernel>("batch_norm_bwd", desc.impl_info_str());
    const std::size_t variance_at = inner->reserve(static_cast<std::size_t>(channels) * sizeof(float));
    inner->add(dnnl::batch_normalization_backward(desc), desc.scratchpad_desc(),
               {{DNNL_ARG_SRC, x, Argument::input, 0},
                {DNNL_ARG_DIFF_DST, x, Argument::input, 1},
                {DNNL_ARG_SCALE, c, Argument::input, 2},
                {DNNL_ARG_MEAN, c, Argument::input, 3},
                {DNNL_ARG_VARIANCE, c, Argument::scratch, variance_at},
                {DNNL_ARG_DIFF_SRC, x, Argument::output, 0},
                {DNNL_ARG_DIFF_SCALE, c, Argument::output, 1},
                {DNNL_ARG_DIFF_SHIFT, c, Argument::output, 2}});
    return wrap(std::move(inner), [=](OnednnKernel& library, const KernelArguments& a) {
      auto* variance = reinterpret_cast<float*>(static_cast<char*>(a.scratch) + variance_at);
      for (std::int64_t i = 0; i < channels; ++i) {
        const auto inverse = static_cast<double>(input<float>(a, 4)[i]);
        variance[i] = static_cast<float>(1.0 / (inverse * inverse));
      }
      library.run(a);
    });
  });
}

KernelChoice make_onednn_batch_norm_eval(const KernelRequest& request) {
  if (auto refusal = refuse_unless_normable(request, 1)) return *refusal;
  if (request.node.attributes.boolean("var_is_inv_std"))
    return Refusal{"inverse deviations: this kernel takes variances"};
  return onednn_choice(request, [&]() -> KernelChoice {
    const ValueType& type = request.inputs[0].type;
    const Desc x = activation_desc(type);
    const Desc c = vector_desc(type.shape[-1]);
    const dnnl::batch_normalization_forward::primitive_desc desc(
        onednn_engine(), dnnl::prop_kind::forward_inference, x, x,
        static_cast<float>(request.node.attributes.real("epsilon")),
        kScaleAndShift | normalization_flags::use_global_stats, user_scratchpad());
    auto kernel = std::make_unique<OnednnKernel>("batch_norm_eval", desc.impl_info_str());
    kernel->add(dnnl::batch_normalization_forward(desc), desc.scratchpad_desc(),
                {{DNNL_ARG_SRC, x, Argument::input, 0},
                 {DNNL_ARG_SCALE, c, Argument::input, 1},
                 {DNNL_ARG_SHIFT, c, Argument::input, 2},
                 {DNNL_ARG_MEAN, c, Argument::input, 3},
                 {DNNL_ARG_VARIANCE, c, Argument::input, 4},
                 {DNNL_ARG_DST, x, Argument::output, 0}});
    return kernel;
  });
}

}  // namespace ridgeline::device
