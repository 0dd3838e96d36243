// Plans for the convolutions of every model, without a card. A sample by default; RIDGELINE_LIBRARY_PLANS=all makes all
// of them: models, batches of 1, 32, 128, 256 and 1024, f32, tf32, bf16, f16, sm_80 and sm_90.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "ridgeline/device/cuda/cudnn/node.h"
#include "ridgeline/device/cuda/cudnn/planner.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/nn/unet.h"
#include "tests/device/cuda/plans/model_layers.h"
#include "tests/device/cuda/plans/plans_support.h"

namespace ridgeline::cuda::cudnn {
namespace {

bool all_plans() {
  const char* value = std::getenv("RIDGELINE_LIBRARY_PLANS");
  return value != nullptr && std::string_view(value) == "all";
}

// 3x3, one filter a channel: kernels of our own stand in front of the library's.
bool is_depthwise_layer(const Convolution& c) {
  return c.filter[3] == 1 && c.filter[0] == c.image[3] && c.filter[1] == 3 && c.filter[2] == 3;
}

// As the kernels ask for it: a bias and a gradient in the operands' type.
Convolution asked_for(const ModelLayer& layer) {
  Convolution c = convolution_of(layer.node, layer.inputs, layer.outputs);
  c.bias_type = c.operands;
  if (c.pass == Pass::backward_filter) c.written = c.operands;
  return c;
}

struct Case {
  DType type;
  bool tf32;
};
constexpr Case kCases[] = {{DType::f32, false}, {DType::f32, true}, {DType::bf16, false}, {DType::f16, false}};

// What a test run without the variable looks at.
bool in_sample(const nn::ModelInfo& model, std::int64_t batch) {
  return (model.name == "alexnet" && batch == 128) || (model.name == "resnet18" && batch == 32) ||
         (model.name == "mobilenet_v2" && batch == 1);
}

TEST(ModelPlans, EveryConvolutionOfTheModelsHasAPlanOfAtMost512Megabytes) {
  RIDGELINE_NEEDS_CUDNN();
  const bool all = all_plans();
  const cudnn::Functions& functions = *testing::cudnn_without_card().functions;
  int made = 0, looked_at = 0, own = 0;
  std::map<std::string, int> engines;  // by card, pass, type and engine: how often
  std::vector<std::string> refused;
  std::set<std::string> done;

  const auto make_plan = [&](const std::string& card, const Target& target, const Convolution& c, const Case& which) {
    const std::string type = std::string(ridgeline::name_of(which.type)) + (which.tf32 ? " as tf32" : "");
    PlanRules rules;
    rules.tensor_cores = which.tf32 || which.type != DType::f32;
    Candidates candidates(target, graph_of(functions, c), rules);
    const std::optional<Plan> plan = candidates.next();
    if (!plan) {
      refused.push_back(fmt::format("{} {} {}: {}", card, type, c.text(), candidates.why_none()));
      return;
    }
    ++made;
    EXPECT_LE(plan->workspace_bytes(), std::size_t{512} << 20) << c.text();
    const std::string engine = plan->name().substr(0, plan->name().find(" ("));
    ++engines[fmt::format("{} {} {} {}", card, name_of(c.pass), type, engine)];
  };

  std::vector<std::pair<std::string, Target>> cards;
  for (const std::string card : {"sm_90", "sm_80"}) {
    cards.emplace_back(card, Target::described(functions, testing::card_description(card)));
  }
  for (const nn::ModelInfo& model : nn::all_models()) {
    for (const std::int64_t batch : {1, 32, 128, 256, 1024}) {
      if (!all && !in_sample(model, batch)) continue;
      for (const Case& which : kCases) {
        for (const ModelLayer& layer : layers_of(model.name, batch, which.type)) {
          if (layer.dense()) continue;
          const Convolution c = asked_for(layer);
          if (is_depthwise_layer(c)) {
            ++own;
            continue;
          }
          if (!done.insert(c.text() + (which.tf32 ? " tf32" : "")).second) continue;
          if (++looked_at % 5 != 0 && !all) continue;
          for (const auto& [card, target] : cards) make_plan(card, target, c, which);
        }
      }
    }
  }
  for (const auto& [engine, count] : engines) std::printf("%s: %d\n", engine.c_str(), count);
  std::printf("%d plans, %zu refused, %d depthwise layers by kernels of our own\n", made, refused.size(), own);
  EXPECT_GT(made, all ? 2000 : 60);
  for (const std::string& line : refused) ADD_FAILURE() << line;
}

// A transposed convolution is the gradient by the image of a convolution, and its own gradients are the convolution and
// its gradient of the weights: the plans are those of any layer.
TEST(ModelPlans, TheTransposedConvolutionsOfAUnetHavePlansForAllTheirPasses) {
  RIDGELINE_NEEDS_CUDNN();
  const cudnn::Functions& functions = *testing::cudnn_without_card().functions;
  const nn::Network unet = nn::segmentation_network(
      {.model = {.classes = 2, .channels = 32, .depth = 2}, .batch_size = 4, .height = 64, .width = 64});
  for (const std::string card : {"sm_90", "sm_80"}) {
    const Target target = Target::described(functions, testing::card_description(card));
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      std::map<Pass, int> plans;
      for (const ModelLayer& layer : layers_of(unet, type)) {
        const Convolution c = asked_for(layer);
        if (c.window.kernel[0] != 2) continue;  // U-Net has 2x2 there alone
        PlanRules rules;
        rules.tensor_cores = type != DType::f32;
        Candidates candidates(target, graph_of(functions, c), rules);
        EXPECT_TRUE(candidates.next().has_value()) << c.text() << ": " << candidates.why_none();
        ++plans[c.pass];
      }
      EXPECT_EQ(plans.size(), 3u) << card << ' ' << ridgeline::name_of(type);
    }
  }
}

}  // namespace
}  // namespace ridgeline::cuda::cudnn
