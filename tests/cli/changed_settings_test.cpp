// Every option behaves as its verdict says. On a resume, another value of an option that defines the run is refused,
// another value of one that changes it gives a warning; ranks with different values do not start.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"
#include "ridgeline/train/recipe/kept_settings.h"
#include "tests/cli/other_values.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/shapes_archives.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::changed_settings {
namespace {

namespace fs = std::filesystem;
using testing::OtherValue;
using train::Effect;

const std::string& folder() {
  static const std::string path = [] {
    const std::string root = testing::temporary_directory() + "/changed_settings";
    fs::remove_all(root);
    data::make_shapes(root + "/shapes", {.train = 40, .val = 10});
    data::make_tfrecord(root + "/shapes", root + "/records", {});
    fs::create_directories(root + "/archives");
    for (const char* part : {"train", "val"})
      testing::write_shapes_archives(root + "/shapes/" + part, root + "/archives/" + part + "-", {.json_name = true});
    fs::create_directories(root + "/unsplit");
    fs::copy(root + "/shapes/train", root + "/unsplit", fs::copy_options::recursive);
    std::ofstream(root + "/mixlist.json") << R"({"white-list": {"to-remove": ["dense"]}})";
    std::ofstream(root + "/keep.txt") << "OpType::dense\n";
    std::ofstream(root + "/types.txt") << "OpType::dense::InputDtype:float32,OutputDtype:float32\n";
    return root;
  }();
  return path;
}

std::map<std::string, std::string> flags_of(const std::string& words) {
  std::map<std::string, std::string> flags;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    flags[word.substr(0, equals)] = equals == std::string::npos ? "True" : word.substr(equals + 1);
  }
  return flags;
}

// The last value of a flag counts. Synthetic data needs no folder.
std::string command(const std::vector<std::string>& parts) {
  std::map<std::string, std::string> flags = flags_of(
      "--model=linear --image_size=16 --batch_size=4 --mode=train --max_epochs=2 --max_train_steps=2 --warmup_epochs=0 "
      "--lr=0.001 --seed=5 --intra_op_parallelism_threads=1 --num_workers=1 --data_dir=" +
      folder() + "/shapes");
  for (const std::string& part : parts) {
    for (const auto& [name, value] : flags_of(part)) flags[name] = value;
  }
  if (flags.contains("--synthetic")) flags.erase("--data_dir");
  std::string text = "train";
  for (const auto& [name, value] : flags) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string changed(const OtherValue& other) { return fmt::format("--{}={}", other.option, other.value); }

// Trains two steps with these flags, once for all tests that begin so.
const std::string& begun(const std::string& base) {
  static std::map<std::string, std::string> runs;
  std::string& log_dir = runs[base];
  if (log_dir.empty()) {
    log_dir = fmt::format("{}/run{}", folder(), runs.size());
    testing::expect(testing::run(command({base, "--log_dir=" + log_dir})), 0, {"step:     2"});
  }
  return log_dir;
}

// The option as a refusal or a warning names it.
std::string named(const train::RecipeOption& option) {
  const train::SettingRow* row = train::setting_of(option);
  return row != nullptr ? row->name : std::string(option.name);
}

const OtherValue* other_value(const std::vector<OtherValue>& all, std::string_view option) {
  for (const OtherValue& other : all) {
    if (other.option == option) return &other;
  }
  ADD_FAILURE() << "no other value of --" << option << " in other_values.h";
  return nullptr;
}

TEST(ChangedSettings, EachThatDefinesTheRunIsRefusedAndEachThatChangesItIsSaid) {
  const std::vector<OtherValue> all = testing::other_values(folder());
  int refused = 0, said = 0;
  for (const train::RecipeOption& option : train::recipe_options()) {
    const Effect effect = train::effect_of(option);
    if (effect == Effect::none) continue;
    const OtherValue* other = other_value(all, option.name);
    if (other == nullptr || !other->not_alone.empty()) continue;
    SCOPED_TRACE(option.name);
    const std::string& first = begun(other->base);
    if (effect == Effect::defines) {
      const testing::Outcome end =
          testing::run(command({other->base, changed(*other), "--max_train_steps=3", "--log_dir=" + first}));
      EXPECT_NE(end.code, 0) << end.text;
      EXPECT_NE(end.text.find(" is of another run: "), std::string::npos) << end.text;
      EXPECT_NE(end.text.find(named(option) == "data" ? "the data are" : named(option)), std::string::npos) << end.text;
      ++refused;
      continue;
    }
    const std::string copy = folder() + "/goes_on";
    fs::remove_all(copy);
    fs::copy(first, copy, fs::copy_options::recursive);
    testing::expect(testing::run(command({other->base, changed(*other), "--max_train_steps=3", "--log_dir=" + copy})),
                    0, {"step:     3", named(option) + " is ", " up to step 2, ", " from here on"});
    ++said;
  }
  EXPECT_GE(refused, 25);
  EXPECT_GE(said, 30);
}

// A checkpoint of a program that did not store this setting, so its value is unknown.
TEST(ChangedSettings, AnOlderCheckpointGoesOnWithoutAWordAboutWhatItDoesNotKeep) {
  for (const train::SettingRow& row : train::setting_rows()) {
    const train::RecipeOption* option = train::find_option(row.name);
    if (option != nullptr && option->verdict.kept_later) {
      EXPECT_FALSE(row.before.has_value()) << row.name;
    }
  }
  // A run without any of these flags stores what it stored before the options existed.
  const std::string log_dir = begun("");
  const testing::Outcome end = testing::run(command({"--max_train_steps=2", "--log_dir=" + log_dir}));
  EXPECT_EQ(end.text.find(" up to step "), std::string::npos) << end.text;
}

// Two processes, the second with another value.
testing::Outcome two_ranks(const OtherValue& other) {
  static int job = 0;
  const std::string variables = fmt::format("RANK_SIZE=2 DEVICE_ID=0 JOB_ID=changed{}_{} ", ::getpid(), ++job);
  const std::string log_dir = "--log_dir=" + folder() + "/never_begun";
  return testing::run_shell(
      fmt::format("{{ ({0} RANK_ID=0 {1} {2}) & ({0} RANK_ID=1 {1} {3}); code=$?; wait; exit $code; }}", variables,
                  testing::program(), command({other.base, log_dir}), command({other.base, changed(other), log_dir})));
}

TEST(ChangedSettings, RanksThatHaveThemOtherwiseDoNotBegin) {
  const std::vector<OtherValue> all = testing::other_values(folder());
  using Place = train::OptionVerdict::Place;
  int checked = 0;
  for (const train::RecipeOption& option : train::recipe_options()) {
    const bool by_part = option.verdict.place == Place::composed || option.verdict.place == Place::identity;
    if ((!option.verdict.alike && !by_part) || named(option) == "data")
      continue;  // the data folder may differ between ranks
    const OtherValue* other = other_value(all, option.name);
    if (other == nullptr || !other->not_by_two.empty()) continue;
    const testing::Outcome end = two_ranks(*other);
    EXPECT_NE(end.code, 0) << option.name << ": " << end.text;
    EXPECT_NE(end.text.find("[ranks] rank 1 has "), std::string::npos) << option.name << ": " << end.text;
    EXPECT_NE(end.text.find("all processes of a run need the same settings"), std::string::npos) << option.name;
    ++checked;
  }
  EXPECT_GE(checked, 60);
}

TEST(ChangedSettings, TheImagesOfBatchStatisticsFollowFromTheRanks) {
  train::Recipe recipe;
  recipe.model = "resnet20";
  recipe.batch_size = 8;
  const auto statistics = [&] {
    return train::settings_of(recipe, "synthetic", 0).get<std::int64_t>("batch of statistics", -1);
  };
  EXPECT_EQ(statistics(), 8);
  recipe.ranks = 2;
  EXPECT_EQ(statistics(), 8);
  recipe.sync_batch_norm = true;
  EXPECT_EQ(statistics(), 16);
  recipe.sync_batch_norm = false;
  recipe.parallel.pipeline_stages = 2;
  EXPECT_EQ(statistics(), 4);
  recipe.parallel.micro_batches = 4;
  EXPECT_EQ(statistics(), 2);
  recipe.model = "alexnet";
  EXPECT_EQ(statistics(), 0);
}

}  // namespace
}  // namespace ridgeline::changed_settings
