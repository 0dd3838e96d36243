// Gradients of reductions and of ops that move elements.
#include <algorithm>

#include "ridgeline/graph/grad/builders.h"
#include "ridgeline/graph/op/reduce.h"

namespace ridgeline {
namespace {

using Ids = std::vector<ValueId>;
using Integers = std::vector<std::int64_t>;

// `value` of the reduced shape, with the reduced axes back as extent 1.
ValueId with_reduced_axes(GradientScope& s, const ForwardOp& op, ValueId value) {
  const Shape kept = reduced_shape(s.shape(op.x(0)), op.node.attributes.integers("axes"), true);
  return s.shape(value) == kept ? value : s.apply("reshape", {value}, {{"shape", kept.dims()}});
}

ValueId spread(GradientScope& s, const ForwardOp& op, ValueId value) {
  return s.apply("broadcast_to", {with_reduced_axes(s, op, value)}, {{"shape", s.shape(op.x(0)).dims()}});
}

Ids reduce_sum(GradientScope& s, const ForwardOp& op) { return {spread(s, op, op.dy())}; }

Ids reduce_mean(GradientScope& s, const ForwardOp& op) {
  const double share =
      static_cast<double>(s.shape(op.y()).elements()) / static_cast<double>(s.shape(op.x(0)).elements());
  return {spread(s, op, s.apply("scale", {op.dy()}, {{"factor", share}}))};
}

// Equal maxima share the gradient.
Ids reduce_max(GradientScope& s, const ForwardOp& op) {
  const DType dtype = s.type(op.dy()).dtype;
  const ValueId at_maximum = s.apply("equal", {op.x(0), with_reduced_axes(s, op, op.y())});
  const ValueId count = s.apply("reduce_sum", {s.apply("cast", {at_maximum}, {{"to", dtype}})}, op.node.attributes);
  const ValueId share = with_reduced_axes(s, op, s.apply("div", {op.dy(), count}));
  return {s.apply("select", {at_maximum, share, s.constant(0.0, dtype)})};
}

Ids reshape(GradientScope& s, const ForwardOp& op) {
  return {s.apply("reshape", {op.dy()}, {{"shape", s.shape(op.x(0)).dims()}})};
}

Ids flatten(GradientScope& s, const ForwardOp& op) {
  return {s.apply("unflatten", {op.dy()},
                  {{"order", op.node.attributes.string("order")}, {"shape", s.shape(op.x(0)).dims()}})};
}

Ids unflatten(GradientScope& s, const ForwardOp& op) {
  return {s.apply("flatten", {op.dy()}, {{"order", op.node.attributes.string("order")}})};
}

Ids transpose(GradientScope& s, const ForwardOp& op) {
  const Integers& permutation = op.node.attributes.integers("permutation");
  Integers inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  }
  return {s.apply("transpose", {op.dy()}, {{"permutation", std::move(inverse)}})};
}

Ids broadcast_to(GradientScope& s, const ForwardOp& op) { return {s.unbroadcast(op.dy(), s.shape(op.x(0)))}; }

// An added border is cropped, a cropped one gets zeros.
Ids pad(GradientScope& s, const ForwardOp& op) {
  Integers low = op.node.attributes.integers("low");
  Integers high = op.node.attributes.integers("high");
  for (std::int64_t& v : low) v = -v;
  for (std::int64_t& v : high) v = -v;
  return {s.apply("pad", {op.dy()}, {{"low", std::move(low)}, {"high", std::move(high)}})};
}

Ids strided_slice(GradientScope& s, const ForwardOp& op) {
  return {s.apply("strided_slice_bwd", {op.dy()},
                  {{"start", op.node.attributes.integers("start")},
                   {"stride", op.node.attributes.integers("stride")},
                   {"input", s.shape(op.x(0)).dims()}})};
}

Ids strided_slice_bwd(GradientScope& s, const ForwardOp& op) {
  return {s.apply("strided_slice", {op.dy()},
                  {{"start", op.node.attributes.integers("start")},
                   {"stride", op.node.attributes.integers("stride")},
                   {"size", s.shape(op.x(0)).dims()}})};
}

Ids concat(GradientScope& s, const ForwardOp& op) {
  const int rank = s.shape(op.y()).rank();
  std::int64_t axis = op.node.attributes.integer("axis");
  if (axis < 0) axis += rank;
  Ids results(op.node.inputs.size(), kNoValue);
  Integers sizes;
  for (std::size_t i = 0; i < results.size(); ++i) sizes.push_back(s.shape(op.x(i))[static_cast<int>(axis)]);
  const bool cut = std::all_of(op.wanted.begin(), op.wanted.end(), [](bool wanted) { return wanted; }) &&
                   std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size > 0; });
  if (cut) return s.apply_all("split", {op.dy()}, {{"axis", axis}, {"sizes", sizes}});
  Integers start(static_cast<std::size_t>(rank), 0);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (op.wanted[i]) {
      results[i] = s.apply("strided_slice", {op.dy()},
                           {{"start", start},
                            {"stride", Integers(static_cast<std::size_t>(rank), 1)},
                            {"size", s.shape(op.x(i)).dims()}});
    }
    start[static_cast<std::size_t>(axis)] += sizes[i];
  }
  return results;
}

// Parts that the loss does not depend on are zeros.
Ids split(GradientScope& s, const ForwardOp& op) {
  Ids parts;
  for (std::size_t i = 0; i < op.node.outputs.size(); ++i) {
    const ValueType type = s.type(op.y(i));
    parts.push_back(op.has_dy(i)
                        ? op.dy(i)
                        : s.apply("broadcast_to", {s.constant(0.0, type.dtype)}, {{"shape", type.shape.dims()}}));
  }
  return {s.apply("concat", std::move(parts), {{"axis", op.node.attributes.integer("axis")}})};
}

}  // namespace

std::vector<GradientRule> shape_gradients() {
  return {{"reduce_sum", reduce_sum},
          {"reduce_mean", reduce_mean},
          {"reduce_max", reduce_max},
          {"reshape", reshape},
          {"flatten", flatten},
          {"unflatten", unflatten},
          {"transpose", transpose},
          {"broadcast_to", broadcast_to},
          {"pad", pad},
          {"concat", concat},
          {"split", split},
          {"strided_slice", strided_slice},
          {"strided_slice_bwd", strided_slice_bwd}};
}

}  // namespace ridgeline
