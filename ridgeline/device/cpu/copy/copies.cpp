#include <cmath>
#include <cstring>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/copy/strided_copy.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline::device {
namespace {

using Integers = std::vector<std::int64_t>;

// Distance of neighbours along each axis of a row-major array, in elements.
Integers strides_of(const Shape& shape) {
  Integers strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = strides[static_cast<std::size_t>(axis) + 1] * shape[axis + 1];
  }
  return strides;
}

KernelChoice copy_kernel(const KernelRequest& request, StridedCopy copy) {
  return make_body_kernel("own " + request.def.name,
                          [copy = std::move(copy)](const KernelArguments& a) { copy.run(a.inputs[0], a.outputs[0]); });
}

void fill_zero(void* to, std::int64_t bytes) {
  parallel_for(bytes, 256 * 1024, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(to) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

KernelChoice plain_copy(const KernelRequest& request) {
  const auto bytes = static_cast<std::int64_t>(request.inputs[0].type.bytes());
  auto kernel = make_body_kernel("own copy", [bytes](const KernelArguments& a) {
    if (a.inputs[0] == a.outputs[0]) return;
    parallel_for(bytes, 256 * 1024, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<char*>(a.outputs[0]) + begin, static_cast<const char*>(a.inputs[0]) + begin,
                  static_cast<std::size_t>(end - begin));
    });
  });
  kernel->in_place = {0};
  return kernel;
}

// y is row-major; its element `index` is at sum(index * steps) of x.
KernelChoice gather(const KernelRequest& request, const Shape& y, Integers steps) {
  return copy_kernel(
      request, StridedCopy(y.dims(), std::move(steps), strides_of(y), 0, 0, size_of(request.inputs[0].type.dtype)));
}

}  // namespace

KernelChoice make_own_reshape(const KernelRequest& request) { return plain_copy(request); }

KernelChoice make_own_flatten(const KernelRequest& request) {
  if (request.node.attributes.string("order") == "hwc") return plain_copy(request);
  const Shape& x = request.inputs[0].type.shape;
  const Integers steps = strides_of(x);
  return gather(request, {x[0], x[3], x[1], x[2]}, {steps[0], steps[3], steps[1], steps[2]});
}

KernelChoice make_own_unflatten(const KernelRequest& request) {
  if (request.node.attributes.string("order") == "hwc") return plain_copy(request);
  const Shape& y = request.outputs[0].type.shape;
  const Integers steps = strides_of({y[0], y[3], y[1], y[2]});
  return gather(request, y, {steps[0], steps[2], steps[3], steps[1]});
}

KernelChoice make_own_transpose(const KernelRequest& request) {
  const Integers strides = strides_of(request.inputs[0].type.shape);
  Integers steps;
  for (std::int64_t axis : request.node.attributes.integers("permutation")) {
    steps.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return gather(request, request.outputs[0].type.shape, std::move(steps));
}

KernelChoice make_own_broadcast_to(const KernelRequest& request) {
  const Shape& x = request.inputs[0].type.shape;
  const Shape& y = request.outputs[0].type.shape;
  const Integers strides = strides_of(x);
  Integers steps(static_cast<std::size_t>(y.rank()), 0);
  for (int back = 1; back <= x.rank(); ++back) {
    if (x[-back] != 1)
      steps[steps.size() - static_cast<std::size_t>(back)] = strides[strides.size() - static_cast<std::size_t>(back)];
  }
  return gather(request, y, std::move(steps));
}

KernelChoice make_own_pad(const KernelRequest& request) {
  const DType dtype = request.inputs[0].type.dtype;
  const double value = request.node.attributes.real("value");
  const bool zero_bits = value == 0 && !std::signbit(value);
  if (!zero_bits && dtype != DType::f32) return Refusal{"a padding value other than 0 (-0 is another) needs f32"};
  const Shape& x = request.inputs[0].type.shape;
  const Shape& y = request.outputs[0].type.shape;
  const auto& low = request.node.attributes.integers("low");
  const Integers from_strides = strides_of(x);
  const Integers to_strides = strides_of(y);
  Integers sizes;
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  bool overlap = true;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t first = std::max<std::int64_t>(0, low[a]);  // in y
    const std::int64_t last = std::min(y[axis], x[axis] + low[a]);
    overlap = overlap && first < last;
    sizes.push_back(std::max<std::int64_t>(0, last - first));
    from_offset += (first - low[a]) * from_strides[a];
    to_offset += first * to_strides[a];
  }
  const std::size_t element = size_of(dtype);
  const StridedCopy copy(overlap ? sizes : Integers{}, overlap ? from_strides : Integers{},
                         overlap ? to_strides : Integers{}, from_offset, to_offset, element);
  const std::int64_t elements = y.elements();
  return make_body_kernel("own pad", [=](const KernelArguments& a) {
    if (zero_bits) {
      fill_zero(a.outputs[0], elements * static_cast<std::int64_t>(element));
    } else {
      parallel_for(elements, 64 * 1024, [&](std::int64_t begin, std::int64_t end) {
        std::fill(output<float>(a, 0) + begin, output<float>(a, 0) + end, static_cast<float>(value));
      });
    }
    if (overlap) copy.run(a.inputs[0], a.outputs[0]);
  });
}

namespace {

// Where index 0 of a slice is in x, and the distances of its neighbours.
struct Slice {
  std::int64_t offset = 0;
  Integers strides;
  Slice(const Attributes& attributes, const Shape& x) : strides(strides_of(x)) {
    const auto& start = attributes.integers("start");
    const auto& stride = attributes.integers("stride");
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      offset += start[axis] * strides[axis];
      strides[axis] *= stride[axis];
    }
  }
};

}  // namespace

KernelChoice make_own_strided_slice(const KernelRequest& request) {
  const Slice slice(request.node.attributes, request.inputs[0].type.shape);
  const Shape& y = request.outputs[0].type.shape;
  return copy_kernel(request, StridedCopy(y.dims(), slice.strides, strides_of(y), slice.offset, 0,
                                          size_of(request.inputs[0].type.dtype)));
}

KernelChoice make_own_strided_slice_bwd(const KernelRequest& request) {
  const Shape& dy = request.inputs[0].type.shape;
  const ValueType& dx = request.outputs[0].type;
  const Slice slice(request.node.attributes, dx.shape);
  StridedCopy copy(dy.dims(), strides_of(dy), slice.strides, 0, slice.offset, size_of(dx.dtype));
  const auto bytes = static_cast<std::int64_t>(dx.bytes());
  return make_body_kernel("own strided_slice_bwd", [copy = std::move(copy), bytes](const KernelArguments& a) {
    fill_zero(a.outputs[0], bytes);
    copy.run(a.inputs[0], a.outputs[0]);
  });
}

namespace {

// Pieces side by side along an axis of `whole`, each copied from or to its position there.
std::vector<StridedCopy> part_copies(const ValueType& whole, std::int64_t axis, const std::vector<KernelOperand>& parts,
                                     bool into_whole) {
  if (axis < 0) axis += whole.shape.rank();
  const Integers strides = strides_of(whole.shape);
  std::vector<StridedCopy> copies;
  std::int64_t offset = 0;
  for (const KernelOperand& part : parts) {
    const Shape& shape = part.type.shape;
    const Integers own = strides_of(shape);
    copies.emplace_back(shape.dims(), into_whole ? own : strides, into_whole ? strides : own, into_whole ? 0 : offset,
                        into_whole ? offset : 0, size_of(whole.dtype));
    offset += shape[static_cast<int>(axis)] * strides[static_cast<std::size_t>(axis)];
  }
  return copies;
}

}  // namespace

KernelChoice make_own_concat(const KernelRequest& request) {
  for (const KernelOperand& part : request.inputs) {
    if (part.type.shape.elements() == 0) return Refusal{"an operand is empty"};
  }
  return make_body_kernel("own concat",
                          [copies = part_copies(request.outputs[0].type, request.node.attributes.integer("axis"),
                                                request.inputs, true)](const KernelArguments& a) {
                            for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(a.inputs[i], a.outputs[0]);
                          });
}

KernelChoice make_own_split(const KernelRequest& request) {
  if (request.inputs[0].type.shape.elements() == 0) return Refusal{"the operand is empty"};
  return make_body_kernel("own split",
                          [copies = part_copies(request.inputs[0].type, request.node.attributes.integer("axis"),
                                                request.outputs, false)](const KernelArguments& a) {
                            for (std::size_t i = 0; i < copies.size(); ++i) copies[i].run(a.inputs[0], a.outputs[i]);
                          });
}

KernelChoice make_own_collective_start(const KernelRequest& request) {
  const bool conditional = request.node.attributes.boolean("conditional");
  std::vector<std::size_t> bytes;
  std::vector<Layout> layouts;
  for (const KernelOperand& operand : request.inputs) {
    layouts.push_back(operand.layout);
    bytes.push_back(operand.layout.bytes(operand.type));
  }
  if (conditional) bytes.pop_back();
  auto kernel = make_body_kernel("own pack", [bytes, packing = pack(bytes)](const KernelArguments& a) {
    char* packed = output<char>(a, 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char* from = static_cast<const char*>(a.inputs[i]);
      char* to = packed + packing.offsets[i];
      const std::size_t end = i + 1 < bytes.size() ? packing.offsets[i + 1] : packing.bytes;
      std::memset(to + bytes[i], 0, end - packing.offsets[i] - bytes[i]);
      if (from == to) continue;
      parallel_for(static_cast<std::int64_t>(bytes[i]), 256 * 1024, [&](std::int64_t begin, std::int64_t stop) {
        std::memcpy(to + begin, from + begin, static_cast<std::size_t>(stop - begin));
      });
    }
  });
  kernel->input_layouts = std::move(layouts);
  kernel->output_layouts = {Layout()};
  return kernel;
}

}  // namespace ridgeline::device
