// The log lines that people and scripts read.
#include "ridgeline/train/training_log.h"

#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/train/callback/step_log.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/line_model.h"

namespace ridgeline::train {
namespace {

TEST(TrainingLog, StepLinesAreThoseOfTheRecipeToTheLetter) {
  EXPECT_EQ(to_text(StepLine{700, 0.559, 33558.6, 6.754, 7.786, 0.00671, 3.051382}),
            "step:   700  epoch:  0.6  FPS:33558.6, loss: 6.754, total_loss: 7.786  lr:0.00671  batch_time:3.051382");
  EXPECT_EQ(to_text(StepLine{1800, 1.4389, 34176.2, 6.363, 7.371, 0.01727, 2.996241}),
            "step:  1800  epoch:  1.4  FPS:34176.2, loss: 6.363, total_loss: 7.371  lr:0.01727  batch_time:2.996241");
  const std::regex pattern(
      R"(step:\s*\d+  epoch:\s*[\d.]+  FPS:\s*[\d.]+, loss:\s*[\d.]+, total_loss:\s*[\d.]+  lr:[\d.]+  batch_time:[\d.]+)");
  EXPECT_TRUE(std::regex_match(to_text(StepLine{3, 0.1, 12.5, 2.3, 3.1, 0.06, 120.25}), pattern));
}

TEST(TrainingLog, DurationsAreWrittenForPeople) {
  EXPECT_EQ(duration_text(45.4), "45 s");
  EXPECT_EQ(duration_text(119), "119 s");
  EXPECT_EQ(duration_text(12 * 60 + 5), "12 min");
  EXPECT_EQ(duration_text(3 * 3600 + 12 * 60), "3 h 12 min");
  EXPECT_EQ(duration_text(2 * 86400 + 4 * 3600 + 59), "2 d 4 h");
}

// A run with more than two minutes left reports the remaining time once.
TEST(TrainingLog, LongRunsAreToldHowLongTheyWillTake) {
  const std::string path = testing::temporary_directory() + "/estimate.log";
  TrainingLog log(path);
  LineModel line;
  FunctionFeed slow([&](Program& program) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return line.feed.bind_next(program);
  });
  class Stop : public Callback {
    void step_end(RunContext& context) override {
      if (context.step() == 4) context.request_stop();
    }
  } stop;
  StepLog lines({.batch_size = 8, .records = 1000, .loop = 2, .every_loop = true}, log);
  Loop(line.model, slow, {.total_steps = 10000000, .steps_per_epoch = 125, .loop = 2}).run({&lines, &stop});
  const std::string text = read_file(path);
  EXPECT_NE(text.find(" for the 9999998 steps left\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("steps left"), text.rfind("steps left"));
}

TEST(TrainingLog, EvaluationRowsShowPercentAndTrueUtc) {
  EXPECT_EQ(to_text(EvaluationRow{187700, 150, 0.6012, 0.8206, 2.57, 49921, 1592485934}),
            "187700  150.0  60.120   82.06    2.57  2020-06-18 13:12:14");
  EXPECT_EQ(to_text(EvaluationRow{6300, 1, 0.18502, 0.3933, 4.78, 49921, 1592479125}),
            " 6300    1.0  18.502   39.33    4.78  2020-06-18 11:18:45");
}

}  // namespace
}  // namespace ridgeline::train
