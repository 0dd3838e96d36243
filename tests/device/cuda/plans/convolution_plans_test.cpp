#include "ridgeline/device/cuda/cudnn/convolution_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "ridgeline/core/error.h"
#include "tests/device/cuda/plans/plans_support.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::cuda::cudnn {
namespace {

Convolution convolution(Pass pass, DType type) {
  Convolution c;
  c.pass = pass;
  c.image = {8, 28, 28, 64};
  c.filter = {128, 3, 3, 64};
  c.result = {8, 28, 28, 128};
  c.window.kernel = {3, 3};
  c.window.pad_before = c.window.pad_after = {1, 1};
  c.operands = c.written = type;
  return c;
}

const Functions& functions() { return *testing::cudnn_without_card().functions; }

Target hopper() { return Target::described(functions(), testing::card_description("sm_90")); }

TEST(CudnnPlans, F32IsF32UnlessTf32IsAskedFor) {
  RIDGELINE_NEEDS_CUDNN();
  const Target target = hopper();
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    const Convolution c = convolution(pass, DType::f32);
    PlanRules rules;
    rules.tensor_cores = false;
    Candidates exact(target, graph_of(functions(), c), rules);
    int plans = 0;
    while (const std::optional<Plan> plan = exact.next()) {
      ++plans;
      EXPECT_FALSE(plan->notes().has(NumericalNote::tensor_core)) << plan->name();
      EXPECT_FALSE(plan->notes().has(NumericalNote::down_converts_inputs)) << plan->name();
    }
    EXPECT_GT(plans, 0) << c.text();
    rules.tensor_cores = true;
    Candidates rounded(target, graph_of(functions(), c), rules);
    const std::optional<Plan> first = rounded.next();
    ASSERT_TRUE(first.has_value());
    EXPECT_TRUE(first->notes().has(NumericalNote::tensor_core)) << first->name();
  }
}

TEST(CudnnPlans, EveryPlanKeepsToTheRules) {
  RIDGELINE_NEEDS_CUDNN();
  const Target target = hopper();
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
      const Convolution c = convolution(pass, type);
      PlanRules rules;
      rules.high_precision = true;
      rules.compiled = false;
      rules.workspace_bytes = std::size_t{1} << 20;
      Candidates candidates(target, graph_of(functions(), c), rules);
      while (const std::optional<Plan> plan = candidates.next()) {
        EXPECT_LE(plan->workspace_bytes(), rules.workspace_bytes) << plan->name();
        for (const NumericalNote note : {NumericalNote::nondeterministic, NumericalNote::winograd, NumericalNote::fft,
                                         NumericalNote::reduced_precision_reduction}) {
          EXPECT_FALSE(plan->notes().has(note)) << plan->name() << ", note " << static_cast<int>(note);
        }
        EXPECT_FALSE(plan->notes().has(BehaviorNote::compiled_at_run_time)) << plan->name();
      }
    }
  }
}

TEST(CudnnPlans, AnEngineIsNamedWithItsKnobsSoThatNoneIsTriedTwice) {
  RIDGELINE_NEEDS_CUDNN();
  const Target target = hopper();
  Candidates candidates(target, graph_of(functions(), convolution(Pass::forward, DType::bf16)), {});
  std::vector<std::string> names;
  while (const std::optional<Plan> plan = candidates.next()) names.push_back(plan->name());
  EXPECT_GT(names.size(), 5u);
  std::vector<std::string> unique = names;
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  EXPECT_EQ(unique.size(), names.size());
}

TEST(CudnnPlans, WhatTheLibraryDoesNotTakeIsRefusedInItsWords) {
  RIDGELINE_NEEDS_CUDNN();
  const Target target = hopper();
  Convolution wrong = convolution(Pass::forward, DType::bf16);
  wrong.result = {8, 20, 28, 128};
  std::string reason;
  try {
    Candidates candidates(target, graph_of(functions(), wrong), {});
    if (!candidates.next()) reason = candidates.why_none();
  } catch (const Failure& failure) {
    reason = failure.what();
  }
  EXPECT_NE(reason.find("CUDNN_STATUS"), std::string::npos) << reason;
  EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
}

TEST(CudnnPlans, TheFirstPlanIsTakenAndTheFastestWhereThereIsAClock) {
  RIDGELINE_NEEDS_CUDNN();
  const testing::PretendedCard card("sm_90");
  testing::Warnings warnings;
  Libraries untimed(Target::current_card(card.functions()), nullptr, nullptr, {.warn = warnings.sink()});
  const Convolution c = convolution(Pass::forward, DType::bf16);
  const ConvolutionPlans first(untimed, c, {});
  EXPECT_NE(first.reason().find("first of"), std::string::npos) << first.reason();

  int trials = 0;
  const TrialClock third = [&](const Trial& trial) {
    EXPECT_EQ(trial.bytes.size(), 3u);
    EXPECT_EQ(trial.bytes[0], ValueType(DType::bf16, c.image).bytes());
    return ++trials == 3 ? 0.5 : 1.0 + trials;
  };
  Libraries timed(Target::current_card(card.functions()), nullptr, nullptr, {.warn = warnings.sink(), .clock = third});
  const ConvolutionPlans fastest(timed, c, {});
  EXPECT_EQ(trials, 8);
  EXPECT_NE(fastest.plan().name(), first.plan().name());
  EXPECT_EQ(fastest.reason(), "fastest of 8: 0.5000 ms, the first 2.0000 ms");

  const TrialClock none = [](const Trial&) { return std::numeric_limits<double>::infinity(); };
  Libraries broken(Target::current_card(card.functions()), nullptr, nullptr, {.warn = warnings.sink(), .clock = none});
  EXPECT_THROW(ConvolutionPlans(broken, c, {}), Failure);
  EXPECT_TRUE(warnings.lines.empty());
}

TEST(CudnnPlans, APlanThatFailsIsNamedOnceAndTheNextOneRuns) {
  RIDGELINE_NEEDS_CUDNN();
  testing::PretendedCard card("sm_90");
  testing::Warnings warnings;
  Libraries libraries(Target::current_card(card.functions()), nullptr, nullptr, {.warn = warnings.sink()});
  ConvolutionPlans plans(libraries, convolution(Pass::forward, DType::bf16), {});
  const std::string failing = plans.plan().name();
  void* const addresses[] = {&card, &card, &card};
  card.runs_that_fail = 1;
  plans.run(addresses, nullptr, nullptr);
  EXPECT_EQ(card.runs, 1);
  ASSERT_EQ(warnings.lines.size(), 1u);
  EXPECT_NE(warnings.lines[0].find(failing + " failed"), std::string::npos) << warnings.lines[0];
  EXPECT_NE(warnings.lines[0].find(plans.plan().name() + " takes its place"), std::string::npos) << warnings.lines[0];
  EXPECT_LE(plans.plan().workspace_bytes(), plans.workspace_bytes());
  plans.run(addresses, nullptr, nullptr);
  EXPECT_EQ(warnings.lines.size(), 1u);
  card.runs_that_fail = 1000;
  EXPECT_THROW(plans.run(addresses, nullptr, nullptr), Error);
}

TEST(CudnnPlans, TheSecondStartReadsWhatTheFirstOneKept) {
  RIDGELINE_NEEDS_CUDNN();
  const testing::PretendedCard card("sm_90");
  testing::Warnings warnings;
  const std::string folder = ridgeline::testing::temporary_directory() + "/kept_plans";
  std::filesystem::remove_all(folder);
  const Convolution c = convolution(Pass::backward_data, DType::f16);
  const auto start = [&](TrialClock clock) {
    return std::make_unique<Libraries>(Target::current_card(card.functions()), nullptr, nullptr,
                                       LibrariesOptions{warnings.sink(), folder, std::move(clock)});
  };
  const auto first = start({});
  const std::string name = ConvolutionPlans(*first, c, {}).plan().name();
  const auto second = start({});
  const ConvolutionPlans kept(*second, c, {});
  EXPECT_EQ(kept.reason(), "kept");
  EXPECT_EQ(kept.plan().name(), name);
  // Other rules are another plan.
  EXPECT_NE(ConvolutionPlans(*second, c, {.high_precision = true}).reason(), "kept");
  // What was not timed is timed where that is asked for, once.
  int trials = 0;
  const auto timed = start([&](const Trial&) { return ++trials == 2 ? 0.1 : 1.0; });
  EXPECT_NE(ConvolutionPlans(*timed, c, {}).plan().name(), name);
  EXPECT_EQ(trials, 8);
  EXPECT_EQ(ConvolutionPlans(*timed, c, {}).reason(), "kept, the fastest");
  EXPECT_EQ(trials, 8);
  EXPECT_TRUE(warnings.lines.empty());
  // A plan of another content is not taken, and the library's reason is said.
  const auto damaged = start({});
  const std::string key = c.text() + "; " + PlanRules{}.text();
  damaged->folder().write(key, {name, false, "{\"no\": \"plan\"}"});
  EXPECT_NE(ConvolutionPlans(*damaged, c, {}).reason(), "kept");
  EXPECT_EQ(warnings.lines.size(), 1u);
}

}  // namespace
}  // namespace ridgeline::cuda::cudnn
