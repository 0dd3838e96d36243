// Flags of `train` for gradients before the update, stepped precision and run configurations.
#include <filesystem>

#include "ridgeline/core/file.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::expect;
using testing::run;

const std::string& flags_root() {
  static const std::string path = testing::temporary_directory() + "/training_flags";
  return path;
}

std::string small(const std::string& log_dir) {
  return "train --synthetic --model=linear --image_size=8 --num_classes=3 --batch_size=4 --max_train_steps=10 "
         "--warmup_epochs=0 --lr=0.001 --log_dir=" +
         flags_root() + "/" + log_dir + " ";
}

TEST(TrainingFlags, RandomPixelsTrainWithoutAMode) {
  expect(run(small("alone")), 0, {"training steps: 10\n", "step:    10"});
  expect(run(small("alone") + "--mode=train_and_evaluate"), 2, {"--synthetic has no validation part"});
}

TEST(TrainingFlags, SteppedPrecisionShowsItsPhases) {
  expect(run(small("stepped") + "--iterations_per_loop=1 --accelerate_train_mode='fast1|step|0.5'"), 0,
         {"accelerate_train_mode is experimental", "trigger recompile when step is 5\n", "5 steps in fast1 precision",
          "5 steps in the original one"});
  expect(run(small("loss") + "--accelerate_train_mode='fast|loss'"), 2,
         {"--accelerate_train_mode=fast|loss|1.05 needs the loss that the run aims at: --final_loss=VALUE",
          "TARGET_LOSS"});
  expect(run(small("bad") + "--accelerate_train_mode=fast"), 2, {"Format of accelerate_train_mode is invalid: fast"});
  expect(run(small("bad") + "--accelerate_train_mode='fast|step' --precision_mode=force_fp16"), 2,
         {"accelerate fast_value:fast is not support with PRECISION_MODE: force_fp16"});
  for (const char* mode : {"", "--accelerate_train_mode='fast|step' "})
    expect(run(small("bad") + mode + "--final_loss=2"), 2, {"--final_loss needs --accelerate_train_mode by loss"});
}

// Op lists and kept types apply to the reduced precision; an amp_level that changes nothing may be given as well.
TEST(TrainingFlags, SteppedPrecisionTakesWhatChangesItsReducedPrecision) {
  std::filesystem::create_directories(flags_root());
  const std::string lists = flags_root() + "/lists.json", keep = flags_root() + "/keep";
  write_file_atomically(lists, R"({"white-list": {"to-remove": ["ReluGradV2"]}})");
  write_file_atomically(keep, "softmax\n");
  const std::string mode = "--iterations_per_loop=1 --accelerate_train_mode='fast1|step|0.5' ";
  const testing::Outcome changed = run(small("lists") + mode + "--modify_mixlist=" + lists + " --keep_dtype=" + keep);
  expect(changed, 0, {"precision allow_mix_precision_bf16: ", "trigger recompile when step is 5\n"});
  EXPECT_EQ(changed.text.find("has no effect"), std::string::npos) << changed.text;
  expect(run(small("level_0") + mode + "--amp_level=O0"), 0, {"trigger recompile when step is 5\n"});
  expect(run(small("bad") + mode + "--amp_level=O2"), 2,
         {"accelerate fast_value:fast1 is not support with AMP_LEVEL: O2"});
}

TEST(TrainingFlags, AnEmptySteppedPrecisionOfARunConfigurationIsOff) {
  std::filesystem::create_directories(flags_root());
  const std::string config = flags_root() + "/off.json", preset = flags_root() + "/stepped.yaml";
  write_file_atomically(config, R"({"experimental_config": {"accelerate_train_mode": ""}})");
  write_file_atomically(preset, "accelerate_train_mode: fast1|step|0.5\niterations_per_loop: 1\n");
  const std::string stepped = "--preset=" + preset + " ";
  expect(run(small("preset") + stepped), 0, {"trigger recompile when step is 5\n"});
  for (const std::string& words : {std::string(), stepped}) {
    const testing::Outcome off = run(small(words.empty() ? "off" : "off_beside") + words + "--run_config=" + config);
    expect(off, 0, {"step:    10"});
    EXPECT_EQ(off.text.find("trigger recompile"), std::string::npos) << off.text;
  }
}

TEST(TrainingFlags, GradientsAreScaledClippedAndAccumulated) {
  expect(run(small("all") + "--accumulate_steps=2 --loss_scale=dynamic --clip_norm=1 --clip_value=0.5 --ema=0.9"), 0,
         {"step:    10"});
  expect(run(small("level") + "--amp_level=O2"), 0, {"amp_level O2: batch norms stay f32, a dynamic loss scale"});
  expect(run(small("bad") + "--amp_level=O4"), 2, {"unknown amp_level 'O4' (allowed: O0, O1, O2, O3, auto)"});
  expect(run(small("bad") + "--amp_level=O1 --precision_mode=force_fp16"), 2, {"can not be assigned at the same time"});
  expect(run(small("bad") + "--loss_scale=0.5"), 2, {"loss scale must be at least 1."});
  expect(run(small("bad") + "--loss_scale=dynamo"), 2, {"'dynamo' is no loss scale", "dynamic,INIT,FACTOR,WINDOW"});
  expect(run(small("bad") + "--accumulate_steps=0"), 2, {"--accumulate_steps=0 is out of range (allowed: 1 or more)"});
  expect(run(small("bad") + "--ema=1"), 2, {"--ema=1 is out of range (allowed: [0, 1))"});
  expect(run(small("bad") + "--early_stopping=2"), 2, {"--early_stopping needs evaluations"});
}

TEST(TrainingFlags, AWrongCallLeavesNoDirectory) {
  expect(run("train --log_dir=" + flags_root() + "/wrong"), 2, {"--data_dir is needed (or --synthetic=True)"});
  expect(run("train --synthetic --mode=train_and_evaluate --log_dir=" + flags_root() + "/wrong"), 2,
         {"no validation part"});
  EXPECT_FALSE(std::filesystem::exists(flags_root() + "/wrong"));
}

TEST(TrainingFlags, CheckpointsByTimeAreMadeWhereLoopsEnd) {
  std::filesystem::remove_all(flags_root() + "/seconds");
  expect(run(small("seconds") + "--iterations_per_loop=4 --save_checkpoints_secs=1e-9 --max_checkpoint_to_save=9"), 0,
         {});
  for (const char* step : {"4", "8", "10"})
    EXPECT_TRUE(std::filesystem::exists(flags_root() + "/seconds/model.ckpt-" + step + ".safetensors")) << step;
  std::filesystem::remove_all(flags_root() + "/hours");
  expect(run(small("hours") + "--iterations_per_loop=4 --save_checkpoints_secs=3600"), 0, {});
  EXPECT_FALSE(std::filesystem::exists(flags_root() + "/hours/model.ckpt-4.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(flags_root() + "/hours/model.ckpt-10.safetensors"));
  expect(run(small("bad") + "--crop_padding=4 --min_area=0.5"), 2, {"--min_area has no effect with --crop_padding"});
  expect(run(small("bad") + "--save_checkpoints_secs=9 --save_checkpoints_steps=9"), 2, {"cannot both be given"});
}

TEST(TrainingFlags, WhatIsNoNumberIsSaidWithItsFlag) {
  expect(run("train --lr=abc"), 2, {"train: --lr=abc is not a number\n"});
  expect(run("train --max_epochs=1.5"), 2, {"train: --max_epochs=1.5 is not an integer\n"});
  expect(run("train --batch_size=99999999999999999999"), 2, {"--batch_size=99999999999999999999 is too large\n"});
  expect(run("train --num_workers=2147483648"), 2, {"train: --num_workers=2147483648 is too large\n"});
  expect(run("train --synthetic --lr=1e9"), 2, {"--lr=1000000000 is out of range (allowed: 0 to 1000000)"});
  expect(run("train --seed=-1"), 2, {"train: --seed=-1 is not an integer of 0 or more\n"});
  expect(run("predict --top=-1 x.jpg"), 2, {"predict: --top=-1 is not an integer of 0 or more\n"});
  expect(run("predict --top=0 x.jpg"), 2, {"--top=0 shows nothing (allowed: 1 or more)"});
  expect(run("train --synthetic=maybe"), 2, {"train: --synthetic=maybe is not a boolean (allowed: True, False)\n"});
  expect(run("bench step --steps=many"), 2, {"bench step: --steps=many is not an integer\n"});
}

TEST(TrainingFlags, WhatDoesNothingBesideTheOtherFlagsIsSaid) {
  expect(run(small("idle") + "--restore_exclude=fc"), 0,
         {"warning: --restore_exclude has no effect without --weights\n"});
  expect(run(small("idle") + "--checkpoint_dir=elsewhere"), 0,
         {"warning: --checkpoint_dir has no effect on a training"});
}

TEST(TrainingFlags, AWarmUpThatTheRunDoesNotOutlastIsSaid) {
  expect(run(small("warming") + "--warmup_epochs=2 --max_epochs=2 --max_train_steps=1"), 0,
         {"warning: --warmup_epochs=2 with --max_epochs=2: the rate only rises, and the run ends below --lr\n"});
  const auto outlasted = run(small("warmed") + "--warmup_epochs=1 --max_epochs=2 --max_train_steps=1");
  expect(outlasted, 0, {});
  EXPECT_EQ(outlasted.text.find("--warmup_epochs"), std::string::npos) << outlasted.text;
}

TEST(TrainingFlags, TheIntervalOfEvaluationsDoesNothingWithoutThem) {
  const std::string warning = "warning: --epochs_between_evals has no effect with --mode=train";
  expect(run(small("intervals") + "--epochs_between_evals=2 --max_train_steps=1"), 0, {warning});
  const auto silent = run(small("no_intervals") + "--max_train_steps=1");
  expect(silent, 0, {});
  EXPECT_EQ(silent.text.find("--epochs_between_evals"), std::string::npos) << silent.text;
}

TEST(TrainingFlags, EpochsOfDecayRise) {
  for (const std::string epochs : {"3,1", "2,2"})
    expect(run(small("bad") + "--lr_schedule=multi_step --lr_decay_epochs=" + epochs), 2,
           {"--lr_decay_epochs=" + epochs + ": epochs in rising order"});
}

TEST(TrainingFlags, LengthsThatNobodyCanCountAreRefused) {
  const std::string most = "=9223372036854775807";
  for (const char* flag : {"--max_epochs", "--warmup_epochs", "--epochs_between_evals"})
    expect(run(small("bad") + flag + most), 2, {flag + most + " is out of range", "1000000000)"});
  expect(run(small("bad") + "--accumulate_steps" + most), 2, {"--accumulate_steps" + most + " is out of range"});
}

TEST(TrainingFlags, AnExperimentTakesItsNameAnywhereAndItsSeedsByTheirOwnFlag) {
  expect(run("experiment --seeds=1 fusio"), 2, {"unknown experiment 'fusio'", "fusion"});
  expect(run("experiment swep --flag=lr=1,2"), 2, {"unknown experiment 'swep'"});
  expect(run("experiment fusion --out=" + flags_root() + "/e --seed=3"), 2,
         {"--seed is given to each run by the experiment"});
  EXPECT_FALSE(std::filesystem::exists(flags_root() + "/e"));
  expect(run("experiment --out=" + flags_root() +
             "/e sweep --flag=num_classes=3,1 --synthetic --model=linear --image_size=8 "
             "--batch_size=4 --max_train_steps=2 --warmup_epochs=0"),
         1, {"failed: ridgeline: --num_classes=1 is out of range", "ridgeline experiment: 1 of 2 runs failed\n"});
}

TEST(TrainingFlags, ErrorsNameTheFlagsThatWereGiven) {
  expect(run(small("bad") + "--group_size=2"), 2, {"--group_size=2, but this process is one of 1"});
  expect(run(small("bad") + "--rank_size=2"), 2, {"--rank_size=2, but this process is one of 1"});
  for (const char* name : {"../../x.log", "/tmp/x.log", "below/x.log", ".."})
    expect(run(small("bad") + "--log_name=" + name), 2, {"--log_name=" + std::string(name) + " is no name of a file"});
  expect(testing::run_shell("RANK_ID=1 " + testing::program() + " " + small("bad")), 2,
         {"[ranks] RANK_ID=1, but RANK_SIZE is not set"});
}

TEST(TrainingFlags, AnEmptyValueSaysNoneWhereThereIsAnythingToLeaveOut) {
  const std::string first = small("begun") + "--restore_path= --restore_exclude= ";
  expect(run(first), 0, {"step:    10"});
  const std::string weights = flags_root() + "/begun/model.ckpt-10.safetensors";
  expect(run(small("restored") + "--weights=" + weights + " --restore_exclude="), 0, {"restored 2 of 2 tensors"});
  expect(run(small("bad") + "--lr="), 2, {"train: --lr= has no value (expected --lr=VALUE)"});
  expect(run(small("bad") + "--data_dir="), 2, {"--data_dir= has no value"});
}

TEST(TrainingFlags, ALayerToLeaveOutThatThereIsNotIsRefused) {
  expect(run(small("source")), 0, {"step:    10"});
  const std::string from = "--weights=" + flags_root() + "/source/model.ckpt-10.safetensors ";
  expect(run(small("excluded_default") + from), 0, {"restored 2 of 2 tensors"});
  expect(run(small("excluded") + from + "--restore_exclude=linear"), 1, {"none of its"});
  expect(run(small("excluded_wrong") + from + "--restore_exclude=liner"), 2,
         {"--restore_exclude=liner: linear has no such layer: did you mean 'linear'? (it has linear)"});
}

TEST(TrainingFlags, SkippedStepsAreCountedInLogMetricsAndAtTheEnd) {
  // Gradients times this scale overflow until the scale has decreased; skipped steps are repeated.
  const testing::Outcome outcome =
      run(small("skipped") + "--loss_scale=dynamic,3.4e38,1024,1000 --save_summary_steps=1");
  expect(outcome, 0,
         {"skipped steps: ", " so far, as their gradients overflowed (loss scale ",
          "as their gradients overflowed (--loss_scale)", "step:    10"});
  const std::string metrics = read_file(flags_root() + "/skipped/metrics.jsonl");
  EXPECT_NE(metrics.find("\"skipped_steps\":"), std::string::npos) << metrics;
  EXPECT_EQ(metrics.find("\"skipped_steps\":0"), std::string::npos) << metrics;
  // Without a loss scale the log does not mention it.
  expect(run(small("unskipped")), 0, {});
  EXPECT_EQ(read_file(flags_root() + "/unskipped/metrics.jsonl").find("skipped"), std::string::npos);
}

TEST(TrainingFlags, MetricsAreNamedAndNeedEvaluations) {
  expect(run(small("bad") + "--metrics=acuracy"), 2, {"unknown metric 'acuracy': did you mean 'accuracy'?"});
  expect(run(small("bad") + "--metrics=recall"), 2, {"--metrics needs evaluations: use --mode=train_and_evaluate"});
}

TEST(TrainingFlags, StepsAreDumped) {
  const std::string folder = flags_root() + "/dumped";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  expect(run(small("with_dumps") + "--dump_path=" + folder + " --dump_step='0|9' --dump_mode=all"), 0,
         {"dump of step 0: ", "dump of step 9: ", "/dumped/step_9.safetensors\n"});
  expect(run("doctor compare --largest=1 " + folder + "/step_0.safetensors " + folder + "/step_9.safetensors"), 1,
         {"values compared"});
  const std::string path = folder + "/run.json";
  write_file_atomically(path, R"({"dump_config": {"enable_dump_debug": "True", "dump_path": ")" + folder + R"("}})");
  expect(run(small("overflow") + "--run_config=" + path + " --lr=1e5 --weight_decay=1e5"), 1, {"not finite from "});
  expect(run(small("bad") + "--dump_step=3"), 2, {"if use dump function, dump_path must be set."});
  expect(run(small("bad") + "--dump_path=" + folder + "/none"), 2, {"/none: there is no such folder"});
  const std::string dump = "--dump_path=" + folder + " ";
  expect(run(small("bad") + dump + "--dump_mode=both"), 2, {"--dump_mode=both (allowed: input, output, all)"});
  expect(run(small("bad") + dump + "--dump_data=text"), 2, {"--dump_data=text (allowed: tensor, stats)"});
  expect(run(small("bad") + dump + "--dump_step=4-2"), 2, {"dump_step=4-2: the range 4-2 does not ascend"});
  expect(run(small("bad") + dump + "--dump_debug_mode=atomic_overflow"), 2, {"no kernel adds atomically here"});
  expect(run(small("bad") + dump + "--dump_debug_mode=all --dump_mode=all"), 2, {"have no meaning beside it"});
  expect(run("evaluate --checkpoint_dir=" + flags_root() + "/with_dumps " + dump), 2,
         {"evaluate: --dump_path is an option of train and has no effect on an evaluation"});
  expect(run("train --mode=evaluate --checkpoint_dir=" + flags_root() + "/with_dumps " + dump), 2,
         {"it needs a mode that trains"});
}

TEST(TrainingFlags, ARunConfigurationComesBeforeOtherFlags) {
  std::filesystem::create_directories(flags_root());
  const std::string path = flags_root() + "/run.json";
  write_file_atomically(path, R"({"model_dir": ")" + flags_root() + R"(/configured", "save_checkpoints_steps": 5,
    "horovod_mode": true, "session_config": {"intra_op_parallelism_threads": 1}})");
  const std::string words = "train --run_config=" + path +
                            " --synthetic --model=linear --image_size=8 --num_classes=3 --batch_size=4 "
                            "--max_train_steps=10 --warmup_epochs=0 --lr=0.001";
  expect(run(words), 0, {"warning: horovod_mode has no effect: there is no Horovod", "1 threads", "/configured/"});
  EXPECT_TRUE(std::filesystem::exists(flags_root() + "/configured/model.ckpt-5.safetensors"));
  write_file_atomically(path, R"({"tf_random_seed": -1})");
  expect(run(words), 2, {"[run_config] " + path + ": tf_random_seed: train: --seed=-1 is not an integer of 0 or more"});
  write_file_atomically(path, R"({"session_config": {"allow_soft_placement": "perhaps"}})");
  expect(run(words), 2, {path + ": allow_soft_placement: train: --allow_soft_placement=perhaps is not a boolean"});
  expect(run("train --run_config=" + flags_root() + "/none.json"), 2, {"no such file: ", "(--run_config)"});
  write_file_atomically(path, R"({"aoe_mode": "2"})");
  expect(run(words), 2, {"[run_config] " + path + ": aoe_mode is not supported"});
}

}  // namespace
}  // namespace ridgeline
