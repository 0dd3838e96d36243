#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/graph/pass/fuse_pointwise.h"

namespace ridgeline {
namespace {

Tensor random_tensor(const ValueType& type, std::mt19937& random) {
  Tensor t(type.dtype, type.shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    t.set(i, type.dtype == DType::f32 ? (static_cast<double>(random()) * 0x1p-32 - 0.4) * 3
                                      : static_cast<double>(random() % 2));
  }
  return t;
}

// A graph of pointwise ops over [6,10] with scalars, vectors, bools, dropout, sums and an update.
Graph random_graph(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return random() % n; };
  GraphBuilder b("random");
  const Shape shape{6, 10};
  std::vector<Value> values = {b.input("x", {DType::f32, shape}), b.input("y", {DType::f32, shape}),
                               b.param("w", {DType::f32, shape})};
  const std::vector<Value> odd = {b.input("row", {DType::f32, {10}}), b.input("s", {DType::f32, {}}),
                                  b.input("column", {DType::f32, {6, 1}}), b.constant(0.25)};
  const Value mask = b.input("mask", {DType::u8, shape});
  const Value step = b.state("step", {DType::i64, {}});
  const Value w = values[2];
  const Value m = b.state("m", {DType::f32, shape});
  const auto any = [&] { return values[below(values.size())]; };
  const char* const unary[] = {"neg", "abs", "exp", "floor", "relu", "sqrt", "log", "cos", "sin"};
  const char* const binary[] = {"add", "sub", "mul", "div", "maximum", "minimum", "relu_grad"};
  const char* const compare[] = {"less", "less_equal", "equal"};
  const std::size_t count = 4 + below(24);
  const std::size_t update_at = below(count);
  bool updated = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == update_at) {
      const std::vector<Value> inputs = {w, m, any(), odd[1]};
      const auto next = b.apply_all("sgd_momentum", inputs, {{"momentum", 0.9}, {"nesterov", below(2) == 1}}, {});
      b.update(w, next[0]);
      b.update(m, next[1]);
      updated = true;
      // w and values that are computed in place have no other readers.
      values.erase(std::find_if(values.begin(), values.end(), [&](const Value& v) { return v.id() == w.id(); }));
      values.push_back(next[1]);
      continue;
    }
    switch (below(9)) {
      case 0:
      case 1: values.push_back(b.apply(unary[below(9)], {any()})); break;
      case 2:
      case 3: values.push_back(b.apply(binary[below(7)], {any(), any()})); break;
      case 4: values.push_back(b.apply(binary[below(6)], {any(), odd[below(odd.size())]})); break;
      case 5: {
        const Value c = b.apply(compare[below(3)], {any(), any()});
        values.push_back(b.apply("select", {c, any(), any()}));
        if (below(4) == 0) b.returns("c" + std::to_string(i), c);
        break;
      }
      case 6: {
        const auto key = static_cast<std::int64_t>(random());
        values.push_back(b.apply("dropout", {any(), step}, {{"keep_prob", 0.65}, {"key", key}}));
        break;
      }
      case 7: values.push_back(b.apply("mul", {any(), b.apply("cast", {mask}, {{"to", DType::f32}})})); break;
      default: {
        const Value sum = b.apply("reduce_sum", {any()});
        if (below(2))
          b.returns("sum" + std::to_string(i), sum);
        else
          values.push_back(b.apply("mul", {any(), sum}));
      }
    }
  }
  EXPECT_TRUE(updated);
  b.returns("last", values.back());
  if (below(2)) b.returns("other", any());
  return b.finish();
}

bool same_but_for_signs_of_nan(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() != DType::f32) return std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const float x = a.data<float>()[i];
    const float y = b.data<float>()[i];
    if (std::memcmp(&x, &y, sizeof x) != 0 && !(x != x && y != y)) return false;  // the sign of NaN is not defined
  }
  return true;
}

TEST(FusePointwise, RandomGraphsKeepTheirValuesBitByBit) {
  std::mt19937 random(5);
  std::size_t before = 0;
  std::size_t after = 0;
  for (int round = 0; round < 300; ++round) {
    const Graph graph = random_graph(random);
    verify(graph);
    const PassContext context{.fusion = reference_fusion_limits()};
    PassResults results;
    const Graph fused = fuse_pointwise(graph, context, results);
    ASSERT_NO_THROW(verify(fused)) << to_text(graph) << to_text(fused);
    before += graph.nodes.size();
    after += fused.nodes.size();
    Arguments arguments;
    for (ValueId id : graph.arguments) {
      arguments[graph.value(id).name] = random_tensor(graph.value(id).type, random);
    }
    const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
    const std::vector<Tensor> got = evaluate_returns(fused, arguments);
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(same_but_for_signs_of_nan(expected[i], got[i])) << to_text(graph) << to_text(fused);
    }
    const Arguments next = evaluate_updates(graph, arguments);
    for (const auto& [name, tensor] : evaluate_updates(fused, arguments)) {
      ASSERT_TRUE(same_but_for_signs_of_nan(next.at(name), tensor)) << name << to_text(graph) << to_text(fused);
    }
    const Graph parsed = parse_graph(to_text(fused));
    ASSERT_EQ(to_text(parsed), to_text(fused));
  }
  EXPECT_LT(after, before / 2) << "fusion has merged little";
}

TEST(FusePointwise, AFusedOpHasTheLastNameAndAllLines) {
  GraphBuilder b("lines");
  const Value x = b.input("x", {DType::f32, {8}});
  const Location first{"demo.cpp", 14, "main"};
  const Location second{"demo.cpp", 15, "main"};
  const Value y = b.apply_at(first, "mul", {x, x});
  b.name_next("total");
  b.returns("r", b.apply_at(second, "exp", {y}));
  const PassContext context{.fusion = reference_fusion_limits()};
  PassResults results;
  const Graph fused = fuse_pointwise(b.finish(), context, results);
  EXPECT_EQ(results.fused, NameSet{"total"});
  ASSERT_EQ(fused.nodes.size(), 1u);
  EXPECT_EQ(fused.nodes[0].name, "total");
  EXPECT_EQ(fused.nodes[0].where, (LocationStack{second, first}));
  EXPECT_EQ(fused.nodes[0].attributes.string("expression"), "exp(x0 * x0)");
}

}  // namespace
}  // namespace ridgeline
