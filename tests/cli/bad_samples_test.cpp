// Training and evaluation on data with a damaged image: what each policy does, counts and lists.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/text/json_lines.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;
using testing::run;

// 40 training and 20 validation images, one of each cut short.
const std::string& bad_samples_root() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/bad_samples";
    data::make_shapes(p + "/shapes", {.seed = 1, .train = 40, .val = 20});
    for (const char* part : {"train", "val"}) {
      const std::string victim = p + "/shapes/" + part + "/circle/bad.jpg";
      fs::rename(*fs::directory_iterator(p + "/shapes/" + part + "/circle"), victim);
      write_file_atomically(victim, read_file(victim).substr(0, 700));
    }
    return p;
  }();
  return path;
}

// Lines of one kind in the metrics of a run.
std::vector<std::map<std::string, JsonScalar>> metrics(const std::string& log_dir, const std::string& kind) {
  std::vector<std::map<std::string, JsonScalar>> lines;
  for (auto& line : read_json_lines(log_dir + "/metrics.jsonl")) {
    if (std::get<std::string>(line.at("kind")) == kind) lines.push_back(std::move(line));
  }
  return lines;
}

std::string words(const std::string& name) {
  return " --model=resnet20 --batch_size=8 --max_epochs=2 --warmup_epochs=0 --epochs_between_evals=2 --data_dir=" +
         bad_samples_root() + "/shapes --log_dir=" + bad_samples_root() + "/" + name + " ";
}

TEST(BadSamples, TrainingReplacesThemAndEvaluationLeavesThemOut) {
  const std::string log = bad_samples_root() + "/replaced", list = bad_samples_root() + "/replaced.jsonl";
  const Outcome outcome = run("train" + words("replaced") + "--bad_samples=replace --quarantine=" + list);
  // An epoch is five batches with all 40 images, so the bad one occurs once in each.
  expect(outcome, 0,
         {"bad samples: 1 replaced so far", "bad samples: 2 replaced so far", list,
          "bad samples: 1 of 20 validation images left out", "validation: "});
  EXPECT_NE(outcome.text.find("of 19 images"), std::string::npos) << outcome.text;
  const auto quarantined = read_json_lines(list);
  ASSERT_EQ(quarantined.size(), 3u);  // two epochs of training, one evaluation
  EXPECT_NE(std::get<std::string>(quarantined[0].at("origin")).find("train/circle/bad.jpg"), std::string::npos);
  EXPECT_NE(std::get<std::string>(quarantined[2].at("origin")).find("val/circle/bad.jpg"), std::string::npos);
  EXPECT_NE(std::get<std::string>(quarantined[0].at("reason")).find("Premature end"), std::string::npos);
  const auto counts = metrics(log, "bad_samples");
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(std::get<std::int64_t>(counts[0].at("step")), 5);
  EXPECT_EQ(std::get<std::int64_t>(counts[1].at("bad_samples")), 2);
  const auto evaluations = metrics(log, "evaluation");
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(evaluations[0].at("rows")), 19);
  EXPECT_EQ(std::get<std::int64_t>(evaluations[0].at("bad_samples")), 1);

  const std::string evaluate =
      "evaluate --model=resnet20 --batch_size=8 --data_dir=" + bad_samples_root() + "/shapes --checkpoint_dir=" + log;
  expect(run(evaluate + " --bad_samples=skip"), 0, {"bad samples: 1 of 20 validation images left out"});
  expect(run(evaluate), 1, {"val/circle/bad.jpg", "Premature end", "(--bad_samples=skip goes on without it)"});
  expect(run(evaluate + " --bad_samples=skip --bad_sample_budget=0"), 1, {"more than 0 bad samples"});
}

// The flags that the message recommends must be allowed in this mode.
TEST(BadSamples, ABadValidationImageOfATrainingRunIsToBeReplaced) {
  const std::string data = bad_samples_root() + "/only_val";
  fs::copy(bad_samples_root() + "/shapes", data, fs::copy_options::recursive);
  fs::remove(data + "/train/circle/bad.jpg");
  const std::string train = "train" + words("only_val") + "--data_dir=" + data;
  expect(run(train), 1, {"val/circle/bad.jpg", "(--bad_samples=replace goes on without it)"});
  fs::remove_all(bad_samples_root() + "/only_val_log");
  expect(run(train + " --log_dir=" + bad_samples_root() + "/only_val_log --bad_samples=replace"), 0,
         {"bad samples: 1 of 20 validation images left out"});
}

TEST(BadSamples, TrainingSkipsThemByTheMaskOfTheStep) {
  const std::string log = bad_samples_root() + "/skipped";
  expect(run("train" + words("skipped") + "--bad_samples=skip"), 0,
         {"bad samples: 1 left out so far", "bad samples: 2 left out so far",
          "bad samples: 1 of 20 validation images left out"});
  const auto counts = metrics(log, "bad_samples");
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(std::get<std::int64_t>(counts[1].at("bad_samples")), 2);
  // Mixing batches does not change empty rows.
  expect(run("train --mode=train --bad_samples=skip --mixup=0.2 --cutmix=1" + words("mixed")), 0,
         {"bad samples: 2 left out so far"});
}

TEST(BadSamples, TrainingRaisesByDefault) {
  expect(run("train --mode=train" + words("raised")), 1,
         {"train/circle/bad.jpg", "Premature end", "(--bad_samples=replace goes on without it)"});
  expect(run("train --mode=train --bad_samples=drop" + words("dropped")), 2, {"drop", "raise, skip, replace"});
  expect(run("train --mode=train --bad_sample_budget=3" + words("budget")), 2, {"--bad_sample_budget needs"});
  expect(run("train --mode=train --bad_samples=replace --bad_sample_budget=0" + words("zero")), 1,
         {"more than 0 bad samples"});
  expect(run("train --mode=train --bad_samples=replace --quarantine=" + bad_samples_root() + "/no/such/list" +
             words("nolist")),
         1, {"cannot write", "/no/such/list"});
}

}  // namespace
}  // namespace ridgeline
