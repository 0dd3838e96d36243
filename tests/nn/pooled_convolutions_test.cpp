// AlexNet in bf16 on tiles: its convolutions also pool, with the bits of separate ops.
#include <gtest/gtest.h>

#include <cstring>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::nn {
namespace {

constexpr std::int64_t kPooledBatch = 3, kPooledClasses = 5;

struct Ran {
  std::vector<std::string> kernels;  // number of convolutions and pools in the forward pass
  std::vector<Tensor> values;        // the results of the step, and the store after it
};

Ran run(const Step& step, const Arguments& stored, const std::vector<std::string>& left_out) {
  Session session({.compute_threads = 2});
  for (ValueId id : step.graph.arguments) {
    const ValueInfo& value = step.graph.value(id);
    if (value.kind != ValueKind::input) session.parameters().set(value.name, stored.at(value.name), value.kind);
  }
  CompileOptions options{.disabled_passes = left_out};
  options.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  const auto program = compile(step.graph, session, options);
  for (ValueId id : step.graph.arguments) {
    const ValueInfo& value = step.graph.value(id);
    if (value.kind != ValueKind::input) continue;
    Tensor t(value.type.dtype, value.type.shape);
    SampleRandom random(philox_key(5, value.name), 0, 0);
    for (std::int64_t i = 0; i < t.elements(); ++i)
      t.set(i, t.dtype() == DType::i32 ? static_cast<double>(random.integer(0, kPooledClasses - 1)) : random.normal());
    program->bind(value.name, t);
  }
  EXPECT_TRUE(program->run());
  Ran run;
  for (const LaunchReport& launch : program->launches()) {
    const bool forward = launch.op == "conv2d" || launch.op == "conv2d_max_pool" || launch.op == "max_pool";
    if (forward && !launch.converts) run.kernels.push_back(launch.kernel);
  }
  for (std::size_t i = 0; i < step.graph.returns.size(); ++i) run.values.push_back(program->output(i).clone());
  for (const ParameterSpec& spec : step.parameters) run.values.push_back(session.parameters().get(spec.name).clone());
  return run;
}

TEST(PooledConvolutions, OfAlexnetInBf16HaveTheValuesOfTheOpsApart) {
  if (device::active_isa() != device::Isa::amx) GTEST_SKIP() << "this machine has no tiles";
  const Step step = build_training_step({.model = &model_named("alexnet_torchvision"),
                                         .model_options = {.num_classes = kPooledClasses},
                                         .batch_size = kPooledBatch,
                                         .image_size = 224,
                                         .images = ImageForm::f32,
                                         .seed = 3},
                                        {.schedule = optim::Constant{0.01}});
  Arguments stored;
  for (const ParameterSpec& spec : step.parameters) stored[spec.name] = initialize(spec, 11);
  const Ran with = run(step, stored, {}), without = run(step, stored, {"fuse_max_pool"});
  EXPECT_EQ(with.kernels, (std::vector<std::string>{"own conv2d_max_pool amx, blocks", "own conv2d_max_pool amx",
                                                    "own conv2d amx", "own conv2d amx", "own conv2d_max_pool amx"}));
  EXPECT_EQ(without.kernels.size(), with.kernels.size() + 3);
  ASSERT_EQ(with.values.size(), without.values.size());
  for (std::size_t i = 0; i < with.values.size(); ++i) {
    const Tensor &a = with.values[i], &b = without.values[i];
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.byte_size()), 0) << i;
  }
}

}  // namespace
}  // namespace ridgeline::nn
