// 100 updates of every optimizer and 100 rates of every schedule that PyTorch also has, compared with PyTorch.
#include <gtest/gtest.h>
#include <cmath>
#include <map>

#include "ridgeline/core/random.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/rmsprop.h"
#include "ridgeline/optim/schedules.h"
#include "tests/parity/torch.h"

namespace ridgeline::optim {
namespace {

constexpr std::int64_t kN = 500, kSteps = 100;

Tensor normal(const Shape& shape, const char* key) {
  Tensor tensor(DType::f32, shape);
  SampleRandom random(philox_key(5, key), 0, 0);
  for (float& v : tensor.span<float>()) v = static_cast<float>(random.normal());
  return tensor;
}

Tensor after_all_steps(const Optimizer& optimizer, double weight_decay, const Tensor& w, const Tensor& gradients) {
  GraphBuilder builder("update");
  const ValueType type{DType::f32, {kN}};
  ParameterUpdate update{.parameter = builder.param("w", type),
                         .slots = {},
                         .gradient = builder.input("g", type),
                         .scalars = {},
                         .weight_decay = weight_decay,
                         .where = {}};
  Arguments arguments = {{"w", w}, {"rate", Tensor::scalar(0.02f)}};
  for (const std::string& slot : optimizer.slots()) {
    update.slots.push_back(builder.state(slot_name("w", slot), type));
    arguments[slot_name("w", slot)] = Tensor::zeros(DType::f32, {kN});
  }
  update.scalars =
      optimizer.scalars({builder.input("rate", {DType::f32, {}}), builder.state("step", {DType::i64, {}}), {}});
  optimizer.update(update);
  const Graph graph = builder.finish();
  for (std::int64_t step = 0; step < kSteps; ++step) {
    Tensor g(DType::f32, {kN});
    for (std::int64_t i = 0; i < kN; ++i) g.data<float>()[i] = gradients.data<float>()[step * kN + i];
    arguments["g"] = g;
    arguments["step"] = Tensor::scalar(step);
    for (auto& [name, tensor] : evaluate_updates(graph, arguments)) arguments[name] = tensor;
  }
  return arguments["w"];
}

TEST(OptimizerParity, HundredStepsAndRatesArePyTorchs) {
  if (testing::torch_python() == nullptr) GTEST_SKIP() << testing::kNoTorch;
  const Tensor w = normal({kN}, "w"), gradients = normal({kSteps, kN}, "gradients");
  const testing::TemporaryFolder folder;
  write_safetensors(folder.file("input.safetensors"), {{"w", w}, {"gradients", gradients}}, {});
  ASSERT_EQ(testing::run_torch("torch_optimizers.py", folder), "");
  const SafetensorsFile torch(folder.file("output.safetensors"));

  const std::map<std::string, std::pair<Optimizer, double>> optimizers = {
      {"sgd", {Momentum{.momentum = 0}, 0.01}},
      {"momentum", {Momentum{.momentum = 0.9, .nesterov = false}, 0.01}},
      {"nesterov", {Momentum{.momentum = 0.9, .nesterov = true}, 0.01}},
      {"adam", {Adam{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6}, 0.01}},
      {"adamw", {Adam{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .decoupled = true}, 0.01}},
      {"rmsprop", {RmsProp{.rho = 0.9, .epsilon = 1e-4}, 0.01}},
      {"rmsprop_momentum", {RmsProp{.rho = 0.9, .momentum = 0.7, .epsilon = 1e-4}, 0.0}},
  };
  for (const auto& [name, setting] : optimizers) {
    const Tensor ours = after_all_steps(setting.first, setting.second, w, gradients);
    const Tensor& theirs = torch.tensor("optimizer/" + name);
    double largest = 0;
    for (std::int64_t i = 0; i < kN; ++i) largest = std::max(largest, std::fabs(ours.at(i) - theirs.at(i)));
    // PyTorch rounds AdamW's factor 1 - lr * weight_decay to f32, which 100 steps multiply; we round each product.
    EXPECT_LE(largest, name == "adamw" ? 2e-5 : 1e-6) << name;
    std::printf("%s: largest difference after %d steps %.1e\n", name.c_str(), static_cast<int>(kSteps), largest);
  }

  const std::map<std::string, Schedule> schedules = {
      {"step", StepDecay{.base = 0.5, .factor = 0.3, .every = 30}},
      {"multi_step", MultiStep{.base = 0.5, .factor = 0.1, .boundaries = {20, 50}}},
      {"exponential", Exponential{.base = 0.5, .factor = 0.97}},
      {"cosine", Cosine{.base = 0.5, .end = 0.01, .steps = 100}},
      {"polynomial", Polynomial{.base = 0.5, .steps = 80, .power = 1.7}},
      {"one_cycle", OneCycle{.peak = 0.5, .steps = 100}},
      {"warmup", Warmup{.steps = 10, .then = Cosine{.base = 0.5, .steps = 90}}},
  };
  for (const auto& [name, schedule] : schedules) {
    const Tensor& theirs = torch.tensor("schedule/" + name);
    for (std::int64_t i = 0; i < kSteps; ++i) {
      EXPECT_NEAR(learning_rate(schedule, i), theirs.at(i), 5e-8) << name << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace ridgeline::optim
