// Flags from YAML: preset values come before the command line; mistakes are reported with their line.
#include "ridgeline/cli/presets.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::cli {
namespace {

using ridgeline::testing::expect;
using ridgeline::testing::Outcome;
using ridgeline::testing::run;

const std::vector<std::string> kFlags = {"batch_size", "lr", "freeze", "flip"};

TEST(Presets, AreValuesHelpAndChoices) {
  const Preset preset = read_preset(
      "batch_size: 256\nflip: False\nfreeze: [a.*, 'b: c']\n---\npreset: for a test\nflip: digits\n---\nbatch_size: "
      "[128, "
      "256]\n",
      "a.yaml", kFlags);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(preset.values, (Pairs{{"batch_size", "256"}, {"flip", "False"}, {"freeze", "a.*"}, {"freeze", "b: c"}}));
  EXPECT_EQ(preset.description, "for a test");
  EXPECT_EQ(preset.help.at("flip"), "digits");
  EXPECT_EQ(preset.choices.at("batch_size"), (std::vector<std::string>{"128", "256"}));
}

TEST(Presets, MistakesAreNamedWithTheirLine) {
  const auto error = [](const std::string& yaml) { return error_of([&] { read_preset(yaml, "a.yaml", kFlags); }); };
  EXPECT_EQ(error("lr: 1\nbach_size: 3\n"), "[preset] a.yaml:2: unknown key 'bach_size': did you mean 'batch_size'?");
  EXPECT_EQ(error("lr: 1\nlr: 2\n"), "[preset] a.yaml:2: 'lr' occurs twice");
  EXPECT_EQ(error("lr: {a: 1}\n"), "[preset] a.yaml:1: 'lr' is not a text, number or boolean");
  EXPECT_EQ(error("lr: [1, 2]\n"), "[preset] a.yaml:1: 'lr' takes one value, not a list");
  EXPECT_EQ(error("lr: 1\n---\nlr: x\n---\nlr: [1, 2]\n---\nlr: 3\n"),
            "[preset] a.yaml:6: begins a fourth document (allowed: 1 to 3: values, help, choices)");
  // The parser stops at the comma, again and again.
  EXPECT_EQ(error("lr: 1\n---\n,preset: x\n"),
            "[preset] a.yaml:3: begins a fourth document (allowed: 1 to 3: values, help, choices)");
  EXPECT_EQ(error("preset: x\n"), "[preset] a.yaml:1: 'preset' is not allowed in a preset");
  EXPECT_EQ(error("- lr\n"), "[preset] a.yaml:1: is not a list of `flag: value`");
  EXPECT_NE(error("lr: [1\n").find("is not valid YAML"), std::string::npos);
  EXPECT_NE(error("").find("[preset] a.yaml"), std::string::npos);
  EXPECT_EQ(error("lr: 1\n---\nflip: no\n"), "[preset] a.yaml:3: help of 'flip', which has no value");
  EXPECT_EQ(error("lr: 1\n---\npreset: x\n---\nlr: [2, 3]\n"),
            "[preset] a.yaml: lr is 1, which is not one of its choices (2, 3)");
}

TEST(Presets, ThatComeWithTheProgramAreListedAndEachIsUnderstood) {
  ASSERT_GE(builtin_presets().size(), 7u);
  std::string names;
  for (const BuiltinPreset& preset : builtin_presets()) names += std::string(preset.name) + " ";
  const Outcome help = run("train --help");
  for (const BuiltinPreset& preset : builtin_presets()) {
    EXPECT_NE(help.text.find(preset.name), std::string::npos) << preset.name;
    // Parses each preset up to the missing data: all flags are known, in range and compatible.
    std::string one;
    if (preset.name == "alexnet_8p") one = " --rank_size=1";
    if (preset.name == "alexnet_cuda") one = " --device=cpu";
    const Outcome outcome = run("train --data_dir=/nowhere --log_dir=" + ridgeline::testing::temporary_directory() +
                                "/preset --preset=" + std::string(preset.name) + one);
    expect(outcome, 1, {"preset " + std::string(preset.name) + ": --", "no such directory: /nowhere"});
  }
  expect(run("train --preset=alexnet_8p --data_dir=/nowhere"), 2,
         {"--rank_size=8, but this process is one of 1: start 8 with ridgeline launch --ranks 8"});
  expect(run("train --preset=resnet19"), 2,
         {"unknown preset 'resnet19': did you mean 'resnet18'?",
          "alexnet_1p, alexnet_8p, alexnet_cuda, alexnet_mindspore", "*.yaml"});
}

TEST(Presets, AreOverriddenByFlagsAndHoldTheirChoices) {
  const std::string root = ridgeline::testing::temporary_directory() + "/presets";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root);
  const std::string file = root + "/mine.yaml";
  write_file_atomically(
      file,
      "model: linear\nimage_size: 8\nsynthetic: True\nnum_classes: 3\nbatch_size: 4\nwarmup_epochs: 0\n"
      "max_train_steps: 3\nlog_dir: " +
          root + "/log\n---\npreset: three steps\n---\nmodel: [linear]\n");
  expect(run("train --preset=" + file), 0, {"preset " + file + ": --model=linear", "training steps: 3"});
  expect(run("train --max_train_steps=5 --preset " + file + " --log_dir=" + root + "/log2"), 0,
         {"training steps: 5", root + "/log2/linear_training.log"});
  expect(run("train --preset=" + file + " --model=resnet20"), 2,
         {"--model=resnet20 is not possible with --preset=" + file + " (allowed: linear)"});
  expect(run("train --preset=" + root + "/none.yaml"), 1, {"none.yaml"});
  write_file_atomically(file, "model: linear\nbach_size: 4\n");
  expect(run("train --preset=" + file), 2, {file + ":2: unknown key 'bach_size': did you mean 'batch_size'?"});
}

// The command line can set with another flag what a preset sets.
TEST(Presets, AreReplacedByFlagsThatSayTheSameInAnotherWay) {
  const std::string root = ridgeline::testing::temporary_directory() + "/replaced";
  const std::string there = " --data_dir=/nowhere --log_dir=" + root;
  const auto preset_line = [&](const std::string& words) {
    const Outcome outcome = run("train " + words + there);
    expect(outcome, 1, {"no such directory: /nowhere"});
    return outcome.text.substr(0, outcome.text.find('\n'));
  };
  const auto without = [&](const std::string& words, const std::string& flag) {
    const std::string line = preset_line(words);
    EXPECT_EQ(line.find(flag), std::string::npos) << line;
  };
  EXPECT_NE(preset_line("--preset=shapes").find("--min_area=0.5"), std::string::npos);
  EXPECT_NE(preset_line("--preset=shapes --crop_padding=-1").find("--min_area=0.5"), std::string::npos);
  without("--preset=shapes --crop_padding=4", "--min_area");
  without("--preset=resnet20_cifar --min_area=0.3", "--crop_padding");
  without("--preset=resnet20_cifar --precision_mode=must_keep_origin_dtype", "--amp_level");
  without("--preset=resnet20_cifar --accelerate_train_mode='fast1|step|0.9'", "--amp_level");
  without("--preset=resnet20_cifar --optimizer=adam", "--momentum");
  without("--preset=resnet18 --lr_schedule=cosine", "--lr_decay_epochs");
  EXPECT_NE(preset_line("--preset=resnet18 --lr_schedule=multi_step").find("--lr_decay_epochs"), std::string::npos);
  write_file_atomically(root + ".yaml", "save_checkpoints_steps: 7\n");
  const std::string steps = "--preset=" + root + ".yaml --save_checkpoints_secs=";
  without(steps + "60", "--save_checkpoints_steps");
  EXPECT_NE(preset_line(steps + "0.0").find("--save_checkpoints_steps=7"), std::string::npos) << "0.0 is off as 0 is";
}

TEST(Benchmark, WritesKeysAndValues) {
  const std::string log = ridgeline::testing::temporary_directory() + "/benchmark";
  std::filesystem::remove_all(log);
  expect(run("train --benchmark --synthetic --model=linear --image_size=8 --num_classes=3 --batch_size=4 "
             "--warmup_epochs=0 --max_train_steps=40 --save_summary_steps=10 --log_dir=" +
             log),
         0, {"ActualFPS = ", "summary  " + log + "/linear_bs4_1p_perf.log"});
  const std::string text = read_file(log + "/linear_bs4_1p_perf.log");
  for (const char* line : {"Network = linear\n", "RankSize = 1\n", "BatchSize = 4\n", "DeviceType = cpu\n",
                           "CaseName = linear_bs4_1p_perf\n", "TrainAccuracy = none\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  const auto value = [&](const std::string& key) {
    const std::size_t at = text.find(key + " = ");
    return at == std::string::npos ? 0.0 : std::stod(text.substr(at + key.size() + 3));
  };
  // The mean over the log lines after the first.
  const std::string lines = read_file(log + "/linear_training.log");
  double sum = 0;
  int count = 0;
  for (std::size_t at = lines.find("FPS:"); at != std::string::npos; at = lines.find("FPS:", at + 1)) {
    if (lines.rfind("step:", at) == std::string::npos || lines.rfind("step:", at) < lines.rfind('\n', at)) continue;
    if (count++ > 0) sum += std::stod(lines.substr(at + 4));
  }
  ASSERT_EQ(count, 4);
  EXPECT_NEAR(value("ActualFPS"), sum / 3, 0.1 + 1e-3 * sum);
  EXPECT_NEAR(value("TrainingTime"), 4000 / value("ActualFPS"), 0.02);
  EXPECT_GT(value("E2ETrainingTime"), 0);
  expect(run("train --benchmark --synthetic --model=linear --image_size=8 --num_classes=3 --batch_size=4 "
             "--warmup_epochs=0 --save_summary_steps=2500 --do_checkpoint=False --log_dir=" +
             log + "_long"),
         0, {"training steps: 5000\n"});
}

}  // namespace
}  // namespace ridgeline::cli
