// Gradients of the structured layers: their own backward ops.
#include "ridgeline/core/error.h"
#include "ridgeline/graph/grad/builders.h"

namespace ridgeline {
namespace {

using Ids = std::vector<ValueId>;

Attributes only(const Attributes& from, std::initializer_list<std::string_view> names) {
  Attributes kept;
  for (std::string_view name : names) kept.set(std::string(name), *from.find(name));
  return kept;
}

// Through the activation that the op applies to its result.
ValueId through_activation(GradientScope& s, const ForwardOp& op) {
  const std::string& activation = op.node.attributes.string("activation");
  if (activation == "none") return op.dy();
  RIDGELINE_CHECK(activation == "relu" || activation == "relu6", "unknown activation");
  return s.apply(activation + "_grad", {op.y(), op.dy()});
}

ValueId as(GradientScope& s, ValueId id, DType dtype) {
  return s.type(id).dtype == dtype ? id : s.apply("cast", {id}, {{"to", dtype}});
}

// Gradients by x, w, bias and addend. The bias gradient is a second result of the weight gradient, which reads dy
// anyway.
template <class Data, class Weights>
Ids linear(GradientScope& s, const ForwardOp& op, ValueId dy, std::vector<std::int64_t> bias_axes, Data&& data,
           Weights&& weights) {
  Ids results(op.node.inputs.size(), kNoValue);
  const bool bias = results.size() >= 3 && op.wanted[2];
  const DType data_dtype = s.type(op.x(0)).dtype;
  if (results.size() == 4) results[3] = dy;
  const bool wide_bias = bias && s.type(op.x(2)).dtype != data_dtype;
  dy = as(s, dy, wide_bias && !op.wanted[1] ? s.type(op.x(2)).dtype : data_dtype);  // it may be f32 beside bf16 or f16
  if (op.wanted[1]) {
    const Ids both = weights(dy, bias, wide_bias);
    results[1] = as(s, both[0], data_dtype);
    if (bias) results[2] = both[1];
  } else if (bias) {
    results[2] = s.apply("reduce_sum", {dy}, {{"axes", std::move(bias_axes)}});
  }
  if (op.wanted[0]) results[0] = data(as(s, dy, data_dtype));
  return results;
}

Ids conv2d(GradientScope& s, const ForwardOp& op) {
  const Attributes window = only(op.node.attributes, {"stride", "pad", "dilation", "groups"});
  return linear(
      s, op, through_activation(s, op), {0, 1, 2},
      [&](ValueId dy) {
        Attributes attributes = window;
        attributes.set("input", s.shape(op.x(0)).dims());
        return s.apply("conv2d_bwd_data", {dy, op.x(1)}, attributes);
      },
      [&](ValueId dy, bool bias, bool f32_results) {
        Attributes attributes = window;
        attributes.set("f32_results", f32_results);
        const Shape w = s.shape(op.x(1));
        attributes.set("kernel", std::vector<std::int64_t>{w[1], w[2]});
        attributes.set("bias", bias);
        return s.apply_all("conv2d_bwd_weights", {op.x(0), dy}, attributes);
      });
}

// dx = conv2d_bwd_data(dy, w) is linear in both: a transposed convolution, whose gradients are the convolution and the
// gradient of its weights.
Ids conv2d_bwd_data(GradientScope& s, const ForwardOp& op) {
  if (op.node.inputs.size() == 3) {
    throw Error("[conv2d_bwd_data] \"" + op.node.name + "\": gradients of gradients are not defined through a gate");
  }
  Attributes attributes = only(op.node.attributes, {"stride", "pad", "dilation", "groups"});
  const ValueId dx = as(s, op.dy(), s.type(op.x(0)).dtype);
  Ids results(2, kNoValue);
  if (op.wanted[0]) results[0] = s.apply("conv2d", {dx, op.x(1)}, attributes);
  if (op.wanted[1]) {
    const Shape w = s.shape(op.x(1));
    attributes.set("kernel", std::vector<std::int64_t>{w[1], w[2]});
    results[1] = s.apply("conv2d_bwd_weights", {dx, op.x(0)}, attributes);
  }
  return results;
}

Ids dense(GradientScope& s, const ForwardOp& op) {
  return linear(
      s, op, through_activation(s, op), {0}, [&](ValueId dy) { return s.apply("dense_bwd_data", {dy, op.x(1)}); },
      [&](ValueId dy, bool bias, bool f32_results) {
        return s.apply_all("dense_bwd_weights", {op.x(0), dy}, {{"bias", bias}, {"f32_results", f32_results}});
      });
}

Attributes with_input(const GradientScope& s, const ForwardOp& op) {
  Attributes attributes = op.node.attributes;
  attributes.set("input", s.shape(op.x(0)).dims());
  return attributes;
}

Ids max_pool(GradientScope& s, const ForwardOp& op) {
  return {s.apply("max_pool_bwd", {op.dy(), op.y(1)}, with_input(s, op))};
}

Ids avg_pool(GradientScope& s, const ForwardOp& op) { return {s.apply("avg_pool_bwd", {op.dy()}, with_input(s, op))}; }

Ids lrn(GradientScope& s, const ForwardOp& op) { return {s.apply("lrn_bwd", {op.x(0), op.dy()}, op.node.attributes)}; }

Ids batch_norm_train(GradientScope& s, const ForwardOp& op) {
  for (std::size_t i = 1; i < op.gradients.size(); ++i) {
    if (op.has_dy(i)) {
      throw Error("[batch_norm_train] \"" + op.node.name +
                  "\": no gradient is defined through the statistics, only through y");
    }
  }
  const ValueId dy = through_activation(s, op);
  const Ids all = s.apply_all("batch_norm_bwd", {op.x(0), dy, op.x(1), op.y(1), op.y(2)});
  Ids results = {all[0], all[1], all[2], kNoValue, kNoValue};
  if (op.node.inputs.size() == 6) results.push_back(dy);  // of the addend
  return results;
}

// y = (x - mean) * inv_std * gamma + beta with fixed statistics, inv_std = 1 / sqrt(var + epsilon).
Ids batch_norm_eval(GradientScope& s, const ForwardOp& op) {
  const Shape channels = s.shape(op.x(1));
  const DType dtype = s.type(op.x(1)).dtype;  // x may be narrower
  const ValueId epsilon = s.constant(op.node.attributes.real("epsilon"), dtype);
  const ValueId std = op.node.attributes.boolean("var_is_inv_std")
                          ? s.apply("div", {s.constant(1, dtype), op.x(4)})
                          : s.apply("sqrt", {s.apply("add", {op.x(4), epsilon})});
  const ValueId passed = through_activation(s, op);
  const ValueId dy = as(s, passed, dtype);
  Ids results(5, kNoValue);
  if (op.node.inputs.size() == 6) results.push_back(passed);  // of the addend
  if (op.wanted[0]) {
    results[0] = as(s, s.apply("mul", {dy, s.apply("div", {op.x(1), std})}), s.type(op.x(0)).dtype);
  }
  if (op.wanted[1]) {
    const ValueId normalised = s.apply("div", {s.apply("sub", {as(s, op.x(0), dtype), op.x(3)}), std});
    results[1] = s.unbroadcast(s.apply("mul", {dy, normalised}), channels);
  }
  if (op.wanted[2]) results[2] = s.unbroadcast(dy, channels);
  return results;
}

// layer_norm and group_norm.
Ids sample_norm(GradientScope& s, const ForwardOp& op) {
  if (op.has_dy(1) || op.has_dy(2)) {
    throw Error("[" + op.node.op + "] \"" + op.node.name +
                "\": no gradient is defined through the statistics, only through y");
  }
  Attributes attributes;
  if (const Attribute* groups = op.node.attributes.find("groups")) attributes.set("groups", *groups);
  return s.apply_all(op.node.op + "_bwd", {op.x(0), op.dy(), op.x(1), op.y(1), op.y(2)}, attributes);
}

}  // namespace

std::vector<GradientRule> layer_gradients() {
  return {
      {"conv2d", conv2d},
      {"conv2d_bwd_data", conv2d_bwd_data},
      {"dense", dense},
      {"max_pool", max_pool},
      {"avg_pool", avg_pool},
      {"lrn", lrn},
      {"layer_norm", sample_norm},
      {"group_norm", sample_norm},
      // Running statistics enter no y in training and are fixed numbers in evaluation.
      {"batch_norm_train", batch_norm_train, {true, true, true, false, false, true}},
      {"batch_norm_eval", batch_norm_eval, {true, true, true, false, false, true}},
  };
}

}  // namespace ridgeline
