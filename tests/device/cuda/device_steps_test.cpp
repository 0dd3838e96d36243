#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/compile/compile.h"
#include "ridgeline/nn/module.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/loop/synthetic.h"
#include "tests/device/cuda/device_support.h"
#include "tests/support/environment.h"

namespace ridgeline::cuda::testing {
namespace {

// Steps of the model as the command line would compile them, on random pixels; the losses.
std::vector<double> losses_of(const char* device, const char* model, std::int64_t image_size, const char* precision,
                              std::int64_t steps) {
  nn::StepOptions options;
  options.model = &nn::model_named(model);
  options.model_options.num_classes = 10;
  options.batch_size = 2;
  options.image_size = image_size;
  const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{0.01}});
  Session session({.device = device});
  for (const nn::ParameterSpec& spec : step.parameters)
    session.parameters().set(spec.name, nn::initialize(spec, 1), spec.kind());
  const auto program =
      compile(step.graph, session, {.precision = PrecisionPolicy::of(precision_mode_named(precision))});
  const train::SyntheticBatch batch(options, 10, 3);
  std::vector<double> losses;
  for (std::int64_t i = 0; i < steps; ++i) {
    batch.bind(*program);
    EXPECT_TRUE(program->run());
    losses.push_back(program->output(nn::kLossResult).at(0));
  }
  return losses;
}

void expect_equal_training(const char* model, std::int64_t image_size, const char* precision, double tolerance,
                           std::int64_t steps = 10) {
  add_recording_device();
  const std::vector<double> cpu = losses_of("cpu", model, image_size, precision, steps);
  const std::vector<double> card = losses_of("cuda_recording", model, image_size, precision, steps);
  // A small loss is a difference of larger logits, whose rounding it keeps.
  for (std::size_t i = 0; i < cpu.size(); ++i)
    EXPECT_NEAR(card[i], cpu[i], tolerance * std::max(cpu[i], 1.0)) << "step " << i;
}

TEST(CudaSteps, ResNet20TrainsTenStepsAsOnTheCpu) {
  expect_equal_training("resnet20", 16, "must_keep_origin_dtype", 1e-3);
}

// A step of it takes this driver, one thread that plays all of a card's, 14 seconds; ten are taken where they are asked
// for.
TEST(CudaSteps, AlexNetTrainsAsOnTheCpu) {
  expect_equal_training("alexnet_torchvision", 64, "must_keep_origin_dtype", 1e-3,
                        number_from_environment("RIDGELINE_CUDA_STEPS", 2));
}

TEST(CudaSteps, ResNet20TrainsInBf16AsOnTheCpu) {
  expect_equal_training("resnet20", 16, "allow_mix_precision_bf16", 2e-2);
}

}  // namespace
}  // namespace ridgeline::cuda::testing
