// Stepped precision: its syntax with every error message, when the switch is due, and runs that log their phases.
#include "ridgeline/train/accelerate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/device/simulated/simulated_device.h"
#include "ridgeline/train/callback/accelerator.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/line_model.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

TEST(AccelerateMode, TwoOrThreeFieldsWithTheirDefaults) {
  EXPECT_FALSE(parse_accelerate_mode(""));
  EXPECT_FALSE(ExperimentalConfig().accelerate);
  const auto ratio = [](const char* text) { return parse_accelerate_mode(text)->ratio; };
  EXPECT_EQ(ratio("fast|step"), 0.9);
  EXPECT_EQ(ratio("fast|step|"), 0.9);
  EXPECT_EQ(ratio("fast1|loss"), 1.05);
  EXPECT_EQ(ratio("fast|step|0.2"), 0.2);
  EXPECT_EQ(ratio("fast|loss|1.5"), 1.5);
  EXPECT_EQ(parse_accelerate_mode("fast1|loss|1.01")->type, "fast1");
  EXPECT_EQ(parse_accelerate_mode("fast1|loss|1.01")->trigger, AccelerateMode::Trigger::loss);
}

TEST(AccelerateMode, EveryMistakeHasItsText) {
  const auto error = [](const char* text) { return error_of([&] { parse_accelerate_mode(text); }); };
  EXPECT_EQ(error("fast"), "Format of accelerate_train_mode is invalid: fast");
  EXPECT_EQ(error("fast|step|0.9|1"), "Format of accelerate_train_mode is invalid: fast|step|0.9|1");
  EXPECT_EQ(error("Fast|step"),
            "accelerate_train_mode first part is invalid: Fast, you can choose one of `fast, fast1`");
  EXPECT_EQ(error("fast|steps"),
            "accelerate_train_mode second part is invalid: steps, you can choose one of `step, loss`");
  const std::string third = "accelerate_train_mode third part is invalid: ";
  EXPECT_EQ(error("fast|step|abc"), third + "abc ,you can choose `0.9` for `step` or `1.02` for `loss`");
  EXPECT_EQ(error("fast|step|0.19"), third + "0.19 ,you can choose `0.2-0.9` for `step`");
  EXPECT_EQ(error("fast|step|0.91"), third + "0.91 ,you can choose `0.2-0.9` for `step`");
  EXPECT_EQ(error("fast|loss|1.0"), third + "1.0 ,you can choose `1.01-1.5` for `loss`");
  EXPECT_EQ(error("fast|loss|1.51"), third + "1.51 ,you can choose `1.01-1.5` for `loss`");
  EXPECT_EQ(error("fast|step|nan"), third + "nan ,you can choose `0.2-0.9` for `step`");
}

TEST(AccelerateMode, GoesWithModesThatKeepTypesAlone) {
  const AccelerateMode fast = *parse_accelerate_mode("fast|step");
  const AccelerateMode fast1 = *parse_accelerate_mode("fast1|step");
  EXPECT_EQ(reduced_precision(fast, {}).mode, "allow_mix_precision_fp16");
  EXPECT_EQ(reduced_precision(fast1, {.mode = "must_keep_origin_dtype"}).mode, "allow_mix_precision_bf16");
  EXPECT_EQ(reduced_precision(fast1, {.mode = "allow_fp32_to_fp16"}).mode, "allow_mix_precision_bf16");
  EXPECT_EQ(reduced_precision(fast, {.mode_v2 = "origin"}).mode_v2, "mixed_float16");
  EXPECT_EQ(reduced_precision(fast1, {.mode_v2 = "origin"}).mode_v2, "mixed_bfloat16");
  EXPECT_EQ(error_of([&] { reduced_precision(fast, {.mode = "force_fp16"}); }),
            "accelerate fast_value:fast is not support with PRECISION_MODE: force_fp16");
  EXPECT_EQ(error_of([&] { reduced_precision(fast1, {.mode_v2 = "mixed_float16"}); }),
            "accelerate fast_value:fast1 is not support with PRECISION_MODE_V2: mixed_float16");
  // Levels are logged by their own name; O0 changes nothing.
  EXPECT_EQ(policy_of(reduced_precision(fast1, {.amp_level = "O0"})).low, DType::bf16);
  EXPECT_EQ(error_of([&] { reduced_precision(fast, {.amp_level = "O2"}); }),
            "accelerate fast_value:fast is not support with AMP_LEVEL: O2");
}

TEST(AccelerateMode, OpListsAndKeptTypesAreThoseOfTheReducedPrecision) {
  const std::string lists = testing::temporary_directory() + "/mixlist.json",
                    keep = testing::temporary_directory() + "/keep";
  write_file_atomically(lists, R"({"white-list": {"to-remove": ["Conv2D"]}})");
  write_file_atomically(keep, "conv1\n");
  Recipe recipe = small_run(testing::temporary_directory() + "/lists", 2, 1);
  recipe.experimental = ExperimentalConfig("fast1|step");
  recipe.precision.modify_mixlist = lists;
  recipe.precision.keep_dtype = keep;
  EXPECT_EQ(error_of([&] { check(recipe); }), "");
  const AccelerateMode& mode = *recipe.experimental.accelerate;
  const PrecisionPolicy reduced = policy_of(reduced_precision(mode, recipe.precision));
  EXPECT_EQ(reduced.moved.at("conv2d"), PrecisionList::gray);
  EXPECT_TRUE(policy_of(original_precision(mode, recipe.precision)).moved.empty());
  const std::vector<std::string> lines = describe(mode, recipe.precision);
  EXPECT_EQ(lines, (std::vector<std::string>{"precision allow_mix_precision_bf16: bf16 by the op lists",
                                             "precision must_keep_origin_dtype behind the switch: " +
                                                 std::string(precision_modes().front().doc)}));
  recipe.experimental = {};
  EXPECT_NE(error_of([&] { check(recipe); }).find("modify_mixlist is assigned"), std::string::npos);
}

TEST(AccelerateMode, TheSwitchIsDueByStepsAtTheLatestBeforeTheLastLoop) {
  const AccelerateMode mode = *parse_accelerate_mode("fast|step|0.9");
  const auto due = [&](std::int64_t now, std::int64_t loop) {
    return switch_due(mode, {.step_now = now, .total_step = 10000}, loop);
  };
  EXPECT_FALSE(due(8999, 1));
  EXPECT_TRUE(due(9000, 1));
  EXPECT_FALSE(due(8000, 1000));
  EXPECT_TRUE(due(9000, 1000));
  EXPECT_TRUE(due(6000, 4000));
  EXPECT_FALSE(due(5999, 4000));
}

TEST(AccelerateMode, TheSwitchIsDueByLossOnceOneWasToldThatIsNearTheTarget) {
  const AccelerateMode mode = *parse_accelerate_mode("fast|loss|1.25");
  const auto due = [&](double now) { return switch_due(mode, {.loss_now = now, .target_loss = 2}, 1); };
  EXPECT_FALSE(due(0));  // no loss was reported yet
  EXPECT_FALSE(due(2.51));
  EXPECT_TRUE(due(2.5));
}

TEST(AccelerateMode, TheEnvironmentCountsBeforeTheHook) {
  const ScopedVariable step("STEP_NOW", "9500"), total("TOTAL_STEP", "10000");
  const TrainingProgress progress = with_environment({.step_now = 1, .total_step = 7});
  EXPECT_EQ(progress.step_now, 9500);
  EXPECT_EQ(progress.total_step, 10000);
  {
    const ScopedVariable bad("TOTAL_STEP", "many");
    EXPECT_EQ(error_of([] { with_environment({}); }), "TOTAL_STEP is invalid, should be int, such as 1000");
  }
  const ScopedVariable loss("LOSS_NOW", "1,5");
  EXPECT_EQ(error_of([] { with_environment({}); }), "LOSS_NOW is invalid, should be float, such as 1.5");
}

TEST(TellMeStepOrLossHook, NeedsStepOrLossAndNamesThatTheStepReturns) {
  TrainingProgress progress;
  EXPECT_EQ(error_of([&] { TellMeStepOrLossHook hook({}, progress); }), "One of step or loss must be specified");
  LineModel line;
  TellMeStepOrLossHook hook({.loss = "lost:0", .final_loss = 1}, progress);
  EXPECT_NE(error_of([&] {
              Loop(line.model, line.feed, {.total_steps = 2}).run({&hook});
            }).find("the step returns no tensor 'lost:0': did you mean 'loss'?"),
            std::string::npos);
  EXPECT_EQ(line.model.global_step(), 0);
}

const PrecisionPolicy kReduced = policy_of(reduced_precision(*parse_accelerate_mode("fast1|step"), {}));

struct Phases {
  Phases(const std::string& mode, TrainingProgress& progress)
      : accelerator({.mode = *parse_accelerate_mode(mode),
                     .original = {},
                     .log = [this](const std::string& text) { log += text + "\n"; }},
                    progress) {}
  std::string log;
  Accelerator accelerator;
};

TEST(Accelerator, WithoutTheHookTheRunEndsBeforeItsFirstStep) {
  TrainingProgress progress;
  Phases phases("fast1|step", progress);
  LineModel line(kReduced);
  EXPECT_EQ(error_of([&] { Loop(line.model, line.feed, {.total_steps = 10}).run({&phases.accelerator}); }),
            "TOTAL_STEP is not set, which is needed when accelarate by step (TellMeStepOrLossHook tells it)");
  EXPECT_EQ(line.model.global_step(), 0);
}

TEST(Accelerator, ADeviceWithoutTheTypeEndsTheRunBeforeItsFirstStep) {
  TrainingProgress progress;
  Phases phases("fast1|step|0.5", progress);
  TellMeStepOrLossHook hook({.step = "global_step:0", .total_step = 30}, progress);
  LineModel line(kReduced,
                 {.compute_threads = 1, .make_device = [] {
                    return std::make_unique<SimulatedDevice>(SimulatedDeviceOptions{.missing_dtypes = {DType::bf16}});
                  }});
  EXPECT_NE(error_of([&] {
              Loop(line.model, line.feed, {.total_steps = 30}).run({&hook, &phases.accelerator});
            }).find("accelerate_train_mode fast1: no op of the step is in 16 bits: the device simulated"),
            std::string::npos);
  EXPECT_EQ(line.model.global_step(), 0);
}

// The steps of the switch are multiples of the run's loop, and settings without effect are not logged.
TEST(Accelerator, WithoutAFunctionForItsLinesItSwitchesAllTheSame) {
  TrainingProgress progress;
  TellMeStepOrLossHook hook({.step = "global_step:0", .total_step = 20}, progress);
  Accelerator printing({.mode = *parse_accelerate_mode("fast1|step|0.9"), .original = {}}, progress);
  LineModel line(kReduced);
  ::testing::internal::CaptureStdout();
  Loop(line.model, line.feed, {.total_steps = 20, .loop = 10}).run({&hook, &printing});
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("trigger recompile when step is 10\n"), std::string::npos);
  EXPECT_EQ(printing.phase(), PrecisionPhase::original);
  Accelerator silent({.mode = *parse_accelerate_mode("fast1|step|0.9"), .original = {}, .log = nullptr}, progress);
  LineModel other(kReduced);
  Loop(other.model, other.feed, {.total_steps = 20, .loop = 10}).run({&hook, &silent});
  EXPECT_EQ(silent.phase(), PrecisionPhase::original);
}

TEST(Accelerator, ByStepsItSaysThatTheRunEndedBeforeTheSwitch) {
  TrainingProgress progress;
  Phases phases("fast1|step|0.9", progress);
  TellMeStepOrLossHook hook({.step = "global_step:0", .total_step = 100}, progress);
  LineModel line(kReduced);
  Loop(line.model, line.feed, {.total_steps = 10, .loop = 5}).run({&hook, &phases.accelerator});
  EXPECT_NE(phases.log.find("the run ended before the step of the switch"), std::string::npos) << phases.log;
  EXPECT_EQ(phases.log.find("loss"), std::string::npos);
}

TEST(Accelerator, SwitchesOnceOnTheNominalGridAndSaysWhereItWasAskedFor) {
  TrainingProgress progress;
  Phases phases("fast1|step|0.5", progress);
  TellMeStepOrLossHook hook({.step = "global_step:0", .total_step = 30}, progress);
  LineModel line(kReduced);
  Loop(line.model, line.feed, {.total_steps = 30, .steps_per_epoch = 3, .loop = 4}).run({&hook, &phases.accelerator});
  EXPECT_EQ(phases.accelerator.phase(), PrecisionPhase::original);
  EXPECT_NE(phases.log.find("trigger recompile when step is 16\n"), std::string::npos) << phases.log;
  EXPECT_NE(phases.log.find("warning: the switch was asked for step 15, loops of 4 steps put it at step 16"),
            std::string::npos);
  EXPECT_EQ(phases.log.find("trigger", phases.log.find("trigger") + 1), std::string::npos);
  EXPECT_NE(phases.log.find("accelerate_train_mode: 16 steps in fast1 precision"), std::string::npos);
  EXPECT_NE(phases.log.find("14 steps in the original one"), std::string::npos);
  EXPECT_NE(phases.log.find("runs below an hour may not gain"), std::string::npos);
  EXPECT_EQ(line.model.global_step(), 30);
}

TEST(Accelerator, ByLossItSwitchesWhenTheLossIsNearTheTargetOrNever) {
  TrainingProgress progress;
  Phases phases("fast1|loss|1.5", progress);
  TellMeStepOrLossHook hook({.loss = "loss:0", .final_loss = 0.2}, progress);
  LineModel line(kReduced);
  Loop(line.model, line.feed, {.total_steps = 30, .loop = 1}).run({&hook, &phases.accelerator});
  EXPECT_NE(phases.log.find("trigger recompile when loss is 0."), std::string::npos) << phases.log;

  TrainingProgress other;
  Phases never("fast1|loss|1.5", other);
  TellMeStepOrLossHook second({.loss = "loss:0", .final_loss = 1e-12}, other);
  LineModel again(kReduced);
  Loop(again.model, again.feed, {.total_steps = 5, .loop = 1}).run({&second, &never.accelerator});
  EXPECT_NE(never.log.find("the whole run was done in reduced precision"), std::string::npos) << never.log;
}

Recipe stepped(const std::string& log_dir) {
  Recipe r = small_run(log_dir, 10, 2);
  r.warmup_epochs = 0;
  r.lr = 0.01;
  r.iterations_per_loop = 2;
  r.max_checkpoint_to_save = 10;
  r.experimental = ExperimentalConfig("fast1|step|0.6");
  return r;
}

// The bytes of the last checkpoint show whether a resume was exact.
TEST(Accelerator, ARecipeGoesOnInsideEitherPhaseWithTheSameBits) {
  const std::string root = testing::temporary_directory() + "/stepped";
  fs::remove_all(root);
  const TrainingResult whole = train(stepped(root + "/whole"));
  EXPECT_NE(read_file(whole.log_path).find("trigger recompile when step is 6\n"), std::string::npos);
  const auto phase = [&](std::int64_t step) {
    return load_checkpoint({.path = root + "/whole/" + checkpoint_name(step), .step = step}).info.precision_phase;
  };
  EXPECT_EQ(phase(4), "reduced");
  EXPECT_EQ(phase(6), "reduced");  // the switch happens before the next loop
  EXPECT_EQ(phase(8), "original");
  for (const std::int64_t cut : {4, 6, 8}) {
    const std::string log_dir = root + "/cut" + std::to_string(cut);
    fs::create_directories(log_dir);
    fs::copy_file(root + "/whole/" + checkpoint_name(cut), log_dir + "/" + checkpoint_name(cut));
    const TrainingResult rest = train(stepped(log_dir));
    EXPECT_TRUE(read_file(rest.checkpoint_path) == read_file(whole.checkpoint_path)) << cut;
    const bool switches = read_file(rest.log_path).find("trigger recompile") != std::string::npos;
    EXPECT_EQ(switches, cut < 8);
  }
  Recipe without = stepped(root + "/without");
  without.experimental = {};
  fs::create_directories(without.log_dir);
  fs::copy_file(root + "/whole/" + checkpoint_name(4), without.log_dir + "/" + checkpoint_name(4));
  EXPECT_NE(read_file(train(without).log_path).find("warning: --accelerate_train_mode is fast1|step|"),
            std::string::npos);
  Recipe full = stepped(root + "/full");
  full.experimental = {};
  EXPECT_NE(read_file(train(full).checkpoint_path), read_file(whole.checkpoint_path));
  fs::remove_all(root);
}

TEST(Accelerator, ARunWithLossScaleAveragesAndAccumulationGoesOnInsideEitherPhaseToo) {
  const auto recipe = [](const std::string& log_dir) {
    Recipe r = stepped(log_dir);
    r.optimization.accumulate_steps = 2;
    r.optimization.loss_scale = "dynamic,65536,2,3";
    r.optimization.clip_norm = 5;
    r.optimization.ema = 0.9;
    return r;
  };
  const std::string root = testing::temporary_directory() + "/stepped_with_all";
  fs::remove_all(root);
  const TrainingResult whole = train(recipe(root + "/whole"));
  for (const std::int64_t cut : {4, 6, 8}) {
    const std::string log_dir = root + "/cut" + std::to_string(cut);
    fs::create_directories(log_dir);
    fs::copy_file(root + "/whole/" + checkpoint_name(cut), log_dir + "/" + checkpoint_name(cut));
    EXPECT_TRUE(read_file(train(recipe(log_dir)).checkpoint_path) == read_file(whole.checkpoint_path)) << cut;
  }
  fs::remove_all(root);
}

}  // namespace
}  // namespace ridgeline::train
