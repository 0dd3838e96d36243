#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/op/gather.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline::cuda {
namespace {

// A copy of all bytes.
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

// Values that ranks exchange together, one after the other, with zeros between them. Values that a kernel has already
// written in place are not copied.
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

// The bits of an element of this type.
std::uint64_t bits_of_element(DType type, double value) {
  Tensor one(type, Shape{});
  one.set(0, value);
  std::uint64_t bits = 0;
  std::memcpy(&bits, one.raw(), one.byte_size());
  return bits;
}

KernelChoice make_strided(const KernelRequest& request, std::vector<CopyAxis> axes, std::uint64_t outside = 0) {
  if (too_large(request)) return refuse_size();
  if (axes.size() > kCopyAxes) return Refusal{fmt::format("more than {} axes", kCopyAxes)};
  const std::size_t element = size_of(request.inputs[0].type.dtype);
  return launched(request, "strided copy", [=, axes = std::move(axes)](LaunchSink sink, const KernelArguments& a) {
    strided_copy(sink, element, a.inputs[0], a.outputs[0], axes, outside);
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

// Axes of a copy from x to y of the same rank, each reading as `axis_of(i)` says.
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

// Rows [H*W, C] of each image transposed to [C, H*W], or back.
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
  const std::vector<std::int64_t>& low = request.node.attributes.integers("low");
  return make_strided(request,
                      axes_between(request.inputs[0].type.shape, request.outputs[0].type.shape,
                                   [&](std::size_t i, CopyAxis& axis) {
                                     axis.first = -low[i];
                                     axis.step = 1;
                                   }),
                      bits_of_element(request.outputs[0].type.dtype, request.node.attributes.real("value")));
}

KernelChoice make_slice(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  return make_strided(request, axes_between(request.inputs[0].type.shape, request.outputs[0].type.shape,
                                            [&](std::size_t i, CopyAxis& axis) {
                                              axis.first = attributes.integers("start")[i];
                                              axis.step = attributes.integers("stride")[i];
                                            }));
}

// dx[start + i*stride] = dy[i], 0 between and around them.
KernelChoice make_slice_bwd(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  return make_strided(request, axes_between(request.inputs[0].type.shape, request.outputs[0].type.shape,
                                            [&](std::size_t i, CopyAxis& axis) {
                                              axis.first = -attributes.integers("start")[i];
                                              axis.every = attributes.integers("stride")[i];
                                            }));
}

// Pieces side by side along an axis: a range of each of the `outer` rows of the whole.
struct Parts {
  std::int64_t outer = 1, whole = 0;  // elements of a row
  std::vector<std::int64_t> rows, offsets;

  Parts(const KernelRequest& request, const std::vector<KernelOperand>& parts, const Shape& all) {
    const int axis = rules::axis_of(request.node.op, request.node.attributes.integer("axis"), all.rank());
    for (int a = 0; a < axis; ++a) outer *= all[a];
    for (const KernelOperand& part : parts) {
      std::int64_t row = 1;
      for (int a = axis; a < all.rank(); ++a) row *= part.type.shape[a];
      offsets.push_back(whole);
      rows.push_back(row);
      whole += row;
    }
  }
  // Of the copy of a part to its place in the whole, or from there.
  std::array<CopyAxis, 2> axes(std::size_t part, bool to_whole) const {
    return {CopyAxis{.extent = outer,
                     .to_stride = to_whole ? whole : rows[part],
                     .from_extent = outer,
                     .from_stride = to_whole ? rows[part] : whole},
            CopyAxis{.extent = rows[part], .to_stride = 1, .from_extent = rows[part], .from_stride = 1}};
  }
};

KernelChoice make_concat(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const std::size_t element = size_of(request.outputs[0].type.dtype);
  return launched(request, "concat",
                  [element, parts = Parts(request, request.inputs, request.outputs[0].type.shape)](
                      LaunchSink sink, const KernelArguments& a) {
                    for (std::size_t i = 0; i < parts.rows.size(); ++i) {
                      char* const to = out<char>(a, 0) + static_cast<std::size_t>(parts.offsets[i]) * element;
                      strided_copy(sink, element, a.inputs[i], to, parts.axes(i, true));
                    }
                  });
}

KernelChoice make_split(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const std::size_t element = size_of(request.inputs[0].type.dtype);
  return launched(request, "split",
                  [element, parts = Parts(request, request.outputs, request.inputs[0].type.shape)](
                      LaunchSink sink, const KernelArguments& a) {
                    for (std::size_t i = 0; i < parts.rows.size(); ++i) {
                      const char* const from = in<char>(a, 0) + static_cast<std::size_t>(parts.offsets[i]) * element;
                      strided_copy(sink, element, from, a.outputs[i], parts.axes(i, false));
                    }
                  });
}

GatherShape gather_shape(const KernelRequest& request, const Shape& table) {
  const GatherForm form = gather_form(table, request.inputs[1].type.shape, request.node.attributes.integer("axis"));
  return {form.outer, form.rows, form.count, form.inner};
}

// An index that is no row cannot end the step as on the CPU: it gives NaN, as a label that is no class does.
KernelChoice make_gather(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const ValueType& table = request.inputs[0].type;
  if (!is_floating(table.dtype)) return Refusal{"a table of whole numbers has no NaN for an index that is no row"};
  const std::uint64_t outside = bits_of_element(table.dtype, std::numeric_limits<double>::quiet_NaN());
  return launched(request, "gather",
                  [=, shape = gather_shape(request, table.shape), element = size_of(table.dtype)](
                      LaunchSink sink, const KernelArguments& a) {
                    gather(sink, shape, element, outside, a.inputs[0], in<std::int32_t>(a, 1), a.outputs[0]);
                  });
}

KernelChoice make_gather_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const ValueType& table = request.outputs[0].type;
  return launched(
      request, "gather",
      [shape = gather_shape(request, table.shape), type = table.dtype](LaunchSink sink, const KernelArguments& a) {
        gather_gradient(sink, shape, type, a.inputs[0], in<std::int32_t>(a, 1), a.outputs[0]);
      });
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
    copies_entry("concat", make_concat),
    copies_entry("split", make_split),
    copies_entry("gather", make_gather),
    own_entry("gather_bwd", "own", make_gather_bwd),
    own_entry("cast", "own", make_cast),
};

}  // namespace

std::span<const KernelEntry> copy_entries() { return kCopies; }

}  // namespace ridgeline::cuda
