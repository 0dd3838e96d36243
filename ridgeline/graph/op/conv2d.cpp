#include "ridgeline/graph/op/conv2d.h"

#include "ridgeline/graph/op/rules.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline {
namespace {

using namespace rules;

// One convolution: x [n,h,w,c], y [n,oh,ow,k], weight [k,kernel,c/groups].
struct Convolution {
  Window window;
  std::int64_t n = 0, h = 0, w = 0, c = 0;
  std::int64_t oh = 0, ow = 0, k = 0;
  std::int64_t groups = 1;

  std::int64_t group_channels() const { return c / groups; }
  Shape image() const { return {n, h, w, c}; }
  Shape weight() const { return {k, window.kernel[0], window.kernel[1], group_channels()}; }
  Shape result() const { return {n, oh, ow, k}; }
  double flops() const {
    return 2.0 * static_cast<double>(result().elements()) *
           static_cast<double>(window.kernel[0] * window.kernel[1] * group_channels());
  }

  // Calls body(index in x, index in w, index in y, channels) for each run of input channels that one output element
  // reads; x and w advance together.
  template <class F>
  void for_each_run(F&& body) const {
    const std::int64_t per_group = k / groups;
    const std::int64_t run = group_channels();
    for (std::int64_t in = 0; in < n; ++in) {
      for (std::int64_t io = 0; io < oh; ++io) {
        for (std::int64_t jo = 0; jo < ow; ++jo) {
          for (std::int64_t ik = 0; ik < k; ++ik) {
            const std::int64_t y_at = ((in * oh + io) * ow + jo) * k + ik;
            for (std::int64_t r = 0; r < window.kernel[0]; ++r) {
              const std::int64_t i = window.input_position(0, io, r);
              if (i < 0 || i >= h) continue;
              for (std::int64_t s = 0; s < window.kernel[1]; ++s) {
                const std::int64_t j = window.input_position(1, jo, s);
                if (j < 0 || j >= w) continue;
                const std::int64_t x_at = ((in * h + i) * w + j) * c + ik / per_group * run;
                const std::int64_t w_at = ((ik * window.kernel[0] + r) * window.kernel[1] + s) * run;
                body(static_cast<std::size_t>(x_at), static_cast<std::size_t>(w_at), static_cast<std::size_t>(y_at),
                     static_cast<std::size_t>(run));
              }
            }
          }
        }
      }
    }
  }
};

Convolution convolution_of(std::string_view op, const Attributes& attributes, const Shape& image, const Shape& weight) {
  Convolution conv;
  conv.groups = attributes.integer("groups");
  if (conv.groups < 1) fail(op, "attribute 'groups' = " + std::to_string(conv.groups) + " must be at least 1");
  if (image[3] % conv.groups != 0 || weight[3] != image[3] / conv.groups) {
    fail(op, "weight has " + std::to_string(weight[3]) + " input channels, image has " + std::to_string(image[3]) +
                 " with groups=" + std::to_string(conv.groups));
  }
  if (weight[0] % conv.groups != 0) {
    fail(op, "weight has " + std::to_string(weight[0]) +
                 " output channels, which groups=" + std::to_string(conv.groups) + " does not divide");
  }
  conv.window = window_of(op, attributes, weight[1], weight[2]);
  const auto sizes = output_sizes(op, conv.window, image);
  conv.n = image[0], conv.h = image[1], conv.w = image[2], conv.c = image[3];
  conv.oh = sizes[0], conv.ow = sizes[1], conv.k = weight[0];
  return conv;
}

bool with_relu(std::string_view op, const Attributes& attributes) {
  const std::string& activation = attributes.string("activation");
  if (activation != "none" && activation != "relu") {
    fail(op, "unknown activation '" + activation + "' (allowed: none, relu)");
  }
  return activation == "relu";
}

std::vector<AttributeSpec> attributes_and(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> specs = {
      optional("stride", Integers{1, 1}, "vertical, horizontal step in pixels"),
      optional("pad", Integers{0, 0, 0, 0}, "zeros at top, bottom, left, right, in pixels"),
      optional("dilation", Integers{1, 1}, "vertical, horizontal distance between kernel elements"),
      optional("groups", std::int64_t{1}, "number of channel groups, which are convolved separately"),
  };
  for (AttributeSpec& spec : more) specs.push_back(std::move(spec));
  return specs;
}

// ---- y = conv2d(x, w, [b, [addend]])

Convolution forward_of(const OpInstance& op) {
  return convolution_of("conv2d", op.attributes, op.inputs[0].shape, op.inputs[1].shape);
}

std::vector<ValueType> infer_conv2d(const OpInstance& op) {
  expect_one_floating_dtype("conv2d", op.inputs.first(2));
  expect_rank("conv2d", "image", op.inputs[0], 4);
  expect_rank("conv2d", "weight", op.inputs[1], 4);
  const Convolution conv = forward_of(op);
  if (op.inputs.size() >= 3) {
    expect_parameter_dtype("conv2d", "bias", op.inputs[2], op.inputs[0].dtype);
    expect_shape("conv2d", "bias", op.inputs[2], {conv.k});
  }
  with_relu("conv2d", op.attributes);
  const ValueType result{result_dtype("conv2d", op.attributes, op.inputs[0].dtype), conv.result()};
  if (op.inputs.size() == 4) {
    expect_dtype("conv2d", "addend", op.inputs[3], result.dtype);
    expect_shape("conv2d", "addend", op.inputs[3], result.shape);
  }
  return {result};
}

void reference_conv2d(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Convolution conv = forward_of(op);
  const std::vector<double> x = widen(inputs[0]), w = widen(inputs[1]);
  std::vector<double> y(static_cast<std::size_t>(outputs[0].elements()), 0.0);
  if (inputs.size() == 4) y = widen(inputs[3]);
  if (inputs.size() >= 3) {
    const std::vector<double> b = widen(inputs[2]);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i % b.size()];
  }
  conv.for_each_run([&](std::size_t x_at, std::size_t w_at, std::size_t y_at, std::size_t run) {
    double sum = 0;
    for (std::size_t c = 0; c < run; ++c) sum += x[x_at + c] * w[w_at + c];
    y[y_at] += sum;
  });
  if (with_relu("conv2d", op.attributes)) {
    for (double& v : y) v = v != v || v > 0 ? v : 0;  // as max(v, 0): NaN stays, -0 does not
  }
  store(y, outputs[0]);
}

Cost cost_forward(const OpInstance& op, std::span<const ValueType> results) {
  return {forward_of(op).flops(), bytes_moved(op, results)};
}

// ---- dx = conv2d_bwd_data(dy, w, [gate])

Convolution data_of(const OpInstance& op) {
  const Shape image = shape_attribute("conv2d_bwd_data", "input", op.attributes.integers("input"));
  if (image.rank() != 4) fail("conv2d_bwd_data", "attribute 'input' must have rank 4, not " + image.to_string());
  return convolution_of("conv2d_bwd_data", op.attributes, image, op.inputs[1].shape);
}

std::vector<ValueType> infer_conv2d_bwd_data(const OpInstance& op) {
  expect_one_floating_dtype("conv2d_bwd_data", op.inputs);
  expect_rank("conv2d_bwd_data", "dy", op.inputs[0], 4);
  expect_rank("conv2d_bwd_data", "weight", op.inputs[1], 4);
  const Convolution conv = data_of(op);
  expect_shape("conv2d_bwd_data", "dy", op.inputs[0], conv.result());
  const ValueType result{result_dtype("conv2d_bwd_data", op.attributes, op.inputs[0].dtype), conv.image()};
  if (op.inputs.size() == 3) {
    expect_dtype("conv2d_bwd_data", "gate", op.inputs[2], result.dtype);
    expect_shape("conv2d_bwd_data", "gate", op.inputs[2], result.shape);
  }
  return {result};
}

void reference_conv2d_bwd_data(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<double> dy = widen(inputs[0]), w = widen(inputs[1]);
  std::vector<double> dx(static_cast<std::size_t>(outputs[0].elements()), 0.0);
  data_of(op).for_each_run([&](std::size_t x_at, std::size_t w_at, std::size_t y_at, std::size_t run) {
    for (std::size_t c = 0; c < run; ++c) dx[x_at + c] += dy[y_at] * w[w_at + c];
  });
  if (inputs.size() == 3) {
    const std::vector<double> gate = widen(inputs[2]);
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = gate[i] <= 0 ? 0 : dx[i];  // as relu_grad: open where it is NaN
  }
  store(dx, outputs[0]);
}

Cost cost_data(const OpInstance& op, std::span<const ValueType> results) {
  return {data_of(op).flops(), bytes_moved(op, results)};
}

// ---- dw, [db] = conv2d_bwd_weights(x, dy)

Convolution weights_of(const OpInstance& op) {
  const Integers& kernel = op.attributes.integers("kernel");
  const std::int64_t groups = op.attributes.integer("groups");
  const std::int64_t channels = op.inputs[0].shape[3];
  if (kernel.size() != 2) fail("conv2d_bwd_weights", "attribute 'kernel' must be [height, width]");
  if (groups < 1 || channels % groups != 0) {
    fail("conv2d_bwd_weights", "groups=" + std::to_string(groups) + " does not divide the " + std::to_string(channels) +
                                   " channels of the image");
  }
  return convolution_of("conv2d_bwd_weights", op.attributes, op.inputs[0].shape,
                        {op.inputs[1].shape[3], kernel[0], kernel[1], channels / groups});
}

std::vector<ValueType> infer_conv2d_bwd_weights(const OpInstance& op) {
  expect_one_floating_dtype("conv2d_bwd_weights", op.inputs);
  expect_rank("conv2d_bwd_weights", "image", op.inputs[0], 4);
  expect_rank("conv2d_bwd_weights", "dy", op.inputs[1], 4);
  const Convolution conv = weights_of(op);
  expect_shape("conv2d_bwd_weights", "dy", op.inputs[1], conv.result());
  const DType dtype = result_dtype("conv2d_bwd_weights", op.attributes, op.inputs[0].dtype);
  std::vector<ValueType> results = {{dtype, conv.weight()}};
  if (op.attributes.boolean("bias")) results.push_back({dtype, Shape{conv.k}});
  return results;
}

void reference_conv2d_bwd_weights(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<double> x = widen(inputs[0]), dy = widen(inputs[1]);
  std::vector<double> dw(static_cast<std::size_t>(outputs[0].elements()), 0.0);
  weights_of(op).for_each_run([&](std::size_t x_at, std::size_t w_at, std::size_t y_at, std::size_t run) {
    for (std::size_t c = 0; c < run; ++c) dw[w_at + c] += x[x_at + c] * dy[y_at];
  });
  store(dw, outputs[0]);
  if (outputs.size() == 2) {
    std::vector<double> db(static_cast<std::size_t>(outputs[1].elements()), 0.0);
    for (std::size_t i = 0; i < dy.size(); ++i) db[i % db.size()] += dy[i];
    store(db, outputs[1]);
  }
}

Cost cost_weights(const OpInstance& op, std::span<const ValueType> results) {
  return {weights_of(op).flops(), bytes_moved(op, results)};
}

}  // namespace

std::vector<OpDef> conv2d_ops() {
  OpDef forward;
  forward.name = "conv2d";
  forward.formula =
      "y[n,h,w,k] = b[k] [+ addend[n,h,w,k]] + sum over r,s,c of x[n, h*stride + r*dilation - top, w*stride + "
      "s*dilation - left, c] * w[k,r,s,c], then the activation; x [N,H,W,C], w [K,R,S,C/groups], zeros outside the "
      "image. b may be f32 if x is bf16 or f16";
  forward.operands = {"x", "w", "b", "addend"};
  forward.min_operands = 2;
  forward.max_operands = 4;
  forward.results = {"y"};
  forward.attributes =
      attributes_and({optional("activation", std::string("none"), "none or relu, applied to y"), f32_results()});
  forward.infer = infer_conv2d;
  forward.reference = reference_conv2d;
  forward.cost = cost_forward;

  OpDef data;
  data.name = "conv2d_bwd_data";
  data.formula = "dx = the gradient of conv2d with respect to x; with an operand gate, 0 where gate <= 0";
  data.operands = {"dy", "w", "gate"};
  data.min_operands = 2;
  data.max_operands = 3;
  data.results = {"dx"};
  data.attributes =
      attributes_and({required("input", Integers{1, 224, 224, 3}, "shape of the image, [N,H,W,C]"), f32_results()});
  data.infer = infer_conv2d_bwd_data;
  data.reference = reference_conv2d_bwd_data;
  data.cost = cost_data;

  OpDef weights;
  weights.name = "conv2d_bwd_weights";
  weights.formula =
      "dw [K,R,S,C/groups] = the gradient of conv2d with respect to w; with bias=true also db[k] = sum of dy over "
      "n,h,w";
  weights.operands = {"x", "dy"};
  weights.min_operands = weights.max_operands = 2;
  weights.results = {"dw", "db"};
  weights.attributes = attributes_and({required("kernel", Integers{3, 3}, "height and width of the kernel"),
                                       optional("bias", false, "whether db is a second result"), f32_results()});
  weights.infer = infer_conv2d_bwd_weights;
  weights.reference = reference_conv2d_bwd_weights;
  weights.cost = cost_weights;
  return {forward, data, weights};
}

}  // namespace ridgeline
