#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/op/rules.h"
#include "ridgeline/image/normalize.h"

namespace ridgeline::cuda {
namespace {

SoftmaxAxis softmax_axis(const KernelRequest& request) {
  const ValueType& x = request.inputs[0].type;
  const int axis = rules::axis_of(request.node.op, request.node.attributes.integer("axis"), x.shape.rank());
  SoftmaxAxis s{.type = x.dtype, .classes = x.shape[axis]};
  for (int a = 0; a < x.shape.rank(); ++a) {
    if (a != axis) (a < axis ? s.outer : s.inner) *= x.shape[a];
  }
  return s;
}

KernelChoice make_softmax(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  auto kernel = launched(request, "softmax", [s = softmax_axis(request)](LaunchSink sink, const KernelArguments& a) {
    softmax(sink, s, a.inputs[0], a.outputs[0]);
  });
  kernel->in_place = {0};
  return kernel;
}

KernelChoice make_softmax_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  auto kernel = launched(request, "softmax", [s = softmax_axis(request)](LaunchSink sink, const KernelArguments& a) {
    softmax_gradient(sink, s, a.inputs[0], a.inputs[1], a.outputs[0]);
  });
  kernel->in_place = {1};
  return kernel;
}

// Labels, or shares in their place, at operand 1, and a mask at `mask`, where the node has one.
struct TargetOperands {
  bool shares, masked;
  std::size_t mask;
  double smoothing;
  TargetOperands(const KernelRequest& request, std::size_t mask_operand)
      : shares(is_floating(request.inputs[1].type.dtype)),
        masked(request.inputs.size() > mask_operand),
        mask(mask_operand),
        smoothing(request.node.attributes.real("label_smoothing")) {}
  Targets of(const KernelArguments& a) const {
    return {.labels = shares ? nullptr : in<std::int32_t>(a, 1),
            .shares = shares ? a.inputs[1] : nullptr,
            .mask = masked ? a.inputs[mask] : nullptr,
            .smoothing = smoothing};
  }
};

// A row whose label is no class has the loss NaN, and so has the step: nobody asks for the rows.
KernelChoice make_cross_entropy(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const ValueType x = request.inputs[0].type;
  return launched(request, "softmax_cross_entropy",
                  [x, targets = TargetOperands(request, 2)](LaunchSink sink, const KernelArguments& a) {
                    softmax_cross_entropy(sink, x.dtype, a.inputs[0], targets.of(a), a.outputs[0], a.outputs[1],
                                          nullptr, x.shape[0], x.shape[1]);
                  });
}

KernelChoice make_cross_entropy_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const ValueType p = request.inputs[0].type;
  auto kernel = launched(request, "softmax_cross_entropy",
                         [p, targets = TargetOperands(request, 3)](LaunchSink sink, const KernelArguments& a) {
                           softmax_cross_entropy_gradient(sink, p.dtype, a.inputs[0], targets.of(a), a.inputs[2],
                                                          a.outputs[0], p.shape[0], p.shape[1]);
                         });
  kernel->in_place = {0};
  return kernel;
}

// `k` guesses a row; 0: the first largest alone.
KernelChoice accuracy(const KernelRequest& request, std::int64_t k) {
  if (too_large(request)) return refuse_size();
  const ValueType x = request.inputs[0].type;
  const bool masked = request.inputs.size() > 2;
  auto kernel = launched(request, "accuracy", [=](LaunchSink sink, const KernelArguments& a) {
    top_k_accuracy(sink, x.dtype, a.inputs[0], in<std::int32_t>(a, 1), masked ? a.inputs[2] : nullptr, k, out(a, 0),
                   nullptr, x.shape[0], x.shape[1], a.scratch);
  });
  kernel->scratch_bytes = top_k_scratch(x.shape[0]);
  return kernel;
}

KernelChoice make_top_k(const KernelRequest& request) {
  return accuracy(request, request.node.attributes.integer("k"));
}

KernelChoice make_argmax(const KernelRequest& request) { return accuracy(request, 0); }

KernelChoice make_image_tail(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const Shape image = request.inputs[0].type.shape;
  const ImageTailShape shape{
      .type = request.outputs[0].type.dtype, .n = image[0], .h = image[1], .w = image[2], .channels = 3};
  const auto three = [&](const char* name) {
    const std::vector<double>& values = request.node.attributes.reals(name);
    return std::array<double, 3>{values[0], values[1], values[2]};
  };
  const image::NormalizeTable normalize(three("mean"), three("std"));
  std::array<float, 768> table;
  for (int channel = 0; channel < 3; ++channel) {
    for (int v = 0; v < 256; ++v)
      table[static_cast<std::size_t>(256 * channel + v)] = normalize.at(channel, static_cast<std::uint8_t>(v));
  }
  const bool flips = request.inputs.size() > 1;
  return launched(request, "image_tail", [=](LaunchSink sink, const KernelArguments& a) {
    image_tail(sink, shape, a.inputs[0], flips ? a.inputs[1] : nullptr, table, a.outputs[0]);
  });
}

KernelChoice make_dropout(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const ValueType x = request.inputs[0].type;
  const double keep = request.node.attributes.real("keep_prob");
  const auto key = static_cast<std::uint64_t>(request.node.attributes.integer("key"));
  auto kernel = launched(request, "dropout", [=](LaunchSink sink, const KernelArguments& a) {
    dropout(sink, x.dtype, a.inputs[0], a.outputs[0], in<std::int64_t>(a, 1), key, keep, x.shape.elements());
  });
  kernel->in_place = {0};
  return kernel;
}

constexpr KernelEntry kLosses[] = {
    own_entry("softmax", "own", make_softmax),
    own_entry("softmax_bwd", "own", make_softmax_bwd),
    own_entry("softmax_cross_entropy", "own", make_cross_entropy),
    own_entry("softmax_cross_entropy_bwd", "own", make_cross_entropy_bwd),
    own_entry("top_k_accuracy", "own", make_top_k),
    own_entry("argmax_accuracy", "own", make_argmax),
    own_entry("image_tail", "own", make_image_tail),
    own_entry("dropout", "own", make_dropout),
};

}  // namespace

std::span<const KernelEntry> loss_entries() { return kLosses; }

}  // namespace ridgeline::cuda
