#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/ir/builder.h"
#include "tests/compile/random_graph.h"

namespace ridgeline::testing {

RandomPointwise random_pointwise(std::uint64_t seed) {
  SampleRandom random(philox_key(seed, "pointwise"), 0, 0);
  const auto below = [&](std::int64_t n) { return random.integer(0, n - 1); };
  GraphBuilder b("pointwise");
  const std::int64_t rows = 1 + below(40), channels = 1 + below(70);
  const Shape full{rows, channels};
  std::vector<Value> values{b.input("x", {DType::f32, full}), b.input("y", {DType::f32, full}),
                            b.input("channel", {DType::f32, {channels}}), b.input("scalar", {DType::f32, {}})};
  const auto any = [&] { return values[static_cast<std::size_t>(below(std::ssize(values)))]; };
  // Limits values to [-8, 8], so that chains of any length do not overflow.
  const auto tamed = [&](Value v) {
    return b.apply("maximum", {b.apply("minimum", {v, b.constant(8)}), b.constant(-8)});
  };
  const std::int64_t ops = 2 + below(14);
  for (std::int64_t i = 0; i < ops; ++i) {
    const Value v = any(), w = any();
    switch (below(14)) {
      case 0: values.push_back(tamed(v + w)); break;
      case 1: values.push_back(tamed(v - w)); break;
      case 2: values.push_back(tamed(v * w)); break;
      case 3: values.push_back(tamed(v / (b.apply("abs", {w}) + 0.5))); break;
      case 4: values.push_back(b.apply("exp", {b.apply("minimum", {v, b.constant(2)})})); break;
      case 5: values.push_back(b.apply("log", {b.apply("abs", {v}) + 0.25})); break;
      case 6: values.push_back(b.apply("sqrt", {b.apply("abs", {v})})); break;
      case 7: values.push_back(b.apply("relu", {v})); break;
      case 8: values.push_back(b.apply("sin", {v})); break;
      case 9: values.push_back(b.apply("cos", {v})); break;
      case 10: values.push_back(b.apply("floor", {v})); break;
      case 11: values.push_back(b.apply("select", {b.apply("less", {v, w}), v, w})); break;
      case 12: values.push_back(b.apply("neg", {v})); break;
      default: values.push_back(b.apply("scale", {v}, {{"factor", random.uniform(-1, 1)}}));
    }
  }
  // The last one is always returned; some others keep fused values alive.
  for (std::size_t i = 4; i < values.size(); ++i) {
    if (i + 1 == values.size() || below(4) == 0) b.returns("r" + std::to_string(i), values[i]);
  }
  RandomPointwise result{b.finish(), {}};
  for (ValueId id : result.graph.arguments) {
    const ValueInfo& info = result.graph.value(id);
    Tensor t(info.type.dtype, info.type.shape);
    for (float& value : t.span<float>()) value = static_cast<float>(random.normal() * 2);
    result.arguments[info.name] = t;
  }
  return result;
}

}  // namespace ridgeline::testing
