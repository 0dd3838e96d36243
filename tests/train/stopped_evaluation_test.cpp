// A run is stopped during an evaluation: no step is lost, and the evaluation is done after the resume; a completed one
// is not repeated.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

class StoppedEvaluation : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::temporary_directory() + "/stopped_evaluation";
    fs::remove_all(root_);
    data::make_shapes(root_ + "/images", {.seed = 5, .train = 40, .val = 40});
  }
  void TearDown() override { fs::remove_all(root_); }

  // Epochs of 5 steps, each with an evaluation; no other checkpoint before the end.
  Recipe recipe(const std::string& name) const {
    Recipe r;
    r.data_dir = root_ + "/images";
    r.model = "resnet20";
    r.batch_size = 8;
    r.max_epochs = 2;
    r.warmup_epochs = 1;
    r.num_workers = 2;
    r.epochs_between_evals = 1;
    r.log_dir = root_ + "/" + name;
    return r;
  }

  std::string root_;
};

std::vector<std::int64_t> saved_steps(const Recipe& recipe) {
  std::vector<std::int64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(recipe.log_dir)) steps.push_back(file.step);
  return steps;
}

// (step, accuracy, loss) of the evaluations in metrics.jsonl.
std::vector<std::tuple<std::int64_t, double, double>> evaluations(const Recipe& recipe) {
  std::vector<std::tuple<std::int64_t, double, double>> rows;
  for (const auto& line : read_json_lines(recipe.log_dir + "/metrics.jsonl")) {
    if (std::get<std::string>(line.at("kind")) != "evaluation") continue;
    rows.emplace_back(std::get<std::int64_t>(line.at("step")), std::get<double>(line.at("val-top1acc")),
                      std::get<double>(line.at("val-loss")));
  }
  return rows;
}

TEST_F(StoppedEvaluation, ABadImageInItLosesNoStepAndTheEvaluationIsMadeUpFor) {
  const Recipe undisturbed = recipe("undisturbed");
  train(undisturbed);
  const Recipe stopped = recipe("stopped");
  const std::string victim = fs::directory_iterator(stopped.data_dir + "/val/circle")->path().string();
  const std::string image = read_file(victim);
  write_file_atomically(victim, image.substr(0, image.size() / 2));
  EXPECT_THROW(train(stopped), Error);
  EXPECT_EQ(saved_steps(stopped), (std::vector<std::int64_t>{5}));
  EXPECT_THROW(train(stopped), Error);  // the evaluation is still due, and still impossible
  EXPECT_TRUE(evaluations(stopped).empty());
  write_file_atomically(victim, image);
  train(stopped);
  EXPECT_EQ(evaluations(stopped), evaluations(undisturbed));
  EXPECT_EQ(evaluations(stopped).size(), 2u);
}

TEST_F(StoppedEvaluation, CtrlCInItLosesNoStepAndTheEvaluationIsMadeUpFor) {
  const Recipe undisturbed = recipe("undisturbed");
  train(undisturbed);
  const Recipe stopped = recipe("stopped");
  bool landed = false;
  for (int attempt = 0; attempt < 50 && !landed; ++attempt) {
    fs::remove_all(stopped.log_dir);
    std::atomic<bool> done{false};
    std::thread user([&] {
      while (!done) {
        const std::string log = stopped.log_dir + "/" + log_name_of(stopped);
        if (fs::exists(log) && read_file(log).find("Evaluating") != std::string::npos) return set_interrupted(true);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    const TrainingResult result = train(stopped);
    done = true;
    user.join();
    landed = result.interrupted && result.step == 5 && evaluations(stopped).empty();
  }
  ASSERT_TRUE(landed) << "no interrupt came in the middle of an evaluation";
  EXPECT_EQ(saved_steps(stopped), (std::vector<std::int64_t>{5}));
  EXPECT_FALSE(train(stopped).interrupted);
  EXPECT_EQ(evaluations(stopped), evaluations(undisturbed));
}

TEST_F(StoppedEvaluation, ARunThatStoppedEarlyStaysStoppedAndOneMadeUpForCounts) {
  Recipe still = recipe("early");
  still.model = "linear";
  still.image_size = 16;
  still.lr = 0;  // so that no evaluation is better than the first one
  still.max_epochs = 4;
  still.early_stopping = 1;
  EXPECT_EQ(train(still).step, 10);
  EXPECT_EQ(train(still).step, 10);
  EXPECT_EQ(evaluations(still).size(), 2u);
  // As if the run had been killed in its second evaluation.
  remove_json_lines(still.log_dir + "/metrics.jsonl", [](const auto& line) {
    return line.at("kind") == JsonScalar(std::string("evaluation")) && line.at("step") == JsonScalar(std::int64_t{10});
  });
  EXPECT_EQ(evaluations(still).size(), 1u);
  EXPECT_EQ(train(still).step, 10);
  EXPECT_EQ(evaluations(still).size(), 2u);
  still.early_stopping = 2;  // a larger early_stopping
  EXPECT_EQ(train(still).step, 15);
}

TEST_F(StoppedEvaluation, OneThatCameToItsEndIsNotMadeTwice) {
  Recipe half = recipe("done");
  half.max_train_steps = 5;
  train(half);
  EXPECT_EQ(evaluations(half).size(), 1u);
  const TrainingResult again = train(half);
  EXPECT_EQ(evaluations(half).size(), 1u);
  ASSERT_TRUE(again.evaluation.has_value());  // reported in any case
  EXPECT_EQ(again.evaluation->rows, 40);
  EXPECT_EQ(again.evaluation->top_1, std::get<1>(evaluations(half)[0]));
  train(recipe("done"));  // the remaining steps
  EXPECT_EQ(evaluations(half).size(), 2u);
}

TEST_F(StoppedEvaluation, ABadTrainingImageLosesNoStepEither) {
  Recipe r = recipe("training");
  r.mode = Mode::train;
  const Recipe undisturbed = [&] {
    Recipe other = r;
    other.log_dir = root_ + "/undisturbed";
    return other;
  }();
  train(undisturbed);
  const std::string whole = read_file(undisturbed.log_dir + "/model.ckpt-10.safetensors");
  // An image that is not in the first batch.
  for (const auto& file : fs::directory_iterator(r.data_dir + "/train/circle")) {
    const std::string image = read_file(file.path().string());
    write_file_atomically(file.path().string(), image.substr(0, image.size() / 2));
    fs::remove_all(r.log_dir);
    EXPECT_THROW(train(r), Error);
    const std::vector<std::int64_t> saved = saved_steps(r);
    write_file_atomically(file.path().string(), image);
    if (saved.empty()) continue;
    train(r);
    EXPECT_EQ(read_file(r.log_dir + "/model.ckpt-10.safetensors"), whole);
    return;
  }
  FAIL() << "every image of the class is in the first batch";
}

}  // namespace
}  // namespace ridgeline::train
