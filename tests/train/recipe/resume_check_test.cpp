// A run can resume only as the same run: settings that would change it are refused by name, changes that are allowed
// are reported.
#include "ridgeline/train/recipe/resume_check.h"

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/train/checkpoint/class_names.h"
#include "ridgeline/train/recipe/kept_settings.h"

namespace ridgeline::train {
namespace {

constexpr std::uint64_t kHash = 0xabc;

CheckpointInfo run(std::uint64_t records = 40) {
  CheckpointInfo info;
  info.model = "alexnet";
  info.classifier = ClassifierInfo{.init = "he_uniform",
                                   .final_relu = true,
                                   .num_classes = 3,
                                   .image_size = 64,
                                   .class_names = {"cat", "dog", "emu"}};
  info.step = 12;
  info.steps_per_epoch = static_cast<std::int64_t>(records) / 8;
  info.seed = 1;
  info.data_state = R"({"schema":"data-state","version":1,"graph_hash":"0000000000000abc","seed":1,"records":)" +
                    std::to_string(records) + R"(,"epoch":2,"delivered":2})";
  Recipe recipe;
  recipe.batch_size = 8;
  recipe.max_epochs = 4;
  recipe.warmup_epochs = 1;
  recipe.model_options.dropout_keep = 0.5;
  info.settings = settings_of(recipe, "class folders", static_cast<std::int64_t>(records));
  return info;
}

void set(CheckpointInfo& info, const std::string& name, SettingValue value) {
  ASSERT_NE(info.settings->find(name), nullptr) << name;
  info.settings->values[name] = std::move(value);
}

CheckpointInfo version_1(CheckpointInfo info) {
  info.settings.reset();
  return info;
}

std::string refusal(const CheckpointInfo& saved, const CheckpointInfo& now, std::uint64_t hash = kHash) {
  try {
    check_resume(setting_rows(), {.path = "runs/a/model.ckpt-12.safetensors", .step = 12, .modified = 0}, saved, now,
                 hash);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

TEST(ResumeCheck, TheSameRunGoesOnWithoutAWord) {
  EXPECT_TRUE(check_resume(setting_rows(), {}, run(), run(), kHash).empty());
  EXPECT_TRUE(check_resume(setting_rows(), {}, version_1(run()), run(), kHash).empty());
}

TEST(ResumeCheck, WhatMakesAnotherRunIsRefusedWithItsFlagAndTheWayOn) {
  CheckpointInfo now = run();
  now.classifier->final_relu = false;
  expect_words(refusal(run(), now), {"runs/a/model.ckpt-12", "--final_relu is True there and False here",
                                     "give --final_relu=True", "another --log_dir"});
  expect_words(refusal(version_1(run()), now), {"--final_relu is True there and False here"});
  now = run();
  now.seed = 2;
  set(now, "batch_size", std::int64_t{4});
  expect_words(refusal(run(), now),
               {"--seed is 1 there and 2 here", "--batch_size is 8 there and 4 here", "give --seed=1 --batch_size=8;"});
  now = run();
  now.model = "resnet18";
  expect_words(refusal(run(), now), {"--model is alexnet there and resnet18 here"});
  now = run();
  now.classifier->init = "xavier";
  expect_words(refusal(run(), now), {"--alexnet_version is he_uniform there and xavier here"});
  now = run();
  set(now, "flip", false);
  set(now, "min_area", 0.5);
  expect_words(refusal(run(), now, 0xdef), {"--flip is True there and False here", "--min_area is 0.08 there and 0.5"});
}

TEST(ResumeCheck, OtherDataAreNamedByWhatDiffers) {
  expect_words(refusal(run(), run(48)), {"40 training records there, 48 here", "give the data of that run"});
  expect_words(refusal(version_1(run()), run(48)), {"40 training records there, 48 here"});
  CheckpointInfo now = run();
  now.classifier->class_names = {"cat", "eel", "emu"};
  expect_words(refusal(run(), now), {"class 1 is 'dog' there and 'eel' here"});
  now = run();
  set(now, "data", std::string("synthetic"));
  now.data_state = "";
  expect_words(refusal(run(), now, 0), {"the data are class folders there, synthetic here"});
  expect_words(refusal(version_1(run()), now, 0), {"real data there, synthetic here"});
  now = run();
  now.steps_per_epoch = 10;
  expect_words(refusal(version_1(run()), now, 0xdef), {"5 steps there and 10 here", "--batch_size"});
  const std::string rest = refusal(run(), run(), 0xdef);
  expect_words(rest, {"read or transformed otherwise"});
  EXPECT_EQ(rest.find("0000"), std::string::npos) << "no hash: " << rest;
}

TEST(ResumeCheck, OtherParameterGroupsAreAMatterOfFlags) {
  CheckpointInfo now = run();
  set(now, "parameter groups", std::string("freeze conv*"));
  const std::string text = refusal(run(), now);
  expect_words(text,
               {"the parameter groups (--decay_vectors, --freeze, --lr_scale) are the default there, freeze conv* "
                "here",
                "give the flags of that run"});
  EXPECT_EQ(text.find("give the data"), std::string::npos) << text;
}

TEST(ResumeCheck, WhatMayChangeIsSaidEachInASentence) {
  CheckpointInfo now = run();
  set(now, "lr", 0.01);
  set(now, "max_epochs", std::int64_t{8});
  set(now, "label_smoothing", 0.0);
  set(now, "dropout_keep", 1.0);
  set(now, "warmup_epochs", std::int64_t{0});
  set(now, "precision_mode", std::string("allow_mix_precision_bf16"));
  const std::vector<std::string> said = check_resume(setting_rows(), {}, run(), now, kHash);
  EXPECT_EQ(said, (std::vector<std::string>{"--dropout_keep is 0.5 up to step 12, 1 from here on",
                                            "--max_epochs is 4 up to step 12, 8 from here on",
                                            "--warmup_epochs is 1 up to step 12, 0 from here on",
                                            "--lr is 0.06 up to step 12, 0.01 from here on",
                                            "--label_smoothing is 0.1 up to step 12, 0 from here on",
                                            "--precision_mode is must_keep_origin_dtype up to step 12, "
                                            "allow_mix_precision_bf16 from here on"}));
}

TEST(ResumeCheck, OtherKernelsByTimeAreSaid) {
  const std::string end = "up to step 12, ", rest = " from here on: bits may differ from those of an undisturbed run";
  CheckpointInfo now = run(), saved = run();
  now.plan = "0123456789abcdef";
  const auto said = [&] { return check_resume(setting_rows(), {}, saved, now, kHash); };
  const std::string by_time = "by time (--tune, plan 0123456789abcdef)";
  EXPECT_EQ(said(), std::vector<std::string>{"kernels are chosen by their order " + end + by_time + rest});
  saved.plan = "fedcba9876543210";
  EXPECT_EQ(said(), std::vector<std::string>{"kernels are chosen by time (--tune, plan fedcba9876543210) " + end +
                                             by_time + rest});
  saved.plan = now.plan;
  EXPECT_TRUE(said().empty());
}

// Every setting is either refused or reported; none is ignored.
TEST(ResumeCheck, EverySettingIsComparedAndSaid) {
  for (const SettingRow& row : setting_rows()) {
    CheckpointInfo now = run();
    const SettingValue other = std::visit(
        [](const auto& value) -> SettingValue {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::string>) return std::string("TFRecords");
          if constexpr (std::is_same_v<Value, bool>) return !value;
          if constexpr (std::is_arithmetic_v<Value>) return static_cast<Value>(value + 1);
        },
        *now.settings->find(row.name));
    set(now, row.name, other);
    if (row.defines_run) {
      EXPECT_NE(refusal(run(), now), "") << row.name;
    } else {
      EXPECT_EQ(check_resume(setting_rows(), {}, run(), now, kHash).size(), 1u) << row.name;
    }
  }
}

// In checkpoints older than an option, the run had the option's default; for an option that was not always stored, the
// value is unknown.
TEST(ResumeCheck, AFileThatLacksASettingIsComparedWhereTheFileTells) {
  CheckpointInfo saved = run(), now = run();
  saved.settings->values.erase("augment");
  saved.settings->values.erase("sync_batch_norm");
  set(now, "sync_batch_norm", true);
  EXPECT_TRUE(check_resume(setting_rows(), {}, saved, now, kHash).empty());
  set(now, "augment", std::string("randaugment"));
  expect_words(refusal(saved, now), {"--augment is the default there and randaugment here"});
  EXPECT_EQ(refusal(saved, now).find("sync_batch_norm"), std::string::npos);
}

TEST(ClassNames, AreComparedWhereBothSidesHaveThem) {
  const ClassNames folders{.names = {"a", "b", "c"}, .complete = true};
  EXPECT_EQ(class_difference(folders, "there", folders, "here"), "");
  EXPECT_EQ(class_difference(folders, "there", {.names = {"a", "x", "y"}, .complete = true}, "here"),
            "class 1 is 'b' there and 'x' here (2 of 3 differ)");
  EXPECT_EQ(class_difference(folders, "there", {.names = {"a", "b"}, .complete = true}, "here"),
            "3 classes there, 2 here");
  // Class names of records depend on which labels occur.
  EXPECT_EQ(class_difference(folders, "there", {.names = {"a", ""}}, "here"), "");
  EXPECT_EQ(class_difference(folders, "there", {}, "here"), "");
  // Slim's ImageNet has for each class a text and the synset after which folders are named.
  const ClassNames records{.names = {"tench", "goldfish"}, .ids = {"n01440764", "n01443537"}};
  EXPECT_EQ(class_difference(records, "there", {.names = {"n01440764", "n01443537"}, .complete = true}, "here"), "");
  EXPECT_EQ(class_difference(records, "there", {.names = {"n01443537", "n01440764"}, .complete = true}, "here"),
            "class 0 is 'tench' there and 'n01443537' here (2 of 2 differ)");
}

}  // namespace
}  // namespace ridgeline::train
