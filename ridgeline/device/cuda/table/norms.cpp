#include <fmt/format.h>

#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/op/layer_norm.h"

namespace ridgeline::cuda {
namespace {

BatchNorm batch_norm_of(const KernelRequest& request, double epsilon) {
  const ValueType& x = request.inputs[0].type;
  const std::int64_t channels = x.shape[-1];
  return {.type = x.dtype,
          .rows = x.shape.elements() / std::max<std::int64_t>(channels, 1),
          .channels = channels,
          .epsilon = epsilon};
}

// What belongs to channels is f32 in our kernels.
bool channels_are_f32(const KernelRequest& request, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    if (request.inputs[i].type.dtype != DType::f32) return false;
  }
  return true;
}
Refusal refuse_channels() { return {"parameters and statistics are not f32"}; }
bool has_no_values(const KernelRequest& request) { return request.inputs[0].type.shape.elements() == 0; }
Refusal refuse_no_values() { return {"x has no elements"}; }

KernelChoice make_batch_norm_train(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  if (!channels_are_f32(request, 1, 4)) return refuse_channels();
  const Attributes& attributes = request.node.attributes;
  const BatchNorm norm = batch_norm_of(request, attributes.real("epsilon"));
  const bool addend = request.inputs.size() == 6, relu = attributes.string("activation") != "none";
  const float ceiling = attributes.string("activation") == "relu6" ? 6 : kNoCeiling;
  const double momentum = attributes.real("momentum");
  auto kernel = launched(request, "batch_norm", [=](LaunchSink sink, const KernelArguments& a) {
    batch_norm_train(sink, norm,
                     {.x = a.inputs[0],
                      .gamma = in(a, 1),
                      .beta = in(a, 2),
                      .running_mean = in(a, 3),
                      .running_var = in(a, 4),
                      .addend = addend ? a.inputs[5] : nullptr,
                      .relu = relu,
                      .ceiling = ceiling,
                      .momentum = momentum,
                      .y = a.outputs[0],
                      .mean = out(a, 1),
                      .inv_std = out(a, 2),
                      .new_running_mean = out(a, 3),
                      .new_running_var = out(a, 4),
                      .scratch = a.scratch});
  });
  kernel->scratch_bytes = batch_norm_scratch(norm);
  kernel->in_place = {0, -1, -1, 3, 4};
  return kernel;
}

KernelChoice make_batch_norm_eval(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  if (!channels_are_f32(request, 1, 4)) return refuse_channels();
  const Attributes& attributes = request.node.attributes;
  const BatchNorm norm = batch_norm_of(request, attributes.real("epsilon"));
  const bool addend = request.inputs.size() == 6, relu = attributes.string("activation") != "none";
  const float ceiling = attributes.string("activation") == "relu6" ? 6 : kNoCeiling;
  const bool inverse = attributes.boolean("var_is_inv_std");
  auto kernel = launched(request, "batch_norm", [=](LaunchSink sink, const KernelArguments& a) {
    batch_norm_eval(sink, norm,
                    {.x = a.inputs[0],
                     .gamma = in(a, 1),
                     .beta = in(a, 2),
                     .mean = in(a, 3),
                     .var = in(a, 4),
                     .var_is_inv_std = inverse,
                     .addend = addend ? a.inputs[5] : nullptr,
                     .relu = relu,
                     .ceiling = ceiling,
                     .y = a.outputs[0],
                     .scratch = a.scratch});
  });
  kernel->scratch_bytes = batch_norm_scratch(norm);
  kernel->in_place = {0};
  return kernel;
}

KernelChoice make_batch_norm_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  if (!channels_are_f32(request, 2, 3)) return refuse_channels();
  const Attributes& attributes = request.node.attributes;
  const std::string& named = attributes.string("gate");
  const NormGate gate = named == "of_x" ? NormGate::of_x : named == "of_y" ? NormGate::of_y : NormGate::none;
  if (gate == NormGate::of_x && request.inputs[5].type.dtype != DType::f32) return refuse_channels();
  const double closed_from = attributes.real("ceiling");
  const float ceiling = closed_from > 0 ? static_cast<float>(closed_from) : kNoCeiling;
  const std::size_t behind = gate == NormGate::none ? 5 : 6;
  const bool addend = attributes.boolean("addend"), passed = attributes.boolean("passed");
  const BatchNorm norm = batch_norm_of(request, 0);
  auto kernel = launched(request, "batch_norm", [=](LaunchSink sink, const KernelArguments& a) {
    batch_norm_gradient(sink, norm,
                        {.x = a.inputs[0],
                         .dy = a.inputs[1],
                         .gamma = in(a, 2),
                         .mean = in(a, 3),
                         .inv_std = in(a, 4),
                         .gate = gate,
                         .ceiling = ceiling,
                         .beta = gate == NormGate::of_x ? in(a, 5) : nullptr,
                         .y = gate == NormGate::of_y ? a.inputs[5] : nullptr,
                         .addend = addend ? a.inputs[behind] : nullptr,
                         .dx = a.outputs[0],
                         .dgamma = out(a, 1),
                         .dbeta = out(a, 2),
                         .g = passed ? a.outputs[3] : nullptr,
                         .scratch = a.scratch});
  });
  kernel->scratch_bytes = batch_norm_scratch(norm);
  kernel->in_place = {passed ? 0 : 1, -1, -1};
  if (passed) kernel->in_place.push_back(1);
  return kernel;
}

// Of layer_norm, group_norm or a gradient of either, whose operand `gamma` is gamma.
SampleNorm sample_norm_of(const KernelRequest& request, std::size_t gamma) {
  const ValueType& x = request.inputs[0].type;
  const SampleNormForm form = sample_norm_form(x.shape, request.inputs[gamma].type.shape, request.node.attributes);
  return {.type = x.dtype,
          .samples = form.samples,
          .positions = form.positions,
          .channels = form.channels,
          .groups = form.groups};
}

KernelChoice make_sample_norm(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  if (has_no_values(request)) return refuse_no_values();
  if (!channels_are_f32(request, 1, 2)) return refuse_channels();
  SampleNorm norm = sample_norm_of(request, 1);
  norm.epsilon = request.node.attributes.real("epsilon");
  auto kernel = launched(request, request.node.op, [norm](LaunchSink sink, const KernelArguments& a) {
    sample_norm(sink, norm, a.inputs[0], in(a, 1), in(a, 2), a.outputs[0], out(a, 1), out(a, 2), a.scratch);
  });
  kernel->scratch_bytes = sample_norm_scratch(norm);
  kernel->in_place = {0, -1, -1};
  return kernel;
}

KernelChoice make_sample_norm_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  if (has_no_values(request)) return refuse_no_values();
  if (!channels_are_f32(request, 2, 3)) return refuse_channels();
  const SampleNorm norm = sample_norm_of(request, 2);
  auto kernel = launched(request, request.node.op, [norm](LaunchSink sink, const KernelArguments& a) {
    sample_norm_gradient(sink, norm,
                         {.x = a.inputs[0],
                          .dy = a.inputs[1],
                          .gamma = in(a, 2),
                          .mean = in(a, 3),
                          .inv_std = in(a, 4),
                          .dx = a.outputs[0],
                          .dgamma = out(a, 1),
                          .dbeta = out(a, 2),
                          .scratch = a.scratch});
  });
  kernel->scratch_bytes = sample_norm_gradient_scratch(norm);
  kernel->in_place = {1, -1, -1};
  return kernel;
}

Normalisation normalisation_of(const KernelRequest& request) {
  const ValueType& x = request.inputs[0].type;
  const Attributes& attributes = request.node.attributes;
  const std::int64_t size = attributes.integer("size");
  return {.type = x.dtype,
          .elements = x.shape.elements(),
          .channels = x.shape[-1],
          .reach = size / 2,
          .bias = attributes.real("bias"),
          .share = attributes.real("alpha") / static_cast<double>(size),
          .beta = attributes.real("beta")};
}

KernelChoice make_lrn(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Normalisation norm = normalisation_of(request);
  if (norm.reach > kMostReach) return Refusal{fmt::format("more than {} channels on a side", kMostReach)};
  return launched(request, "lrn", [=](LaunchSink sink, const KernelArguments& a) {
    local_response_norm(sink, norm, a.inputs[0], a.outputs[0]);
  });
}

KernelChoice make_lrn_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Normalisation norm = normalisation_of(request);
  if (norm.reach > kMostReach) return Refusal{fmt::format("more than {} channels on a side", kMostReach)};
  return launched(request, "lrn", [=](LaunchSink sink, const KernelArguments& a) {
    local_response_norm_gradient(sink, norm, a.inputs[0], a.inputs[1], a.outputs[0]);
  });
}

constexpr KernelEntry kNorms[] = {
    own_entry("batch_norm_train", "own", make_batch_norm_train),
    own_entry("batch_norm_eval", "own", make_batch_norm_eval),
    own_entry("batch_norm_bwd", "own", make_batch_norm_bwd),
    own_entry("layer_norm", "own", make_sample_norm),
    own_entry("layer_norm_bwd", "own", make_sample_norm_bwd),
    own_entry("group_norm", "own", make_sample_norm),
    own_entry("group_norm_bwd", "own", make_sample_norm_bwd),
    own_entry("lrn", "own", make_lrn),
    own_entry("lrn_bwd", "own", make_lrn_bwd),
};

}  // namespace

std::span<const KernelEntry> norm_entries() { return kNorms; }

}  // namespace ridgeline::cuda
