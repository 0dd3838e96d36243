// Plans for the convolutions of every model, without a card. A sample by default; RIDGELINE_LIBRARY_PLANS=all makes all
// of them: models, batches of 1, 32, 128, 256 and 1024, f32, tf32, bf16, f16, sm_80 and sm_90.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "ridgeline/device/cuda/cublas/node.h"
#include "ridgeline/device/cuda/cudnn/node.h"
#include "ridgeline/device/cuda/cudnn/planner.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/nn/models.h"
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

TEST(ModelPlans, EveryConvolutionOfTheModelsHasAPlanOfAtMost512Megabytes) {
  RIDGELINE_NEEDS_CUDNN();
  const bool all = all_plans();
  int made = 0, looked_at = 0, own = 0;
  std::map<std::string, std::size_t> engines;  // by which pass, type and engine: how often
  std::vector<std::string> refused;
  for (const std::string card : {"sm_90", "sm_80"}) {
    const Target target = Target::described(*testing::cudnn_without_card().functions, testing::card_description(card));
    std::set<std::string> done;
    for (const nn::ModelInfo& model : nn::all_models()) {
      for (const std::int64_t batch : {1, 32, 128, 256, 1024}) {
        for (const auto& [type, tf32] : kCases) {
          // The sample: one batch a model, every seventh layer.
          if (!all && batch != (model.name.size() % 2 == 0 ? 32 : 256)) continue;
          for (const ModelLayer& layer : layers_of(model.name, batch, type)) {
            if (layer.dense()) continue;
            const Convolution c = asked_for(layer);
            if (is_depthwise_layer(c)) {
              ++own;
              continue;
            }
            if (!done.insert(c.text() + (tf32 ? " tf32" : "")).second) continue;
            if (++looked_at % 7 != 0 && !all) continue;
            PlanRules rules;
            rules.tensor_cores = tf32 || type != DType::f32;
            Candidates candidates(target, graph_of(target.functions(), c), rules);
            const std::optional<Plan> plan = candidates.next();
            if (!plan) {
              refused.push_back(fmt::format("{} {}{}: {}", card, c.text(), tf32 ? " tf32" : "", candidates.why_none()));
              continue;
            }
            ++made;
            EXPECT_LE(plan->workspace_bytes(), std::size_t{512} << 20) << c.text();
            ++engines[fmt::format("{} {} {}{} {}", card, name_of(c.pass), ridgeline::name_of(type),
                                  tf32 ? " as tf32" : "", plan->name().substr(0, plan->name().find(" (")))];
          }
        }
      }
    }
  }
  for (const auto& [engine, count] : engines) std::printf("%s: %zu\n", engine.c_str(), count);
  std::printf("%d plans, %zu refused, %d depthwise layers by kernels of our own\n", made, refused.size(), own);
  EXPECT_GT(made, all ? 2000 : 60);
  for (const std::string& line : refused) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace ridgeline::cuda::cudnn
