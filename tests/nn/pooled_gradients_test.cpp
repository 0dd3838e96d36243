// AlexNet in bf16 on tiles: the gradients of pools are not stored, and a step has the bits of separate ops, whether its
// convolutions also pool or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::nn {
namespace {

struct StepRun {
  std::vector<std::string> gradients;  // ops with merged pools in the backward pass
  std::vector<Tensor> states;          // after the step
};

StepRun run_step(const Step& step, const std::vector<std::string>& left_out) {
  Session session({.compute_threads = 2});
  for (const ParameterSpec& spec : step.parameters) {
    const ValueKind kind = step.graph.value(step.graph.find_argument(spec.name)).kind;
    session.parameters().set(spec.name, initialize(spec, 12), kind);
  }
  CompileOptions options{.disabled_passes = left_out};
  options.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  const auto program = compile(step.graph, session, options);
  for (ValueId id : step.graph.arguments) {
    const ValueInfo& value = step.graph.value(id);
    if (value.kind != ValueKind::input) continue;
    Tensor t(value.type.dtype, value.type.shape);
    SampleRandom random(philox_key(6, value.name), 0, 0);
    for (std::int64_t i = 0; i < t.elements(); ++i)
      t.set(i, t.dtype() == DType::i32 ? static_cast<double>(random.integer(0, 4)) : random.normal());
    program->bind(value.name, t);
  }
  EXPECT_TRUE(program->run());
  StepRun run;
  for (const LaunchReport& launch : program->launches()) {
    if (launch.op.find("max_pool_bwd") != std::string::npos && !launch.converts) run.gradients.push_back(launch.op);
  }
  std::sort(run.gradients.begin(), run.gradients.end());
  for (const ParameterSpec& spec : step.parameters) run.states.push_back(session.parameters().get(spec.name).clone());
  return run;
}

TEST(PooledGradients, OfAlexnetInBf16AreNoValuesAndLeaveTheBitsOfTheOpsApart) {
  if (device::active_isa() != device::Isa::amx) GTEST_SKIP() << "this machine has no tiles";
  const Step step = build_training_step({.model = &model_named("alexnet_torchvision"),
                                         .model_options = {.num_classes = 5},
                                         .batch_size = 3,
                                         .image_size = 224,
                                         .images = ImageForm::f32,
                                         .seed = 3},
                                        {.schedule = optim::Constant{0.01}});
  const StepRun apart = run_step(step, {"fuse_pool_gradient"});
  EXPECT_EQ(apart.gradients, std::vector<std::string>(3, "max_pool_bwd"));
  for (const std::vector<std::string>& left_out : {std::vector<std::string>{}, {"fuse_max_pool"}}) {
    const StepRun together = run_step(step, left_out);
    const std::string data = "conv2d_max_pool_bwd_data", weights = "conv2d_max_pool_bwd_weights";
    EXPECT_EQ(together.gradients, (std::vector<std::string>{data, data, weights, weights, weights}));
    ASSERT_EQ(together.states.size(), apart.states.size());
    for (std::size_t i = 0; i < apart.states.size(); ++i) {
      const Tensor &a = together.states[i], &b = apart.states[i];
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.byte_size()), 0) << step.parameters[i].name;
    }
  }
}

}  // namespace
}  // namespace ridgeline::nn
