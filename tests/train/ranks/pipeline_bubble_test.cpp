// How long the stages of a pipeline wait, on a device whose dense layers all take the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "ridgeline/graph/pass/pipeline_order.h"
#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/train/model.h"
#include "ridgeline/train/ranks/ranks.h"
#include "tests/comm/ranks.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kBubbleRows = 2, kBubbleWidth = 8;
// Long compared with the reference kernels of these layers, also on a busy machine.
constexpr double kBubbleProductSeconds = 0.02;

// As many equal layers as stages, each with an annotation.
nn::Network equal_layers(int layers) {
  return {.name = "equal", .loss = [=](nn::ModelContext& context) {
            Value x = context.builder.input("x", {DType::f32, {kBubbleRows, kBubbleWidth}});
            for (int i = 0; i < layers; ++i) {
              x = nn::dense_layer(
                  context, x,
                  {.name = "fc" + std::to_string(i), .out = kBubbleWidth, .activation = nn::Activation::relu});
            }
            return nn::mean(x * x);
          }};
}

struct MeasuredStep {
  double seconds = 0;            // time of the fastest step
  std::vector<double> products;  // time of each stage in it, without exchanges
};

MeasuredStep step_of(const PipelinePlan& plan) {
  constexpr int kSteps = 3;
  MeasuredStep measured{.seconds = 1e9, .products = std::vector<double>(static_cast<std::size_t>(plan.stages))};
  comm::expect_ranks(static_cast<int>(plan.stages), [&](comm::Communicator& ranks) {
    SessionOptions options{.compute_threads = 1, .device = "simulated"};
    options.simulated.product_seconds = kBubbleProductSeconds;
    double products = 0;
    options.simulated.on_launch = [&products](std::string_view kernel) {
      if (kernel.starts_with("simulated dense")) ++products;
    };
    options.groups[kWorld] = std::shared_ptr<comm::Communicator>(&ranks, [](comm::Communicator*) {});
    Session session(options);
    ModelSettings settings;
    settings.distribution = {.ranks = plan.stages, .rank = ranks.rank(), .pipeline = plan};
    for (std::int64_t s = 0; s < plan.stages; ++s) settings.stages.push_back({"fc" + std::to_string(s), s});
    Model model(session, equal_layers(static_cast<int>(plan.stages)), settings);
    model.prepare_training({.optimizer = optim::Momentum{}, .weight_decay = 0});
    Tensor x(DType::f32, {kBubbleRows * plan.micro_batches, kBubbleWidth});
    std::fill(x.span<float>().begin(), x.span<float>().end(), 0.5f);
    for (int step = 0; step < kSteps; ++step) {
      products = 0;
      model.training().bind("x", x);
      ranks.barrier();
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(model.training().run());
      ranks.barrier();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      // The first step creates what later ones keep.
      if (ranks.rank() == 0 && step > 0) measured.seconds = std::min(measured.seconds, taken.count());
    }
    measured.products[static_cast<std::size_t>(ranks.rank())] = products;
  });
  return measured;
}

// A measurement, for an idle machine. For the schedules themselves see pipeline_order_test.cpp. The first stage does
// not compute the gradient of its input, so it is shorter, and steps take a little less than the formula.
TEST(PipelineBubble, IsAboutTheFormulaWhereStagesAreEquallyLong) {
  if (std::getenv("RIDGELINE_BUBBLES") == nullptr) GTEST_SKIP() << "takes times: runs with RIDGELINE_BUBBLES=1";
  for (const PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::gpipe}) {
    for (const auto& [stages, micro] : {std::pair{2, 4}, {4, 8}}) {
      const PipelinePlan plan{.stages = stages, .micro_batches = micro, .order = order};
      const MeasuredStep measured = step_of(plan);
      const double busy = *std::max_element(measured.products.begin(), measured.products.end()) * kBubbleProductSeconds;
      const double bubble = 1 - busy / measured.seconds, formula = (stages - 1.0) / (micro + stages - 1.0);
      std::printf("%s, %d stages, %d micro-batches: waits %.3f of %.0f ms, the formula says %.3f\n",
                  std::string(name_of(order)).c_str(), stages, micro, bubble, measured.seconds * 1e3, formula);
      EXPECT_NEAR(bubble, formula, 0.1);
    }
  }
}

}  // namespace
}  // namespace ridgeline::train
