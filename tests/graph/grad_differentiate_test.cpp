// The ops that differentiation adds to a graph, and those that it omits.
#include "ridgeline/graph/grad/differentiate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

int count_ops(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op == op; }));
}

ValueType f64(Shape shape) { return {DType::f64, std::move(shape)}; }

// conv - relu - pool - conv - relu - flatten - dense - cross-entropy, with weight decay: a small AlexNet.
struct Network {
  Graph graph;
  ValueId loss = kNoValue;
  std::vector<ValueId> parameters;
  Arguments arguments;
};

Tensor values_for(const ValueType& type, double phase) {
  Tensor tensor(type.dtype, type.shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double v =
        type.dtype == DType::i32 ? static_cast<double>(i % 3) : 0.7 * std::sin(phase + 1.7 * static_cast<double>(i));
    tensor.set(i, v);
  }
  return tensor;
}

Network small_network() {
  Network net;
  GraphBuilder b("small");
  const Value image = b.input("image", f64({2, 8, 8, 3}));
  const Value labels = b.input("labels", {DType::i32, {2}});
  const auto param = [&](const char* name, Shape shape) {
    const Value p = b.param(name, f64(std::move(shape)));
    net.parameters.push_back(p.id());
    return p;
  };
  const Value w1 = param("w1", {4, 3, 3, 3}), b1 = param("b1", {4});
  const Value w2 = param("w2", {6, 3, 3, 2}), b2 = param("b2", {6});
  const Value w3 = param("w3", {3, 24}), b3 = param("b3", {3});
  Value x = b.apply("relu", {b.apply("conv2d", {image, w1, b1}, {{"pad", Integers{1, 1, 1, 1}}})});
  x = b.apply("lrn", {x}, {{"alpha", 0.5}});
  x = b.apply("max_pool", {x}, {{"kernel", Integers{3, 3}}, {"stride", Integers{2, 2}}, {"pad", Integers{0, 1, 0, 1}}});
  x = b.apply("conv2d", {x, w2, b2}, {{"groups", std::int64_t{2}}, {"activation", std::string("relu")}});
  x = b.apply("flatten", {x}, {{"order", std::string("chw")}});
  const Value logits = b.apply("dense", {x, w3, b3});
  const Value cross =
      b.apply("reduce_mean", {b.apply("softmax_cross_entropy", {logits, labels}, {{"label_smoothing", 0.1}})});
  const Value decay = b.apply("l2_penalty", {w1, b1, w2, b2, w3, b3}, {{"factor", 0.01}});
  const Value loss = cross + decay;
  b.returns("loss", loss);
  net.loss = loss.id();
  net.graph = b.finish();
  double phase = 0;
  for (ValueId id : net.graph.arguments) {
    net.arguments[net.graph.value(id).name] = values_for(net.graph.value(id).type, phase += 0.37);
  }
  return net;
}

TEST(Differentiate, AWholeNetworkAgreesWithFiniteDifferences) {
  const Network net = small_network();
  Graph extended = net.graph;
  const std::vector<ValueId> gradients = differentiate(extended, net.loss, net.parameters);
  verify(extended);
  const std::vector<Tensor> values = evaluate(extended, net.arguments);
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    const std::string& name = net.graph.value(net.parameters[p]).name;
    const Tensor& gradient = values.at(static_cast<std::size_t>(gradients[p]));
    const std::int64_t stride = std::max<std::int64_t>(1, gradient.elements() / 12);
    for (std::int64_t i = 0; i < gradient.elements(); i += stride) {
      constexpr double kStep = 1e-6;
      Arguments moved = net.arguments;
      moved[name] = net.arguments.at(name).clone();
      const double centre = moved[name].at(i);
      moved[name].set(i, centre + kStep);
      const double above = evaluate_returns(net.graph, moved)[0].at(0);
      moved[name].set(i, centre - kStep);
      const double below = evaluate_returns(net.graph, moved)[0].at(0);
      EXPECT_NEAR(gradient.at(i), (above - below) / (2 * kStep), 1e-7) << name << " element " << i;
    }
  }
}

TEST(Differentiate, ComputesNoGradientThatNobodyNeeds) {
  const Network net = small_network();
  Graph all = net.graph;
  differentiate(all, net.loss, net.parameters);
  EXPECT_EQ(count_ops(all, "conv2d_bwd_data"), 1) << "the first convolution's image needs no gradient";
  EXPECT_EQ(count_ops(all, "conv2d_bwd_weights"), 2);

  Graph last = net.graph;
  const std::vector<ValueId> only = {net.parameters[4]};  // w3
  differentiate(last, net.loss, only);
  EXPECT_EQ(count_ops(last, "conv2d_bwd_data"), 0);
  EXPECT_EQ(count_ops(last, "conv2d_bwd_weights"), 0);
  EXPECT_EQ(count_ops(last, "dense_bwd_data"), 0);
  EXPECT_EQ(count_ops(last, "dense_bwd_weights"), 1);
}

TEST(Differentiate, BiasGradientsComeWithTheWeightGradients) {
  const Network net = small_network();
  Graph graph = net.graph;
  differentiate(graph, net.loss, net.parameters);
  for (const Node& node : graph.nodes) {
    if (node.op != "conv2d_bwd_weights" && node.op != "dense_bwd_weights") continue;
    EXPECT_EQ(node.outputs.size(), 2u) << node.name;
  }
  EXPECT_EQ(count_ops(graph, "reduce_sum"), 0);
}

TEST(Differentiate, NamesKindsAndLocationsFollowTheForwardOp) {
  const Network net = small_network();
  Graph graph = net.graph;
  const std::size_t forward = graph.nodes.size();
  differentiate(graph, net.loss, net.parameters);
  std::set<std::string> names;
  for (const Node& node : graph.nodes) EXPECT_TRUE(names.insert(node.name).second) << node.name;
  for (std::size_t i = forward; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    EXPECT_NE(node.name.find("/grad"), std::string::npos) << node.name;
    for (ValueId id : node.outputs) EXPECT_EQ(graph.value(id).kind, ValueKind::grad);
    const std::string origin = node.name.substr(0, node.name.find("/grad"));
    const auto source =
        std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.name == origin; });
    if (source != graph.nodes.end()) {
      EXPECT_EQ(node.where, source->where) << node.name;
    } else {
      EXPECT_NE(graph.find_argument(origin), kNoValue) << node.name;  // a sum of gradients at an argument
    }
  }
}

TEST(Differentiate, IsAFunctionOfTheGraph) {
  const Network net = small_network();
  Graph first = net.graph, second = net.graph;
  EXPECT_EQ(differentiate(first, net.loss, net.parameters), differentiate(second, net.loss, net.parameters));
  ASSERT_EQ(first.nodes.size(), second.nodes.size());
  for (std::size_t i = 0; i < first.nodes.size(); ++i) {
    EXPECT_EQ(first.nodes[i].name, second.nodes[i].name);
    EXPECT_EQ(first.nodes[i].inputs, second.nodes[i].inputs);
  }
}

TEST(Differentiate, AnOperandUsedTwiceGetsBothContributions) {
  GraphBuilder b("square");
  const Value x = b.input("x", f64({}));
  const Value loss = x * x * x + x;
  const ValueId id = loss.id();
  Graph graph = b.finish();
  const std::vector<ValueId> wanted = {x.id()};
  const ValueId gradient = differentiate(graph, id, wanted)[0];
  const Tensor value = evaluate(graph, {{"x", Tensor::scalar(2.0)}}).at(static_cast<std::size_t>(gradient));
  EXPECT_DOUBLE_EQ(value.at(0), 13);
}

TEST(Differentiate, ValuesWithoutInfluenceHaveNoGradient) {
  GraphBuilder b("partial");
  const Value x = b.param("x", f64({3})), unused = b.param("unused", f64({3})), flat = b.param("flat", f64({3}));
  const Value loss = b.apply("reduce_sum", {x * b.apply("floor", {flat})});
  const ValueId id = loss.id();
  Graph graph = b.finish();
  const std::vector<ValueId> wanted = {x.id(), unused.id(), flat.id()};
  const std::vector<ValueId> gradients = differentiate(graph, id, wanted);
  EXPECT_NE(gradients[0], kNoValue);
  EXPECT_EQ(gradients[1], kNoValue);
  EXPECT_EQ(gradients[2], kNoValue);
}

TEST(Differentiate, GradientsOfIntermediateValuesAndOfTheLossItself) {
  GraphBuilder b("chain");
  const Value x = b.input("x", f64({}));
  const Value y = b.apply("scale", {x}, {{"factor", 3.0}});
  const Value loss = y * y;
  const std::vector<ValueId> wanted = {y.id(), loss.id(), x.id()};
  const ValueId id = loss.id();
  Graph graph = b.finish();
  const std::vector<ValueId> gradients = differentiate(graph, id, wanted);
  const std::vector<Tensor> values = evaluate(graph, {{"x", Tensor::scalar(2.0)}});
  const auto at = [&](std::size_t i) { return values.at(static_cast<std::size_t>(gradients[i])).at(0); };
  EXPECT_DOUBLE_EQ(at(0), 12);
  EXPECT_DOUBLE_EQ(at(1), 1);
  EXPECT_DOUBLE_EQ(at(2), 36);
}

TEST(Differentiate, TwiceGivesSecondDerivativesOfPointwiseOps) {
  GraphBuilder b("twice");
  const Value x = b.input("x", f64({}));
  const Value loss = b.apply("exp", {b.apply("scale", {x}, {{"factor", 2.0}})});
  const ValueId id = loss.id();
  const std::vector<ValueId> wanted = {x.id()};
  Graph graph = b.finish();
  const ValueId first = differentiate(graph, id, wanted)[0];
  const ValueId second = differentiate(graph, first, wanted)[0];
  verify(graph);
  const std::vector<Tensor> values = evaluate(graph, {{"x", Tensor::scalar(0.25)}});
  EXPECT_NEAR(values.at(static_cast<std::size_t>(second)).at(0), 4 * std::exp(0.5), 1e-12);
}

std::string message_of(Graph graph, ValueId loss, ValueId by) {
  try {
    const std::vector<ValueId> wanted = {by};
    differentiate(graph, loss, wanted);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Differentiate, RefusesWhatItCannotDo) {
  GraphBuilder b("refusals");
  const Value x = b.param("x", f32({2}));
  const Value group = b.apply_all("loop", std::vector<Value>{x}, {{"expression", std::string("x0 * x0")}}, {}).front();
  const Value loss = b.apply_all("reduce_sum", std::vector<Value>{group}, {}, {}).front();
  const ValueId x_id = x.id(), group_id = group.id(), loss_id = loss.id();
  const Graph graph = b.finish();
  EXPECT_EQ(message_of(graph, loss_id, x_id), "[loop] \"loop\" cannot be differentiated: differentiate before fusing");
  EXPECT_EQ(message_of(graph, group_id, x_id), "only a floating scalar has gradients, the loss is f32[2]");

  const Graph caller = trace("caller", {f32({})}, [](Value v) { return call("f", [](Value a) { return a * a; }, v); });
  EXPECT_NE(message_of(caller, caller.returns[0].value, caller.arguments[0])
                .find("cannot be differentiated: inline the graph first"),
            std::string::npos);
}

TEST(Differentiate, DropoutDrawsTheSameMaskBackward) {
  GraphBuilder b("drop");
  const Value x = b.input("x", f64({64}));
  const Value step = b.input("step", {DType::i64, {}});
  const Value y = b.apply("dropout", {x, step}, {{"keep_prob", 0.5}, {"key", std::int64_t{99}}});
  const Value loss = b.apply("reduce_sum", {y});
  b.returns("y", y);
  const ValueId id = loss.id();
  const std::vector<ValueId> wanted = {x.id(), step.id()};
  Graph graph = b.finish();
  const std::vector<ValueId> gradients = differentiate(graph, id, wanted);
  EXPECT_EQ(gradients[1], kNoValue);
  const std::vector<Tensor> values = evaluate(
      graph, {{"x", Tensor::of(std::vector<double>(64, 1.0), {64})}, {"step", Tensor::scalar<std::int64_t>(5)}});
  const Tensor& dx = values.at(static_cast<std::size_t>(gradients[0]));
  const Tensor& forward = values.at(static_cast<std::size_t>(y.id()));
  int kept = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(dx.at(i), forward.at(i));
    kept += dx.at(i) != 0;
  }
  EXPECT_GT(kept, 10);
  EXPECT_LT(kept, 54);
}

}  // namespace
}  // namespace ridgeline
