// `evaluate` on a directory of checkpoints with unexpected contents.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "ridgeline/train/training_log.h"
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
}

TEST_F(EvaluateDirectory, HowRanksDivideATrainingDoesNotConcernIt) {
  const std::string words = " --mode=evaluate --model=resnet20 --batch_size=8 --data_dir=" + root_ +
                            "/images --checkpoint_dir=" + root_ + "/run --pipeline_stages=2 --micro_batches=4";
  expect(testing::run_shell(testing::program() + " train" + words), 0, {"Finished evaluation"});
  expect(evaluate(" --pipeline_stages=2"), 2, {"evaluate: --pipeline_stages is an option of train"});
}

TEST_F(EvaluateDirectory, NoneThatCanBeReadIsAFailure) {
  for (const int step : {1, 2, 3}) cut(checkpoint(step));
  expect(evaluate(), 1, {"checkpoint", "run/model.ckpt-"});
}

// The evaluated run is not changed; a log is written only where requested.
TEST_F(EvaluateDirectory, ALogIsWrittenIntoTheFolderThatIsAskedForAlone) {
  std::set<std::string> before, after;
  for (const auto& file : fs::directory_iterator(root_ + "/run")) before.insert(file.path().string());
  expect(evaluate(), 0, {"Finished evaluation"});
  for (const auto& file : fs::directory_iterator(root_ + "/run")) after.insert(file.path().string());
  EXPECT_EQ(after, before);
  expect(evaluate(" --log_dir=" + root_ + "/looked_at --log_name=look.log"), 0, {"Finished evaluation"});
  EXPECT_NE(read_file(root_ + "/looked_at/look.log").find("Finished evaluation"), std::string::npos);
  expect(evaluate(" --log_name=look.log"), 2, {"--log_name needs --log_dir"});
  fs::create_directories(root_ + "/looked_at/no.log");  // a directory has this name, so no file can be opened
  expect(evaluate(" --log_dir=" + root_ + "/looked_at --log_name=no.log"), 1, {"no.log: Is a directory"});
}

// A training without label smoothing reaches a loss near zero, which an evaluation with label smoothing would not show.
TEST_F(EvaluateDirectory, TheLossIsThatOfTheCheckpointsTraining) {
  const std::string train = testing::program() +
                            " train --model=linear --image_size=16 --batch_size=8 --max_epochs=2 " +
                            "--warmup_epochs=0 --epochs_between_evals=2 --lr=0.01 --data_dir=" + root_ +
                            "/images --log_dir=" + root_ + "/plain --label_smoothing=";
  const auto loss = [&](const Outcome& outcome) {
    const std::string header = kEvaluationHeader;
    const std::size_t at = outcome.text.rfind(header);
    if (at == std::string::npos) return outcome.text;
    const std::size_t begin = at + header.size() + 1;
    return outcome.text.substr(begin,
                               outcome.text.find("  20", begin) - begin);  // without the day of the year and later
  };
  const Outcome trained = testing::run_shell(train + "0");
  ASSERT_EQ(trained.code, 0) << trained.text;
  const std::string words =
      " evaluate --batch_size=8 --data_dir=" + root_ + "/images --checkpoint_dir=" + root_ + "/plain";
  const Outcome same = testing::run_shell(testing::program() + words);
  expect(same, 0, {"label smoothing: 0, that of the checkpoint's training", "Finished evaluation"});
  EXPECT_EQ(loss(same), loss(trained));
  const Outcome smoothed = testing::run_shell(testing::program() + words + " --label_smoothing=0.5");
  EXPECT_EQ(smoothed.text.find("label smoothing:"), std::string::npos) << smoothed.text;
  EXPECT_NE(loss(smoothed), loss(trained));
}

TEST_F(EvaluateDirectory, OptionsOfTrainingAreRefusedWithTheReason) {
  for (const char* flag : {"--lr=5", "--synthetic", "--seed=3", "--min-area=0.5", "--optimizer=adam"}) {
    expect(evaluate(std::string(" ") + flag), 2, {" is an option of train and has no effect on an evaluation"});
  }
  const Outcome help = testing::run_shell(testing::program() + " evaluate --help");
  expect(help, 0, {"--data_dir", "--metrics", "--label_smoothing", "--weights"});
  for (const char* flag : {"--lr ", "--max_epochs", "--optimizer", "--log_histogram", "--shard"})
    EXPECT_EQ(help.text.find(flag), std::string::npos) << flag;
  // A preset describes a training; the settings that affect an evaluation apply.
  write_file_atomically(root_ + "/preset.yaml", "lr: 0.5\nbatch_size: 4\nlog_dir: " + root_ + "/preset_log\n");
  expect(evaluate(" --preset=" + root_ + "/preset.yaml"), 0, {"Finished evaluation"});
  EXPECT_FALSE(fs::exists(root_ + "/preset_log"));
}

}  // namespace
}  // namespace ridgeline::train
