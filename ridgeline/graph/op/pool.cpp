#include "ridgeline/graph/op/pool.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/graph/op/rules.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline {
namespace {

using namespace rules;

struct Pooling {
  Window window;
  Shape image;
  Shape result;

  // Pixels [first, last) of window `out` along an axis that lie in the image.
  std::pair<std::int64_t, std::int64_t> inside(int axis, std::int64_t out) const {
    const std::int64_t first = window.input_position(axis, out, 0);
    const std::int64_t last = first + window.kernel[static_cast<std::size_t>(axis)];
    return {std::max<std::int64_t>(first, 0), std::min(last, image[axis + 1])};
  }
  std::size_t image_at(std::int64_t n, std::int64_t i, std::int64_t j, std::int64_t c) const {
    return static_cast<std::size_t>(((n * image[1] + i) * image[2] + j) * image[3] + c);
  }
  // Calls body(flat index in y, n, oh, ow, c).
  template <class F>
  void for_each_output(F&& body) const {
    for_each_index(result, [&](std::int64_t at, const Integers& i) {
      body(static_cast<std::size_t>(at), i[0], i[1], i[2], i[3]);
    });
  }
};

Pooling pooling_of(std::string_view op, const Attributes& attributes, const Shape& image) {
  const Integers& kernel = attributes.integers("kernel");
  if (kernel.size() != 2) fail(op, "attribute 'kernel' must be [height, width]");
  Pooling pool{window_of(op, attributes, kernel[0], kernel[1]), image, {}};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (std::max(pool.window.pad_before[axis], pool.window.pad_after[axis]) >= kernel[axis]) {
      fail(op, "pad " + Shape(attributes.integers("pad")).to_string() + " must be narrower than the kernel " +
                   Shape(kernel).to_string());
    }
  }
  const auto sizes = output_sizes(op, pool.window, image);
  pool.result = {image[0], sizes[0], sizes[1], image[3]};
  return pool;
}

// Of the backward ops, which get the image's shape as an attribute.
Pooling backward_of(std::string_view op, const OpInstance& instance) {
  const Shape image = shape_attribute(op, "input", instance.attributes.integers("input"));
  if (image.rank() != 4) fail(op, "attribute 'input' must have rank 4, not " + image.to_string());
  const Pooling pool = pooling_of(op, instance.attributes, image);
  expect_shape(op, "dy", instance.inputs[0], pool.result);
  return pool;
}

std::vector<AttributeSpec> window_attributes(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> specs = {
      required("kernel", Integers{3, 3}, "height and width of the window"),
      required("stride", Integers{2, 2}, "vertical, horizontal step in pixels"),
      optional("pad", Integers{0, 0, 0, 0}, "pixels at top, bottom, left, right"),
  };
  for (AttributeSpec& spec : more) specs.push_back(std::move(spec));
  return specs;
}

AttributeSpec input_shape() { return required("input", Integers{1, 55, 55, 96}, "shape of the image, [N,H,W,C]"); }
AttributeSpec counting() { return optional("count_include_pad", true, "whether padding counts in the divisor"); }

void expect_index_fits(std::string_view op, const Pooling& pool) {
  if (pool.window.kernel[0] * pool.window.kernel[1] > 255) {
    fail(op, "kernel " + std::to_string(pool.window.kernel[0]) + "x" + std::to_string(pool.window.kernel[1]) +
                 " has more than the 255 positions that a byte index can name");
  }
}

// ---- y, index = max_pool(x)

std::vector<ValueType> infer_max(const OpInstance& op) {
  expect_floating("max_pool", "image", op.inputs[0]);
  expect_rank("max_pool", "image", op.inputs[0], 4);
  const Pooling pool = pooling_of("max_pool", op.attributes, op.inputs[0].shape);
  expect_index_fits("max_pool", pool);
  return {{op.inputs[0].dtype, pool.result}, {DType::u8, pool.result}};
}

void reference_max(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Pooling pool = pooling_of("max_pool", op.attributes, op.inputs[0].shape);
  const std::vector<double> x = widen(inputs[0]);
  std::vector<double> y(static_cast<std::size_t>(pool.result.elements()));
  std::uint8_t* index = outputs[1].data<std::uint8_t>();
  pool.for_each_output([&](std::size_t at, std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t c) {
    const auto [top, bottom] = pool.inside(0, oh);
    const auto [left, right] = pool.inside(1, ow);
    double best = 0;
    std::int64_t where = -1;
    for (std::int64_t i = top; i < bottom; ++i) {
      for (std::int64_t j = left; j < right; ++j) {
        const double v = x[pool.image_at(n, i, j, c)];
        // The first maximum wins; a NaN beats every number.
        if (where >= 0 && !(v > best) && !(std::isnan(v) && !std::isnan(best))) continue;
        best = v;
        where = (i - pool.window.input_position(0, oh, 0)) * pool.window.kernel[1] + j -
                pool.window.input_position(1, ow, 0);
      }
    }
    y[at] = best;
    index[at] = static_cast<std::uint8_t>(where);
  });
  store(y, outputs[0]);
}

// ---- dx = max_pool_bwd(dy, index)

std::vector<ValueType> infer_max_backward(const OpInstance& op) {
  expect_floating("max_pool_bwd", "dy", op.inputs[0]);
  expect_rank("max_pool_bwd", "dy", op.inputs[0], 4);
  const Pooling pool = backward_of("max_pool_bwd", op);
  expect_index_fits("max_pool_bwd", pool);
  expect_dtype("max_pool_bwd", "index", op.inputs[1], DType::u8);
  expect_shape("max_pool_bwd", "index", op.inputs[1], pool.result);
  return {{op.inputs[0].dtype, pool.image}};
}

void reference_max_backward(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Pooling pool = backward_of("max_pool_bwd", op);
  const std::vector<double> dy = widen(inputs[0]);
  const std::uint8_t* index = inputs[1].data<std::uint8_t>();
  std::vector<double> dx(static_cast<std::size_t>(pool.image.elements()), 0.0);
  pool.for_each_output([&](std::size_t at, std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t c) {
    const std::int64_t r = index[at] / pool.window.kernel[1];
    const std::int64_t i = pool.window.input_position(0, oh, r);
    const std::int64_t j = pool.window.input_position(1, ow, index[at] % pool.window.kernel[1]);
    if (r >= pool.window.kernel[0] || i < 0 || i >= pool.image[1] || j < 0 || j >= pool.image[2])
      fail_pool_index(index[at], static_cast<std::int64_t>(at));
    dx[pool.image_at(n, i, j, c)] += dy[at];
  });
  store(dx, outputs[0]);
}

// ---- y = avg_pool(x), dx = avg_pool_bwd(dy)

// Calls body(flat index in y, flat index in x, divisor) for each pixel of each window.
template <class F>
void for_each_average(const Pooling& pool, bool include_pad, F&& body) {
  pool.for_each_output([&](std::size_t at, std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t c) {
    const auto [top, bottom] = pool.inside(0, oh);
    const auto [left, right] = pool.inside(1, ow);
    const std::int64_t count =
        include_pad ? pool.window.kernel[0] * pool.window.kernel[1] : (bottom - top) * (right - left);
    for (std::int64_t i = top; i < bottom; ++i) {
      for (std::int64_t j = left; j < right; ++j) body(at, pool.image_at(n, i, j, c), static_cast<double>(count));
    }
  });
}

std::vector<ValueType> infer_average(const OpInstance& op) {
  expect_floating("avg_pool", "image", op.inputs[0]);
  expect_rank("avg_pool", "image", op.inputs[0], 4);
  return {{op.inputs[0].dtype, pooling_of("avg_pool", op.attributes, op.inputs[0].shape).result}};
}

void reference_average(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Pooling pool = pooling_of("avg_pool", op.attributes, op.inputs[0].shape);
  const std::vector<double> x = widen(inputs[0]);
  std::vector<double> y(static_cast<std::size_t>(pool.result.elements()), 0.0);
  std::vector<double> count(y.size(), 1.0);
  for_each_average(pool, op.attributes.boolean("count_include_pad"), [&](std::size_t at, std::size_t from, double n) {
    y[at] += x[from];
    count[at] = n;
  });
  for (std::size_t i = 0; i < y.size(); ++i) y[i] /= count[i];
  store(y, outputs[0]);
}

std::vector<ValueType> infer_average_backward(const OpInstance& op) {
  expect_floating("avg_pool_bwd", "dy", op.inputs[0]);
  expect_rank("avg_pool_bwd", "dy", op.inputs[0], 4);
  return {{op.inputs[0].dtype, backward_of("avg_pool_bwd", op).image}};
}

void reference_average_backward(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Pooling pool = backward_of("avg_pool_bwd", op);
  const std::vector<double> dy = widen(inputs[0]);
  std::vector<double> dx(static_cast<std::size_t>(pool.image.elements()), 0.0);
  for_each_average(pool, op.attributes.boolean("count_include_pad"),
                   [&](std::size_t at, std::size_t to, double n) { dx[to] += dy[at] / n; });
  store(dx, outputs[0]);
}

// One comparison or addition for each pixel of each window.
Cost window_cost(const OpInstance& op, std::span<const ValueType> results) {
  const Integers& kernel = op.attributes.integers("kernel");
  const bool backward = op.attributes.has("input");
  const Shape& y = backward ? op.inputs[0].shape : results[0].shape;
  return {static_cast<double>(y.elements() * kernel[0] * kernel[1]), bytes_moved(op, results)};
}

}  // namespace

void fail_pool_index(int index, std::int64_t element) {
  fail("max_pool_bwd", "index " + std::to_string(index) + " of element " + std::to_string(element) +
                           " names no pixel of the image in its window");
}

std::vector<OpDef> pool_ops() {
  OpDef maximum;
  maximum.name = "max_pool";
  maximum.formula =
      "y = the largest pixel of each window, index = its position row*kernel_width + column in the window (the first "
      "of "
      "equals; a NaN wins, padding never does)";
  maximum.operands = {"x"};
  maximum.min_operands = maximum.max_operands = 1;
  maximum.results = {"y", "index"};
  maximum.attributes = window_attributes({});
  maximum.infer = infer_max;
  maximum.reference = reference_max;
  maximum.cost = window_cost;

  OpDef maximum_backward;
  maximum_backward.name = "max_pool_bwd";
  maximum_backward.formula = "dx = each dy added to the pixel of its index, zero elsewhere";
  maximum_backward.operands = {"dy", "index"};
  maximum_backward.min_operands = maximum_backward.max_operands = 2;
  maximum_backward.results = {"dx"};
  maximum_backward.attributes = window_attributes({input_shape()});
  maximum_backward.infer = infer_max_backward;
  maximum_backward.reference = reference_max_backward;

  OpDef average;
  average.name = "avg_pool";
  average.formula =
      "y = the mean over each window; the divisor is the area of the window or of its part inside the image";
  average.operands = {"x"};
  average.min_operands = average.max_operands = 1;
  average.results = {"y"};
  average.attributes = window_attributes({counting()});
  average.infer = infer_average;
  average.reference = reference_average;
  average.cost = window_cost;

  OpDef average_backward;
  average_backward.name = "avg_pool_bwd";
  average_backward.formula = "dx = each dy, divided as in avg_pool, added to all pixels of its window";
  average_backward.operands = {"dy"};
  average_backward.min_operands = average_backward.max_operands = 1;
  average_backward.results = {"dx"};
  average_backward.attributes = window_attributes({input_shape(), counting()});
  average_backward.infer = infer_average_backward;
  average_backward.reference = reference_average_backward;
  average_backward.cost = window_cost;
  return {maximum, maximum_backward, average, average_backward};
}

}  // namespace ridgeline
