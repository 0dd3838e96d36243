#include <fmt/format.h>

#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline::cuda {
namespace {

// A copy of all bytes as they lie.
class BytesKernel final : public Kernel {
 public:
  explicit BytesKernel(std::size_t bytes) : bytes_(bytes) {
    name = "cuda copy";
    in_place = {0};
  }
  void run(const KernelArguments& a) override {
    if (a.inputs[0] == a.outputs[0]) return;
    Stream& stream = *a.stream;
    stream.copy({.to = a.outputs[0],
                 .from = a.inputs[0],
                 .bytes = bytes_,
                 .to_device = &stream.device(),
                 .from_device = &stream.device()});
  }

 private:
  std::size_t bytes_;
};

KernelChoice make_bytes(const KernelRequest& request) {
  return std::make_unique<BytesKernel>(request.inputs[0].type.bytes());
}

// Values that ranks exchange together, one behind the other, with zeros between them. What a kernel has written into
// its place already stays.
class PackKernel final : public Kernel {
 public:
  explicit PackKernel(const KernelRequest& request) {
    name = "cuda pack";
    for (const KernelOperand& operand : request.inputs) bytes_.push_back(operand.type.bytes());
    if (request.node.attributes.boolean("conditional")) bytes_.pop_back();
    packing_ = pack(bytes_);
    if (!collective_rule(request.node).packed) packing_.bytes = bytes_[0];  // goes as it lies
  }
  void run(const KernelArguments& a) override {
    Stream& stream = *a.stream;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      char* to = static_cast<char*>(a.outputs[0]) + packing_.offsets[i];
      const std::size_t end = i + 1 < bytes_.size() ? packing_.offsets[i + 1] : packing_.bytes;
      if (const std::size_t gap = end - packing_.offsets[i] - bytes_[i]; gap > 0) stream.clear(to + bytes_[i], gap);
      if (a.inputs[i] == to) continue;
      stream.copy({.to = to,
                   .from = a.inputs[i],
                   .bytes = bytes_[i],
                   .to_device = &stream.device(),
                   .from_device = &stream.device()});
    }
  }

 private:
  std::vector<std::size_t> bytes_;
  Packing packing_;
};

KernelChoice make_pack(const KernelRequest& request) { return std::make_unique<PackKernel>(request); }

KernelChoice make_strided(const KernelRequest& request, std::vector<CopyAxis> axes) {
  if (too_large(request)) return refuse_size();
  if (axes.size() > kCopyAxes) return Refusal{fmt::format("more than {} axes", kCopyAxes)};
  const std::size_t element = size_of(request.inputs[0].type.dtype);
  return launched(request, "strided copy", [=, axes = std::move(axes)](LaunchSink sink, const KernelArguments& a) {
    strided_copy(sink, element, a.inputs[0], a.outputs[0], axes);
  });
}

// Elements from one index to the next, axis by axis, of a row-major value.
std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()));
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// Axes of a copy from x to y of the same rank, each as `axis_of(i)` says from where it reads.
template <class AxisOf>
std::vector<CopyAxis> axes_between(const Shape& x, const Shape& y, AxisOf axis_of) {
  const std::vector<std::int64_t> from = strides_of(x), to = strides_of(y);
  std::vector<CopyAxis> axes;
  for (int i = 0; i < y.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    CopyAxis axis{.extent = y[i], .to_stride = to[at], .from_extent = x[i], .from_stride = from[at]};
    axis_of(at, axis);
    axes.push_back(axis);
  }
  return axes;
}

KernelChoice make_transpose(const KernelRequest& request) {
  const Shape &x = request.inputs[0].type.shape, &y = request.outputs[0].type.shape;
  const std::vector<std::int64_t>& permutation = request.node.attributes.integers("permutation");
  const std::vector<std::int64_t> from = strides_of(x), to = strides_of(y);
  std::vector<CopyAxis> axes;
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const auto axis = static_cast<std::size_t>(permutation[i]);
    axes.push_back({.extent = y[static_cast<int>(i)],
                    .to_stride = to[i],
                    .from_extent = y[static_cast<int>(i)],
                    .from_stride = from[axis]});
    axes.back().step = 1;
  }
  return make_strided(request, std::move(axes));
}

// Rows [H*W, C] of each image turned to [C, H*W], or back.
KernelChoice make_flatten(const KernelRequest& request) {
  if (request.node.attributes.string("order") == "hwc") return make_bytes(request);
  if (too_large(request)) return refuse_size();
  const bool flattens = request.node.op == "flatten";
  const Shape image = flattens ? request.inputs[0].type.shape : request.outputs[0].type.shape;
  const std::int64_t pixels = image[1] * image[2], channels = image[3];
  const std::size_t element = size_of(request.inputs[0].type.dtype);
  return launched(request, "transpose", [=](LaunchSink sink, const KernelArguments& a) {
    transpose(sink, element, a.inputs[0], a.outputs[0], image[0], flattens ? pixels : channels,
              flattens ? channels : pixels);
  });
}

KernelChoice make_broadcast(const KernelRequest& request) {
  const Shape &given = request.inputs[0].type.shape, &y = request.outputs[0].type.shape;
  Shape x(std::vector<std::int64_t>(static_cast<std::size_t>(y.rank()), 1));
  for (int axis = 0; axis < given.rank(); ++axis) x[y.rank() - given.rank() + axis] = given[axis];
  return make_strided(request, axes_between(x, y, [&](std::size_t i, CopyAxis& axis) {
                        axis.step = x[static_cast<int>(i)] == 1 ? 0 : 1;
                      }));
}

KernelChoice make_pad(const KernelRequest& request) {
  if (request.node.attributes.real("value") != 0) return Refusal{"the new elements are not 0"};
  const std::vector<std::int64_t>& low = request.node.attributes.integers("low");
  return make_strided(request, axes_between(request.inputs[0].type.shape, request.outputs[0].type.shape,
                                            [&](std::size_t i, CopyAxis& axis) {
                                              axis.first = -low[i];
                                              axis.step = 1;
                                            }));
}

KernelChoice make_slice(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  return make_strided(request, axes_between(request.inputs[0].type.shape, request.outputs[0].type.shape,
                                            [&](std::size_t i, CopyAxis& axis) {
                                              axis.first = attributes.integers("start")[i];
                                              axis.step = attributes.integers("stride")[i];
                                            }));
}

// dx[start + i*stride] = dy[i]: an axis with a stride is two, whose second one reads zeros behind its first element.
KernelChoice make_slice_bwd(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Shape &dy = request.inputs[0].type.shape, &dx = request.outputs[0].type.shape;
  const std::vector<std::int64_t> from = strides_of(dy), to = strides_of(dx);
  std::vector<CopyAxis> axes;
  for (int i = 0; i < dx.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t start = attributes.integers("start")[at], stride = attributes.integers("stride")[at];
    if (stride == 1) {
      axes.push_back({.extent = dx[i],
                      .to_stride = to[at],
                      .first = -start,
                      .step = 1,
                      .from_extent = dy[i],
                      .from_stride = from[at]});
      continue;
    }
    if (start != 0 || dx[i] % stride != 0) return Refusal{"an axis that its stride does not divide"};
    axes.push_back({.extent = dx[i] / stride,
                    .to_stride = to[at] * stride,
                    .step = 1,
                    .from_extent = dy[i],
                    .from_stride = from[at]});
    axes.push_back({.extent = stride, .to_stride = to[at], .step = 1, .from_extent = 1});
  }
  return make_strided(request, std::move(axes));
}

bool card_type(DType type) { return type == DType::f32 || type == DType::bf16 || type == DType::f16; }

KernelChoice make_cast(const KernelRequest& request) {
  const ValueType x = request.inputs[0].type;
  const DType to = request.outputs[0].type.dtype;
  if (x.dtype == to) return make_bytes(request);
  if (!card_type(x.dtype) || !card_type(to)) return Refusal{"between whole numbers and others"};
  if (too_large(request)) return refuse_size();
  return launched(request, "cast", [=](LaunchSink sink, const KernelArguments& a) {
    cast(sink, x.dtype, a.inputs[0], to, a.outputs[0], x.shape.elements());
  });
}

constexpr KernelEntry copies_entry(std::string_view op, EntryFactory factory) {
  return {op, "own", Provider::own, factory, kFloatingTypes, Arithmetic::f64, {Reproducibility::portable, true}};
}

constexpr KernelEntry kCopies[] = {
    copies_entry("reshape", make_bytes),
    copies_entry("flatten", make_flatten),
    copies_entry("unflatten", make_flatten),
    copies_entry("transpose", make_transpose),
    copies_entry("broadcast_to", make_broadcast),
    copies_entry("pad", make_pad),
    copies_entry("collective_start", make_pack),
    copies_entry("strided_slice", make_slice),
    copies_entry("strided_slice_bwd", make_slice_bwd),
    own_entry("cast", "own", make_cast),
};

}  // namespace

std::span<const KernelEntry> copy_entries() { return kCopies; }

}  // namespace ridgeline::cuda
