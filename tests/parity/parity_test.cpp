// The compiled training step compared with PyTorch's: the same weights, batch and recipe, without dropout. PyTorch runs
// in a separate process, tests/parity/torch_steps.py, with the interpreter RIDGELINE_TORCH_PYTHON; the script explains
// which of several batches it uses.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/infer/weights.h"
#include "ridgeline/nn/training_step.h"
#include "tests/parity/torch.h"

namespace ridgeline::nn {
namespace {

constexpr std::int64_t kBatches = 32;
constexpr int kSteps = 10;
constexpr std::uint64_t kSeed = 20;

Tensor normal_images(std::int64_t batch, std::int64_t size) {
  Tensor images(DType::f32, {kBatches, batch, size, size, 3});
  SampleRandom random(philox_key(kSeed, "parity images"), 0, 0);
  for (float& v : images.span<float>()) v = static_cast<float>(random.normal());
  return images;
}

Tensor random_labels(std::int64_t batch, std::int64_t classes) {
  Tensor labels(DType::i32, {batch});
  SampleRandom random(philox_key(kSeed, "parity labels"), 0, 0);
  for (std::int32_t& v : labels.span<std::int32_t>()) v = static_cast<std::int32_t>(random.integer(0, classes - 1));
  return labels;
}

// Also returns the gradient of every parameter, as "gradient/<name>".
void return_gradients(Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op != "sgd_momentum") continue;
    graph.returns.push_back({"gradient/" + graph.value(node.inputs[0]).name, node.inputs[2]});
  }
}

// max|a - b| / max|b|, where b is PyTorch's.
double relative_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double difference = 0, largest = 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    const double delta = std::fabs(a.at(i) - b.at(i));
    difference = std::isnan(delta) ? HUGE_VAL : std::max(difference, delta);
    largest = std::max(largest, std::fabs(b.at(i)));
  }
  return difference / std::max(largest, 1e-30);
}

struct Worst {
  double value = 0;
  std::string name;
  void see(const std::string& of, double difference) {
    EXPECT_LE(difference, 1e-4) << of;
    if (difference >= value) *this = {difference, of};
  }
};

Tensor batch_of(const Tensor& batches, std::int64_t number) {
  const Shape& all = batches.shape();
  Tensor batch(DType::f32, {all[1], all[2], all[3], all[4]});
  std::memcpy(batch.raw(), batches.data<float>() + number * batch.elements(), batch.byte_size());
  return batch;
}

struct Comparison {
  std::int64_t batch;
  std::int64_t image_size;
  double base_rate;  // small enough that ten steps do not amplify rounding
  // Relative to the root mean square of a layer's result: the possible rounding error in f32. A batch on which this
  // much noise changes a relu or a pool is not used.
  std::string noise;
};

void compare_with_torch(const std::string& name, const Comparison& comparison) {
  if (testing::torch_python() == nullptr) GTEST_SKIP() << testing::kNoTorch;
  const ModelInfo& model = model_named(name);
  const optim::Schedule schedule =
      optim::WarmupCosine{.base = comparison.base_rate, .steps_per_epoch = 2, .warmup_epochs = 2, .epochs = 8};
  const optim::Momentum optimizer{.momentum = 0.9, .nesterov = true};
  Step step = build_training_step({.model = &model,
                                   .model_options = {.dropout_keep = 1.0},
                                   .batch_size = comparison.batch,
                                   .image_size = comparison.image_size,
                                   .images = ImageForm::f32},
                                  {.optimizer = optimizer, .schedule = schedule, .weight_decay = 1e-4});
  return_gradients(step.graph);

  const Tensor batches = normal_images(comparison.batch, comparison.image_size);
  const Tensor labels = random_labels(comparison.batch, model.classes);
  Session session;
  std::vector<NamedTensor> stored = {{"images", batches}, {"labels", labels}};
  for (const ParameterSpec& spec : step.parameters) {
    const Tensor value = initialize(spec, kSeed);
    session.parameters().set(spec.name, value, spec.trainable() ? ValueKind::param : ValueKind::state);
    if (spec.trainable() || spec.role == ParameterRole::statistic) stored.push_back({spec.name, to_file(spec, value)});
  }
  std::string rates;
  for (int i = 0; i < kSteps; ++i) {
    char digits[32];  // all digits of a double; the step computes the rate in f64 and rounds it to f32
    std::snprintf(digits, sizeof digits, "%.17g",
                  static_cast<double>(static_cast<float>(optim::learning_rate(schedule, i))));
    rates += (i ? "," : "[") + std::string(digits);
  }
  const testing::TemporaryFolder folder;
  write_safetensors(folder.file("input.safetensors"), stored,
                    {{"model", name},
                     {"classes", std::to_string(model.classes)},
                     {"learning_rates", rates + "]"},
                     {"momentum", std::to_string(optimizer.momentum)},
                     {"nesterov", "true"},
                     {"weight_decay", "0.0001"},
                     {"label_smoothing", "0.1"},
                     {"noise", comparison.noise}});
  stored.clear();
  ASSERT_EQ(testing::run_torch("torch_steps.py", folder), "");
  const SafetensorsFile torch(folder.file("output.safetensors"));

  const auto number = static_cast<std::int64_t>(torch.tensor("batch").at(0));
  const Tensor images = batch_of(batches, number);
  const std::unique_ptr<Program> program = compile(step.graph, session);
  Worst gradient, updated;
  double loss_difference = 0;
  const Tensor& losses = torch.tensor("losses");
  for (int i = 0; i < kSteps; ++i) {
    program->bind("images", images);
    program->bind("labels", labels);
    ASSERT_TRUE(program->run());
    const double loss = program->output("loss").at(0);
    EXPECT_NEAR(loss, losses.at(i), i == 0 ? 1e-4 * losses.at(0) : 1e-3) << "step " << i;
    loss_difference = std::max(loss_difference, std::fabs(loss - losses.at(i)));
    if (i > 0) continue;
    for (const ParameterSpec& spec : step.parameters) {
      if (spec.trainable()) {
        gradient.see("gradient of " + spec.name,
                     relative_difference(to_file(spec, program->output("gradient/" + spec.name)),
                                         torch.tensor("gradient/" + spec.name)));
      }
      if (spec.trainable() || spec.role == ParameterRole::statistic) {
        updated.see(spec.name, relative_difference(to_file(spec, session.parameters().get(spec.name)),
                                                   torch.tensor("updated/" + spec.name)));
      }
    }
  }
  std::printf(
      "%s: batch %d, loss %.6f to %.6f, largest difference %.1e; worst gradient %.1e (%s); worst updated %.1e (%s)\n",
      name.c_str(), static_cast<int>(number), losses.at(0), losses.at(kSteps - 1), loss_difference, gradient.value,
      gradient.name.c_str(), updated.value, updated.name.c_str());
}

TEST(ParityTest, AlexNetAgreesWithPyTorch) { compare_with_torch("alexnet", {2, 224, 0.00002, "3e-6"}); }
TEST(ParityTest, TorchvisionAlexNetAgreesWithPyTorch) {
  compare_with_torch("alexnet_torchvision", {2, 224, 0.004, "3e-6"});
}
TEST(ParityTest, Resnet18AgreesWithPyTorch) { compare_with_torch("resnet18", {8, 40, 0.00005, "1e-6"}); }

}  // namespace
}  // namespace ridgeline::nn
