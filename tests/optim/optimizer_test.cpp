// Every optimizer for 100 steps against its formula in double precision; slots, decay, conditions and settings.
#include "ridgeline/optim/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/optimizers.h"
#include "ridgeline/optim/rmsprop.h"

namespace ridgeline::optim {
namespace {

constexpr std::size_t kN = 6;
constexpr double kRate = 0.05f, kDecay = 0.02;
using Vector = std::array<double, kN>;

// One step over parameter, slots and gradient; t counts from 1.
struct State {
  Vector w{}, g{};
  std::array<Vector, 2> slots{};
};
using Rule = std::function<void(State&, double t)>;

Graph graph_of(const Optimizer& optimizer, double weight_decay, bool decays = true) {
  GraphBuilder builder("update");
  const ValueType type{DType::f32, {static_cast<std::int64_t>(kN)}};
  ParameterUpdate update{.parameter = builder.param("w", type),
                         .slots = {},
                         .gradient = builder.input("g", type),
                         .scalars = {},
                         .weight_decay = weight_decay,
                         .decays = decays,
                         .where = {}};
  for (const std::string& slot : optimizer.slots()) update.slots.push_back(builder.state(slot_name("w", slot), type));
  update.scalars =
      optimizer.scalars({builder.input("rate", {DType::f32, {}}), builder.state("step", {DType::i64, {}}), {}});
  optimizer.update(update);
  Graph graph = builder.finish();
  verify(graph);
  return graph;
}

double norm_of(const Vector& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}

void expect_rule(const std::string& what, const Optimizer& optimizer, const Rule& rule, bool decays = true) {
  const Graph graph = graph_of(optimizer, decays ? kDecay : 0, decays);
  State state;
  SampleRandom random(philox_key(1, "optimizer test"), 0, 0);
  std::vector<float> start;
  for (double& w : state.w) {
    start.push_back(static_cast<float>(random.normal()));
    w = start.back();
  }
  Arguments arguments = {{"rate", Tensor::scalar(static_cast<float>(kRate))}, {"w", Tensor::of<float>(start, {kN})}};
  for (const std::string& slot : optimizer.slots()) arguments[slot_name("w", slot)] = Tensor::zeros(DType::f32, {kN});
  for (int step = 0; step < 100; ++step) {
    std::vector<float> gradient;
    for (std::size_t i = 0; i < kN; ++i) {
      gradient.push_back(static_cast<float>(0.3 * state.w[i] + random.normal()));
      state.g[i] = gradient.back();
    }
    arguments["g"] = Tensor::of<float>(gradient, {kN});
    arguments["step"] = Tensor::scalar(static_cast<std::int64_t>(step));
    for (auto& [name, tensor] : evaluate_updates(graph, arguments)) arguments[name] = tensor;
    rule(state, step + 1);
    for (std::size_t i = 0; i < kN; ++i) {
      ASSERT_NEAR(arguments["w"].at(static_cast<std::int64_t>(i)), state.w[i], 2e-5) << what << ", step " << step;
    }
  }
}

TEST(OptimizerTest, MomentumFollowsItsFormula) {
  for (const bool nesterov : {false, true}) {
    for (const double momentum : {0.0, 0.9}) {
      expect_rule("momentum", Momentum{.momentum = momentum, .nesterov = nesterov}, [&](State& s, double) {
        for (std::size_t i = 0; i < kN; ++i) {
          const double g = s.g[i] + kDecay * s.w[i];
          double& m = s.slots[0][i];
          m = momentum * m + g;
          s.w[i] -= kRate * (nesterov && momentum > 0 ? g + momentum * m : m);
        }
      });
    }
  }
}

TEST(OptimizerTest, AdamAndAdamWFollowTheirFormula) {
  for (const bool decoupled : {false, true}) {
    expect_rule("adam", Adam{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .decoupled = decoupled},
                [&](State& s, double t) {
                  for (std::size_t i = 0; i < kN; ++i) {
                    const double g = decoupled ? s.g[i] : s.g[i] + kDecay * s.w[i];
                    double &m = s.slots[0][i], &v = s.slots[1][i];
                    m += 0.2 * (g - m);
                    v += 0.05 * (g * g - v);
                    if (decoupled) s.w[i] *= 1 - kRate * kDecay;
                    s.w[i] -= kRate * (m / (1 - std::pow(0.8, t))) / (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-6);
                  }
                });
  }
}

TEST(OptimizerTest, RmsPropFollowsItsFormula) {
  for (const double momentum : {0.0, 0.7}) {
    expect_rule("rmsprop", RmsProp{.rho = 0.9, .momentum = momentum, .epsilon = 1e-4}, [&](State& s, double) {
      for (std::size_t i = 0; i < kN; ++i) {
        const double g = s.g[i] + kDecay * s.w[i];
        double &v = s.slots[0][i], &m = s.slots[1][i];
        v = 0.9 * v + 0.1 * g * g;
        m = momentum * m + g / (std::sqrt(v) + 1e-4);
        s.w[i] -= kRate * m;
      }
    });
  }
}

TEST(OptimizerTest, LarsScalesTheGradientToItsParameter) {
  for (const bool decays : {true, false}) {
    expect_rule(
        "lars", Lars{.momentum = 0.9, .trust = 0.2},
        [&](State& s, double) {
          const double w = norm_of(s.w), g = norm_of(s.g);
          const double scale = decays ? 0.2 * w / (g + kDecay * w + 1e-8) : 1;
          for (std::size_t i = 0; i < kN; ++i) {
            double& m = s.slots[0][i];
            m = 0.9 * m + scale * (s.g[i] + (decays ? kDecay : 0) * s.w[i]);
            s.w[i] -= kRate * m;
          }
        },
        decays);
  }
}

TEST(OptimizerTest, LambScalesTheStepToItsParameter) {
  for (const bool decays : {true, false}) {
    expect_rule(
        "lamb", Lamb{},
        [&](State& s, double t) {
          Vector r;
          for (std::size_t i = 0; i < kN; ++i) {
            double &m = s.slots[0][i], &v = s.slots[1][i];
            m = 0.9 * m + 0.1 * s.g[i];
            v = 0.999 * v + 0.001 * s.g[i] * s.g[i];
            r[i] = m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-6);
            if (decays) r[i] += kDecay * s.w[i];
          }
          const double ratio = decays ? norm_of(s.w) / norm_of(r) : 1;
          for (std::size_t i = 0; i < kN; ++i) s.w[i] -= kRate * ratio * r[i];
        },
        decays);
  }
}

TEST(OptimizerTest, AParameterOfZerosIsMovedByLarsAndLamb) {
  for (const Optimizer& optimizer : {Optimizer(Lars{}), Optimizer(Lamb{})}) {
    const Graph graph = graph_of(optimizer, kDecay);
    Arguments arguments = {{"rate", Tensor::scalar(0.1f)},
                           {"step", Tensor::scalar(std::int64_t{0})},
                           {"w", Tensor::zeros(DType::f32, {kN})},
                           {"g", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {kN})}};
    for (const std::string& slot : optimizer.slots()) arguments[slot_name("w", slot)] = Tensor::zeros(DType::f32, {kN});
    for (auto& [name, tensor] : evaluate_updates(graph, arguments)) arguments[name] = tensor;
    EXPECT_LT(arguments["w"].at(0), 0);
    EXPECT_TRUE(std::isfinite(arguments["w"].at(5)));
  }
}

TEST(OptimizerTest, AConditionThatIsFalseKeepsEverything) {
  const Tensor w = Tensor::of<float>({1, 2}, {2}), m = Tensor::of<float>({0.5f, -0.5f}, {2});
  const Tensor g = Tensor::of<float>({INFINITY, NAN}, {2}), rate = Tensor::scalar(0.1f);
  const OpDef& def = op_def("sgd_momentum");
  const Attributes attributes = complete_attributes(def, {{"momentum", 0.9}, {"conditional", true}});
  const std::array kept = {w, m, g, rate, Tensor::scalar(false)};
  const std::vector<Tensor> next = run_reference(def, kept, attributes, "update");
  EXPECT_EQ(next[0].at(1), 2);
  EXPECT_EQ(next[1].at(0), 0.5);
  const std::array taken = {w, m, w, rate, Tensor::scalar(true)};
  EXPECT_NEAR(run_reference(def, taken, attributes, "update")[1].at(0), 1.45, 1e-6);
  EXPECT_THROW(infer_types(def, std::vector<ValueType>(4, {DType::f32, {2}}), attributes, "update"), Error);
}

TEST(OptimizerTest, EveryUpdateNamesItsGradient) {
  for (const OpDef& def : all_ops()) {
    if (!def.has(kPointwise) && def.has(kUpdate)) continue;  // built from ops when gradients are final
    if (!def.has(kUpdate)) {
      EXPECT_EQ(def.gradient_operand, -1) << def.name;
      continue;
    }
    ASSERT_GE(def.gradient_operand, 1) << def.name;
    EXPECT_EQ(def.operands[static_cast<std::size_t>(def.gradient_operand)], "g") << def.name;
    EXPECT_EQ(def.results.size(), static_cast<std::size_t>(def.gradient_operand)) << def.name;
  }
}

TEST(OptimizerTest, SlotsAndCouplingAreTheRules) {
  EXPECT_TRUE(Optimizer(Momentum{.momentum = 0}).slots().empty());
  EXPECT_EQ(Optimizer(Momentum{}).slots(), std::vector<std::string>{"momentum"});
  EXPECT_EQ(Optimizer(Adam{}).slots(), (std::vector<std::string>{"mean", "mean_square"}));
  EXPECT_EQ(Optimizer(RmsProp{.momentum = 0.5}).slots(), (std::vector<std::string>{"mean_square", "momentum"}));
  EXPECT_TRUE(Optimizer(Adam{}).coupled());
  EXPECT_FALSE(Optimizer(Adam{.decoupled = true}).coupled());
  for (const OptimizerEntry& entry : optimizers()) {
    EXPECT_NO_THROW(graph_of(entry.make({}), 0.01)) << entry.name;
    EXPECT_EQ(&optimizer_named(entry.name), &entry);
  }
}

// Settings that a recipe does not give are the defaults of the optimizer's struct.
TEST(OptimizerTest, ByNameAndWithoutArgumentsItIsTheOneOfItsHeader) {
  const std::map<std::string, Optimizer> own = {{"momentum", Momentum{}}, {"sgd", Momentum{.momentum = 0}},
                                                {"adam", Adam{}},         {"adamw", Adam{.decoupled = true}},
                                                {"rmsprop", RmsProp{}},   {"lars", Lars{}},
                                                {"lamb", Lamb{}}};
  ASSERT_EQ(own.size(), optimizers().size());
  for (const auto& [name, optimizer] : own) {
    const OptimizerEntry& entry = optimizer_named(name);
    const auto text = [](const Optimizer& o) { return to_text(graph_of(o, 0.01), {.locations = false}); };
    EXPECT_EQ(text(entry.make({})), text(optimizer)) << name;
    EXPECT_EQ(text(entry.make(entry.defaults)), text(optimizer)) << name << ": the entry's own defaults";
    for (const OptimizerArgument& argument : optimizer_arguments()) {
      const bool read =
          std::find(entry.arguments.begin(), entry.arguments.end(), argument.name) != entry.arguments.end();
      const bool has = argument.flag != nullptr ? (entry.defaults.*argument.flag).has_value()
                                                : (entry.defaults.*argument.real).has_value();
      EXPECT_EQ(read, has) << name << ": " << argument.name;
    }
  }
}

TEST(OptimizerTest, SettingsOutsideTheirRangeAreRefused) {
  EXPECT_THROW(Optimizer(Momentum{.momentum = 1}), Error);
  EXPECT_THROW(Optimizer(Momentum{.momentum = -0.1}), Error);
  EXPECT_THROW(Optimizer(Momentum{.momentum = std::nan("")}), Error);
  EXPECT_THROW(Optimizer(Adam{.beta1 = 1}), Error);
  EXPECT_THROW(Optimizer(Adam{.epsilon = -1}), Error);
  EXPECT_THROW(Optimizer(Lars{.trust = INFINITY}), Error);
  EXPECT_THROW(Optimizer(RmsProp{.rho = 2}), Error);
  try {
    Optimizer(Momentum{.momentum = 1.5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "momentum is 1.500000; it must lie in [0, 1)");
  }
}

}  // namespace
}  // namespace ridgeline::optim
