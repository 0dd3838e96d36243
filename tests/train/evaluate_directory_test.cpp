// `evaluate` over a directory of checkpoints that is not as it should be.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;

class EvaluateDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::temporary_directory() + "/evaluate_directory";
    fs::remove_all(root_);
    data::make_shapes(root_ + "/images", {.seed = 5, .train = 24, .val = 16});
    Recipe r;
    r.data_dir = root_ + "/images";
    r.mode = Mode::train;
    r.model = "resnet20";
    r.batch_size = 8;
    r.max_epochs = 1;
    r.warmup_epochs = 0;
    r.num_workers = 1;
    r.save_checkpoints_steps = 1;
    r.log_dir = root_ + "/run";
    train(r);
    fs::remove(log());
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string log() const { return root_ + "/run/resnet20_training.log"; }
  std::string checkpoint(int step) const { return root_ + "/run/" + checkpoint_name(step); }
  static void cut(const std::string& path) {
    const std::string bytes = read_file(path);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes.substr(0, bytes.size() / 2);
  }
  Outcome evaluate(const std::string& more = "") const {
    return testing::run_shell(testing::program() + " evaluate --model=resnet20 --batch_size=8 --data_dir=" + root_ +
                              "/images --checkpoint_dir=" + root_ + "/run" + more);
  }

  std::string root_;
};

TEST_F(EvaluateDirectory, OneThatCannotBeReadIsLeftOutWithAWarning) {
  for (const int victim : {2, 3}) {
    const std::string whole = read_file(checkpoint(victim));
    cut(checkpoint(victim));
    const Outcome outcome = evaluate();
    expect(outcome, 0, {"warning: ", checkpoint_name(victim), "it is left out", "Finished evaluation"});
    for (const int step : {1, 2, 3}) {
      const bool row = outcome.text.find("\n    " + std::to_string(step) + "   ") != std::string::npos;
      EXPECT_EQ(row, step != victim) << step << " in: " << outcome.text;
    }
    write_file_atomically(checkpoint(victim), whole);
  }
}

TEST_F(EvaluateDirectory, MetricsStandBehindEachRow) {
  const Outcome outcome = evaluate(" --metrics=accuracy,recall,confusion_matrix");
  expect(outcome, 0, {"\naccuracy: ", "\nrecall: mean ", "\nconfusion_matrix of "});
  EXPECT_NE(read_file(log()).find("\nrecall: mean "), std::string::npos);
}

TEST_F(EvaluateDirectory, HowRanksDivideATrainingDoesNotConcernIt) {
  expect(evaluate(" --pipeline_stages=2 --micro_batches=4"), 0, {"Finished evaluation"});
}

TEST_F(EvaluateDirectory, NoneThatCanBeReadIsAFailure) {
  for (const int step : {1, 2, 3}) cut(checkpoint(step));
  expect(evaluate(), 1, {"checkpoint", "run/model.ckpt-"});
}

TEST_F(EvaluateDirectory, WhereNoLogCanBeWrittenTheLinesGoToStandardError) {
  fs::create_directory(log());  // nothing can be opened for writing under this name, not even by root
  expect(evaluate(), 0, {"warning: cannot write ", "standard error only", "Finished evaluation"});
  fs::remove(log());
  const Outcome outcome = evaluate();
  EXPECT_EQ(outcome.text.find("warning"), std::string::npos) << outcome.text;
  EXPECT_NE(read_file(log()).find("Finished evaluation"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::train
