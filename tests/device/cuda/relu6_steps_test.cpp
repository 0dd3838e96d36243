// Batch norms with relu6 on a card of the recording driver.
#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/compile/compile.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/nn/module.h"
#include "ridgeline/nn/training_step.h"
#include "tests/compile/random_check.h"
#include "tests/compile/relu6_blocks.h"
#include "tests/device/cuda/card_setting.h"
#include "tests/device/cuda/device_support.h"

namespace ridgeline::cuda::testing {
namespace {

TEST(CudaRelu6Steps, GiveTheReferencesResultsAndGradients) {
  add_recording_device();
  for (std::int64_t seed = 0; seed < 12; ++seed) {
    const auto blocks = ridgeline::testing::relu6_blocks(static_cast<std::uint64_t>(seed));
    auto setting = card_setting("cuda_recording", seed);
    setting.options.precision = {};
    EXPECT_EQ(ridgeline::testing::difference(blocks, false, setting), "")
        << "seed " << seed << "\n"
        << to_text(blocks.graph, {.locations = false});
  }
}

TEST(CudaRelu6Steps, AStepOfMobileNetV2HasNoRelu6OfItsOwn) {
  add_recording_device();
  nn::StepOptions options;
  options.model = &nn::model_named("mobilenet_v2");
  options.model_options.num_classes = 10;
  options.batch_size = 2;
  options.image_size = 32;
  const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{0.01}});
  for (const char* precision : {"must_keep_origin_dtype", "allow_mix_precision_bf16"}) {
    Session session({.device = "cuda_recording"});
    for (const nn::ParameterSpec& spec : step.parameters)
      session.parameters().set(spec.name, Tensor::zeros(spec.dtype, spec.shape), spec.kind());
    const auto program =
        compile(step.graph, session, {.precision = PrecisionPolicy::of(precision_mode_named(precision))});
    std::int64_t forward = 0, backward = 0;
    for (const Node& node : program->graph().nodes) {
      EXPECT_TRUE(node.op != "relu6" && node.op != "relu6_grad") << node.name;
      if (node.op == "batch_norm_train") forward += node.attributes.string("activation") == "relu6";
      if (node.op == "batch_norm_bwd") backward += node.attributes.real("ceiling") == 6;
    }
    EXPECT_EQ(forward, 35) << precision;
    EXPECT_EQ(backward, 35) << precision;
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
