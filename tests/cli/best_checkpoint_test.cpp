// The checkpoint of the best evaluation is kept, reported and can be selected, also after a resume.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/checkpoint/best_evaluation.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kEpochSteps = 10;

class BestCheckpoint : public ::testing::Test {
 protected:
  static const std::string& root() {
    static const std::string path = [] {
      const std::string folder = testing::temporary_directory() + "/best_checkpoint";
      fs::remove_all(folder);
      data::make_shapes(folder + "/shapes", {.train = 100, .val = 50});
      return folder;
    }();
    return path;
  }
  void SetUp() override {
    log_dir_ = root() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(log_dir_);
  }

  // Ten steps per epoch with an evaluation after each; only the newest checkpoint is kept.
  testing::Outcome run(std::int64_t epochs, const std::string& more = "") const {
    return testing::run(
        fmt::format("train --data_dir={}/shapes --model=linear --image_size=32 --batch_size=10 --max_epochs=100 "
                    "--max_train_steps={} "
                    "--epochs_between_evals=1 --warmup_epochs=0 --lr=0.02 --seed=3 --max_checkpoint_to_save=1 "
                    "--intra_op_parallelism_threads=1 --log_dir={} {}",
                    root(), epochs * kEpochSteps, log_dir_, more));
  }
  // The best evaluation in metrics.jsonl; on a tie the first.
  std::int64_t best_step() const {
    std::int64_t step = -1;
    double best = -1;
    for (const auto& line : read_json_lines(log_dir_ + "/metrics.jsonl")) {
      if (line.at("kind") != JsonScalar("evaluation")) continue;
      const double value = std::get<double>(line.at("val-top1acc"));
      if (value > best) best = value, step = std::get<std::int64_t>(line.at("step"));
    }
    return step;
  }
  std::string path_of(std::int64_t step) const { return log_dir_ + "/" + train::checkpoint_name(step); }
  std::vector<std::int64_t> kept() const {
    std::vector<std::int64_t> steps;
    for (const auto& file : train::list_checkpoints(log_dir_)) steps.push_back(file.step);
    return steps;
  }
  // Trains until the best evaluation is not the newest: the learning rate is so high that accuracy is lost again.
  std::int64_t spoiled() const {
    testing::expect(run(3), 0, {});
    testing::expect(run(5, "--lr=1000"), 0, {});
    return best_step();
  }

  std::string log_dir_;
};

TEST_F(BestCheckpoint, IsNotRemovedWithTheOldOnesAndIsTold) {
  const std::int64_t best = spoiled();
  ASSERT_LT(best, 4 * kEpochSteps);
  EXPECT_EQ(kept(), (std::vector<std::int64_t>{best, 5 * kEpochSteps}));
  EXPECT_EQ(train::read_best(log_dir_)->step, best);
  // Once more, although nothing is left to do.
  testing::expect(run(5, "--lr=1000"), 0,
                  {"best     " + path_of(best) + "   (step " + std::to_string(best) + ", top-1 of the validation part ",
                   "--checkpoint=best PICTURE.jpg"});
  EXPECT_EQ(kept(), (std::vector<std::int64_t>{best, 5 * kEpochSteps}));
}

TEST_F(BestCheckpoint, ABetterOneTakesItsPlaceAlsoBehindAResume) {
  for (std::int64_t epochs = 1; epochs <= 6; ++epochs) {
    testing::expect(run(epochs), 0, {});
    const std::int64_t best = best_step(), last = epochs * kEpochSteps;
    const std::vector<std::int64_t> expected =
        best == last ? std::vector<std::int64_t>{last} : std::vector<std::int64_t>{best, last};
    EXPECT_EQ(train::read_best(log_dir_)->step, best);
    for (const std::int64_t step : expected) EXPECT_TRUE(fs::exists(path_of(step))) << step;
    EXPECT_LE(kept().size(), 3u);  // the previous best checkpoint is removed with the next save
  }
}

TEST_F(BestCheckpoint, EvaluatePredictAndExportTakeItByName) {
  const std::int64_t best = spoiled();
  ASSERT_LT(best, 4 * kEpochSteps);
  const std::string of_run = " --checkpoint_dir=" + log_dir_, picture = glob_files(root() + "/shapes/val/*/*").front();
  const auto same = [&](const std::string& one, const std::string& other) {
    const auto logits = [&](const std::string& flags) {
      return testing::run_shell(
          fmt::format("{{ {} predict --logits {} {} {} 2> /dev/null; }}", testing::program(), of_run, flags, picture));
    };
    const testing::Outcome a = logits(one), b = logits(other);
    EXPECT_EQ(a.code + b.code, 0) << a.text << b.text;
    return a.text == b.text;
  };
  EXPECT_TRUE(same("--checkpoint=best", "--checkpoint=" + std::to_string(best)));
  EXPECT_TRUE(same("--checkpoint=last", ""));
  EXPECT_FALSE(same("--checkpoint=best", "--checkpoint=last"));
  testing::expect(
      testing::run("predict" + of_run + " " + picture), 0,
      {fmt::format("note: the newest checkpoint is of step 50, the best evaluation was that of step {}, ", best)});
  testing::expect(testing::run("export --checkpoint=best --out=" + log_dir_ + "/best.rdgm" + of_run), 0, {"linear"});
  const std::string evaluate = "evaluate --data_dir=" + root() + "/shapes" + of_run;
  testing::expect(testing::run(evaluate), 0, {fmt::format("best: step {}, top-1", best)});
  const testing::Outcome one = testing::run(evaluate + " --checkpoint=best");
  testing::expect(one, 0, {fmt::format("\n{:5d} ", best)});
  EXPECT_EQ(one.text.find("\n   50 "), std::string::npos) << one.text;
  // Initial weights.
  testing::expect(testing::run(fmt::format("train --data_dir={}/shapes --mode=train --model=linear --image_size=32 "
                                           "--batch_size=10 --max_train_steps=1 --weights={} --checkpoint=best "
                                           "--log_dir={}/tuned",
                                           root(), log_dir_, log_dir_)),
                  0, {path_of(best)});
}

TEST_F(BestCheckpoint, ADamagedFileOfItsNameIsWrittenAgain) {
  testing::expect(run(2), 0, {});
  const std::int64_t best = best_step();
  const std::string file = log_dir_ + "/best_checkpoint.json";
  for (const char* damaged : {"{\"step\": ", "[]", "{}", R"({"step": "one", "value": 1, "measure": "x"})"}) {
    write_file_atomically(file, damaged);
    testing::expect(testing::run("predict --checkpoint=best --checkpoint_dir=" + log_dir_ + " x.jpg"), 1,
                    {file + ": is damaged: it names no checkpoint of a best evaluation"});
    testing::expect(run(2), 0, {"warning: " + file + ": is damaged", "; it is written again, by the evaluations of"});
    EXPECT_EQ(train::read_best(log_dir_)->step, best);
  }
}

TEST_F(BestCheckpoint, ThatIsGoneIsNoticed) {
  const std::int64_t best = spoiled();
  ASSERT_LT(best, 4 * kEpochSteps);
  fs::remove(path_of(best));
  const std::string of_run = " --checkpoint_dir=" + log_dir_;
  testing::expect(testing::run("predict --checkpoint=best" + of_run + " x.jpg"), 1,
                  {fmt::format("has no {} any more, which the best evaluation was of", train::checkpoint_name(best)),
                   "(allowed: last, or a step: 50)"});
  testing::expect(run(5, "--lr=1000"), 0,
                  {fmt::format("warning: the checkpoint of the best evaluation so far (step {}, ", best),
                   "is gone: the best that is left is step 50"});
  EXPECT_EQ(train::read_best(log_dir_)->step, 50);
}

TEST_F(BestCheckpoint, WrongNamesAreToldWhatThereIs) {
  testing::expect(run(1, "--mode=train"), 0, {});
  const std::string of_run = " --checkpoint_dir=" + log_dir_ + " x.jpg";
  testing::expect(testing::run("predict --checkpoint=best" + of_run), 1,
                  {"no evaluation of " + log_dir_ + " is known", "(allowed: last, or a step: 10)"});
  testing::expect(testing::run("predict --checkpoint=7" + of_run), 1,
                  {"has no model.ckpt-7", "(allowed: last, or a step: 10)"});
  testing::expect(testing::run("predict --checkpoint=newest" + of_run), 2,
                  {"--checkpoint=newest (allowed: best, last, or a step)"});
  testing::expect(testing::run("predict --checkpoint=last --weights=" + path_of(10) + " x.jpg"), 2,
                  {"--checkpoint=last chooses among the checkpoints of a folder"});
  testing::expect(run(1, "--mode=train --checkpoint=best"), 2,
                  {"--checkpoint chooses what evaluate, predict and export"});
  testing::expect(run(2), 0, {});
  testing::expect(testing::run("predict --checkpoint=7" + of_run), 1, {"(allowed: best, last, or a step: 10"});
}

TEST(BestEvaluation, OfEqualsTheEarlierIsTheBest) {
  const std::vector<train::EvaluationRow> rows = {
      {.step = 5, .top_1 = 0.5}, {.step = 10, .top_1 = 0.7}, {.step = 15, .top_1 = 0.7}, {.step = 20, .top_1 = 0.6}};
  EXPECT_EQ(train::best_of(rows)->step, 10);
  EXPECT_EQ(train::best_of({}), nullptr);
}

}  // namespace
}  // namespace ridgeline
