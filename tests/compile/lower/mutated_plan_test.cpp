// Plans of real steps with one fault (plan_mutations.h): the verifier finds each.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ridgeline/compile/compile.h"
#include "ridgeline/compile/lower/verify_plan.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/nn/training_step.h"
#include "tests/comm/ranks.h"
#include "tests/compile/lower/plan_mutations.h"
#include "tests/compile/random_graph.h"

namespace ridgeline {
namespace {

std::vector<testing::PlanMutation> all_mutations() {
  std::vector<testing::PlanMutation> all;
  for (const auto some : {testing::value_mutations(), testing::lane_mutations()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string fault_of(const Plan& plan) {
  try {
    verify(plan, PlanStage::lanes);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

// The number of mutations of each kind over all plans.
using Tried = std::map<std::string, int>;

void break_plan(Plan plan, const std::string& name, std::uint64_t seed, Tried& tried) {
  ASSERT_EQ(fault_of(plan), "") << name;
  SampleRandom random(philox_key(seed, name), 0, 0);
  for (const testing::PlanMutation& mutation : all_mutations()) {
    int left = 3;
    for (int draw = 0; draw < 40 && left > 0; ++draw) {
      const std::optional<testing::Undo> undo = mutation.mutate(plan, random);
      if (!undo) continue;
      --left;
      ++tried[mutation.name];
      const std::string fault = fault_of(plan);
      EXPECT_NE(fault.find("plan @" + plan.graph.name), std::string::npos)
          << name << ": " << mutation.name << ": " << fault;
      (*undo)();
    }
  }
  ASSERT_EQ(fault_of(plan), "") << name << " is as it was";
}

nn::StepOptions step_of(const char* name, std::int64_t image_size) {
  return {.model = &nn::model_named(name),
          .model_options = {.num_classes = 5},
          .batch_size = 2,
          .image_size = image_size,
          .images = nn::ImageForm::f32,
          .seed = 3};
}

nn::TrainingOptions plain_training() { return {.schedule = optim::Constant{0.01}}; }

TEST(MutatedPlans, EachOfThemIsCaught) {
  Tried tried;
  std::uint64_t seed = 0;
  const auto break_step = [&](const std::string& name, const Graph& graph, const SessionOptions& options,
                              const CompileOptions& compile) {
    Session session(options);
    break_plan(plan_program(graph, session, compile).plan, name, ++seed, tried);
  };
  for (std::uint64_t step = 0; step < 12; ++step) {
    const Graph graph = testing::random_step(step).train;
    break_step("random step", graph, {.compute_threads = 1, .parallel_launches = 3}, {});
    break_step("random step on the simulated device", graph, {.device = "simulated"}, {});
  }
  break_step("resnet20", nn::build_training_step(step_of("resnet20", 16), plain_training()).graph,
             {.compute_threads = 1, .parallel_launches = 2}, {});
  break_step("resnet20's evaluation", nn::build_evaluation_step(step_of("resnet20", 16)).graph, {.compute_threads = 1},
             {});
  break_step("alexnet in bf16", nn::build_training_step(step_of("alexnet", 67), plain_training()).graph,
             {.compute_threads = 1},
             {.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))});

  nn::TrainingOptions clipped = plain_training();
  clipped.gradients.clip_norm = 1;
  const Graph alexnet = nn::build_training_step(step_of("alexnet", 67), clipped).graph;
  comm::expect_ranks(2, [&](comm::Communicator& ranks) {
    for (const int lanes : {1, 2}) {
      for (const bool shard : {true, false}) {
        SessionOptions options{.compute_threads = 1, .parallel_launches = lanes};
        options.groups["world"] = std::shared_ptr<comm::Communicator>(&ranks, [](comm::Communicator*) {});
        Session session(options);
        Plan plan =
            plan_program(alexnet, session, {.distribution = {.ranks = 2, .rank = ranks.rank(), .shard_updates = shard}})
                .plan;
        if (ranks.rank() != 0) continue;
        EXPECT_TRUE(
            std::any_of(plan.launches.begin(), plan.launches.end(), [](const Launch& l) { return l.shared >= 0; }));
        break_plan(std::move(plan), shard ? "split updates" : "ranks", ++seed, tried);
      }
    }
  });
  int all = 0;
  for (const testing::PlanMutation& mutation : all_mutations()) {
    EXPECT_GT(tried[mutation.name], 0) << mutation.name;
    all += tried[mutation.name];
  }
  EXPECT_GE(all, 200);
}

}  // namespace
}  // namespace ridgeline
