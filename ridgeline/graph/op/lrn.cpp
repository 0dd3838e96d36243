#include "ridgeline/graph/op/lrn.h"

#include <algorithm>

#include "ridgeline/core/math.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

struct Normalisation {
  std::int64_t half;  // channels on either side
  double scale;       // alpha / size
  double beta;
  double bias;
};

Normalisation normalisation_of(std::string_view op, const Attributes& attributes) {
  const std::int64_t size = attributes.integer("size");
  if (size < 1 || size % 2 == 0) {
    fail(op, "size=" + std::to_string(size) + " must be odd and positive: the window is centred on its channel");
  }
  return {size / 2, attributes.real("alpha") / static_cast<double>(size), attributes.real("beta"),
          attributes.real("bias")};
}

double power(double base, double exponent) { return portable_exp(exponent * portable_log(base)); }

// sum over the window around each channel of one pixel's `values`.
void window_sums(const double* values, std::int64_t channels, std::int64_t half, double* sums) {
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t d = std::max<std::int64_t>(c - half, 0); d <= std::min(c + half, channels - 1); ++d)
      sum += values[d];
    sums[c] = sum;
  }
}

std::vector<ValueType> infer_same(std::string_view op, const OpInstance& instance) {
  expect_one_floating_dtype(op, instance.inputs);
  if (instance.inputs[0].shape.rank() < 1) fail(op, "x has no channel axis");
  for (const ValueType& type : instance.inputs) expect_shape(op, "dy", type, instance.inputs[0].shape);
  normalisation_of(op, instance.attributes);
  return {instance.inputs[0]};
}

void reference_lrn(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Normalisation norm = normalisation_of("lrn", op.attributes);
  const auto channels = static_cast<std::size_t>(op.inputs[0].shape[-1]);
  const std::vector<double> x = widen(inputs[0]);
  std::vector<double> y(x.size()), squares(channels), sums(channels);
  for (std::size_t at = 0; at < x.size(); at += channels) {
    for (std::size_t c = 0; c < channels; ++c) squares[c] = x[at + c] * x[at + c];
    window_sums(squares.data(), static_cast<std::int64_t>(channels), norm.half, sums.data());
    for (std::size_t c = 0; c < channels; ++c) {
      y[at + c] = x[at + c] * power(norm.bias + norm.scale * sums[c], -norm.beta);
    }
  }
  store(y, outputs[0]);
}

// dx[c] = dy[c] * s[c]^-beta - 2*scale*beta * x[c] * sum over d around c of dy[d] * x[d] * s[d]^(-beta-1).
void reference_lrn_bwd(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Normalisation norm = normalisation_of("lrn_bwd", op.attributes);
  const auto channels = static_cast<std::size_t>(op.inputs[0].shape[-1]);
  const std::vector<double> x = widen(inputs[0]), dy = widen(inputs[1]);
  std::vector<double> dx(x.size()), squares(channels), s(channels), products(channels), sums(channels);
  for (std::size_t at = 0; at < x.size(); at += channels) {
    for (std::size_t c = 0; c < channels; ++c) squares[c] = x[at + c] * x[at + c];
    window_sums(squares.data(), static_cast<std::int64_t>(channels), norm.half, s.data());
    for (std::size_t c = 0; c < channels; ++c) {
      s[c] = norm.bias + norm.scale * s[c];
      products[c] = dy[at + c] * x[at + c] * power(s[c], -norm.beta - 1);
    }
    window_sums(products.data(), static_cast<std::int64_t>(channels), norm.half, sums.data());
    for (std::size_t c = 0; c < channels; ++c) {
      dx[at + c] = dy[at + c] * power(s[c], -norm.beta) - 2 * norm.scale * norm.beta * x[at + c] * sums[c];
    }
  }
  store(dx, outputs[0]);
}

// The window sums, a power and a product for each element.
Cost cost_of_lrn(const OpInstance& op, std::span<const ValueType> results) {
  const double sums = op.inputs.size() == 2 ? 2 : 1;
  const double each = sums * (static_cast<double>(op.attributes.integer("size")) + 4);
  return {each * static_cast<double>(results[0].shape.elements()), bytes_moved(op, results)};
}

std::vector<AttributeSpec> lrn_attributes() {
  return {optional("size", std::int64_t{5}, "channels in the window, odd"),
          optional("alpha", 1e-4, "weight of the mean square"), optional("beta", 0.75, "exponent"),
          optional("bias", 1.0, "added to the weighted mean square")};
}

}  // namespace

std::vector<OpDef> lrn_ops() {
  OpDef forward;
  forward.name = "lrn";
  forward.formula =
      "y[c] = x[c] / (bias + alpha/size * sum of x[d]^2 over the size channels d centred at c)^beta; x [...,C]";
  forward.operands = {"x"};
  forward.min_operands = forward.max_operands = 1;
  forward.results = {"y"};
  forward.attributes = lrn_attributes();
  forward.infer = [](const OpInstance& op) { return infer_same("lrn", op); };
  forward.reference = reference_lrn;
  forward.cost = cost_of_lrn;

  OpDef backward;
  backward.name = "lrn_bwd";
  backward.formula =
      "dx[c] = dy[c] * s[c]^-beta - 2*alpha/size*beta * x[c] * sum over d around c of dy[d] * x[d] * s[d]^(-beta-1), "
      "s[c] = bias + alpha/size * sum of x[d]^2 around c";
  backward.operands = {"x", "dy"};
  backward.min_operands = backward.max_operands = 2;
  backward.results = {"dx"};
  backward.attributes = lrn_attributes();
  backward.infer = [](const OpInstance& op) { return infer_same("lrn_bwd", op); };
  backward.reference = reference_lrn_bwd;
  backward.cost = cost_of_lrn;
  return {forward, backward};
}

}  // namespace ridgeline
