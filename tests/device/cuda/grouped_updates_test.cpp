// Updates of many parameters in one launch on a card: what the recording driver's steps launch, need and compute.
#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/compile/compile.h"
#include "ridgeline/nn/module.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/loop/synthetic.h"
#include "tests/device/cuda/device_support.h"

namespace ridgeline::cuda::testing {
namespace {

struct GroupedStep {
  nn::StepOptions options;
  nn::Step step;
  Session session{{.device = "cuda_recording"}};

  GroupedStep(const char* model, std::int64_t batch, std::int64_t image) {
    options.model = &nn::model_named(model);
    options.model_options.num_classes = 10;
    options.batch_size = batch;
    options.image_size = image;
    step = nn::build_training_step(options, {.schedule = optim::Constant{0.01}});
    for (const nn::ParameterSpec& spec : step.parameters)
      session.parameters().set(spec.name, nn::initialize(spec, 1), spec.kind());
  }
};

CompileOptions in_bf16(std::vector<std::string> disabled) {
  return {.disabled_passes = std::move(disabled),
          .precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))};
}

struct PlannedUpdates {
  std::size_t launches = 0, updates = 0, copies = 0, arena = 0;
};

PlannedUpdates planned(GroupedStep& step, const std::vector<std::string>& disabled) {
  const Planned made = plan_program(step.step.graph, step.session, in_bf16(disabled));
  PlannedUpdates of;
  of.launches = made.plan.launches.size();
  of.arena = made.memory.activations_peak + made.memory.scratch;
  for (const ridgeline::Launch& launch : made.plan.launches) {
    of.copies += launch.writes_forms.size();
    const bool stored = std::any_of(launch.outputs.begin(), launch.outputs.end(), [&](int buffer) {
      return made.plan.buffers[static_cast<std::size_t>(buffer)].home == BufferHome::store;
    });
    of.updates += stored && launch.node >= 0 &&
                  made.plan.graph.nodes[static_cast<std::size_t>(launch.node)].name.ends_with("/update");
  }
  return of;
}

// Gradients live longer, but the peak is at the turn from forward to backward, or, in AlexNet, the gradient of the
// largest dense weights: gaps of the arena may differ. Without that gradient the arena is smaller in any case.
TEST(CudaGroupedUpdates, TakeFewLaunchesAndHardlyMoreMemory) {
  add_recording_device();
  for (const char* model : {"mobilenet_v2", "resnet18", "resnet50", "alexnet_torchvision"}) {
    GroupedStep step(model, 32, 224);
    const char* const dense = "fuse_dense_update";
    const PlannedUpdates grouped = planned(step, {dense}), apart = planned(step, {dense, "group_updates"});
    EXPECT_LE(planned(step, {}).arena, grouped.arena) << model;
    EXPECT_LE(grouped.arena, apart.arena + apart.arena / 1000) << model;
    EXPECT_EQ(grouped.copies, apart.copies) << model << ": 16-bit copies are written by the same launches";
    EXPECT_LT(grouped.updates, apart.updates) << model;
    EXPECT_GE(apart.launches - grouped.launches, apart.updates - grouped.updates) << model;
    RecordProperty(std::string(model) + " updates",
                   std::to_string(apart.updates) + " to " + std::to_string(grouped.updates));
    if (model == std::string("mobilenet_v2")) {
      EXPECT_LE(grouped.updates, 6u);
    }
  }
}

TEST(CudaGroupedUpdates, GiveTheBitsOfTheUpdatesApart) {
  add_recording_device();
  const auto trained = [](const std::vector<std::string>& disabled) {
    GroupedStep step("resnet20", 2, 16);
    const auto program = compile(step.step.graph, step.session, in_bf16(disabled));
    const train::SyntheticBatch batch(step.options, 10, 3);
    for (int i = 0; i < 3; ++i) {
      batch.bind(*program);
      EXPECT_TRUE(program->run());
    }
    std::vector<Tensor> values;
    for (const std::string& name : step.session.parameters().names())
      values.push_back(step.session.parameters().get(name).clone());
    return values;
  };
  const std::vector<Tensor> grouped = trained({}), apart = trained({"group_updates", "fuse_updates"});
  ASSERT_EQ(grouped.size(), apart.size());
  for (std::size_t i = 0; i < grouped.size(); ++i)
    EXPECT_EQ(std::memcmp(grouped[i].raw(), apart[i].raw(), grouped[i].byte_size()), 0) << i;
}

}  // namespace
}  // namespace ridgeline::cuda::testing
