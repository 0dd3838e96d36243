// How often a training step turns its parameters into what kernels want to read: for each form once.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ridgeline/compile/compile.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/synthetic.h"

namespace ridgeline {
namespace {

struct FormsCase {
  const char* model;
  std::int64_t image_size;
};
constexpr FormsCase kModels[] = {{"alexnet_torchvision", 64}, {"resnet18", 32}};

TEST(ParameterForms, AStepMakesEachAtMostOnce) {
  constexpr std::int64_t kClasses = 10;
  constexpr int kRuns = 2;
  for (const FormsCase& c : kModels) {
    for (const char* precision : {"must_keep_origin_dtype", "allow_mix_precision_bf16"}) {
      SCOPED_TRACE(std::string(c.model) + " " + precision);
      nn::StepOptions options;
      options.model = &nn::model_named(c.model);
      options.model_options.num_classes = kClasses;
      options.batch_size = 2;
      options.image_size = c.image_size;
      const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{.base = 0.01}});
      Session session;
      std::map<std::string, std::int64_t> ranks;
      for (const nn::ParameterSpec& spec : step.parameters) {
        session.parameters().set(spec.name, Tensor::zeros(spec.dtype, spec.shape), spec.kind());
        ranks[spec.name] = spec.shape.rank();
      }
      const auto program =
          compile(step.graph, session, {.precision = PrecisionPolicy::of(precision_mode_named(precision))});
      train::SyntheticBatch(options, kClasses, 3).bind(*program);
      for (int run = 0; run < kRuns; ++run) ASSERT_TRUE(program->run());
      std::map<std::string, std::set<std::string>> forms;  // by parameter
      for (const LaunchReport& launch : program->launches()) {
        if (launch.parameter.empty()) continue;
        EXPECT_LE(launch.runs, kRuns) << launch.parameter;
        EXPECT_TRUE(forms[launch.parameter].insert(launch.kernel).second)
            << launch.parameter << " is made twice a step: " << launch.kernel;
      }
      EXPECT_FALSE(forms.empty());
      for (const auto& [name, made] : forms) {
        // Filters may have one for the forward pass and one for the gradient of the image.
        EXPECT_LE(made.size(), ranks.at(name) == 4 ? 2u : 1u) << name << " " << *made.begin();
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline
