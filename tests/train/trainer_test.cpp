// The output of a run: the log lines, consistent numbers, and equal metrics.
#include "ridgeline/train/recipe/trainer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/event_file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/report/report.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

Recipe synthetic(const std::string& log_dir) {
  Recipe r = small_run(log_dir, 7, 4);
  r.iterations_per_loop = 3;
  return r;
}

TEST(Trainer, LinesMatchThePatternAndFpsTimesBatchTimeIsTheLoopsImages) {
  const std::string log_dir = testing::temporary_directory() + "/lines";
  fs::remove_all(log_dir);
  const TrainingResult result = train(synthetic(log_dir));
  EXPECT_EQ(result.step, 7);
  const std::string log = read_file(result.log_path);
  EXPECT_NE(log.find("training steps: 7\n"), std::string::npos);
  EXPECT_NE(log.find("Step   Epoch   Speed   Loss   FinLoss   LR\n"), std::string::npos);
  const std::regex pattern(
      R"(step:\s*\d+  epoch:\s*[\d.]+  FPS:\s*([\d.]+), loss:\s*[\d.]+, total_loss:\s*[\d.]+  lr:[\d.]+  batch_time:([\d.]+))");
  int lines = 0;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("step:")) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, pattern)) << line;
    EXPECT_NEAR(std::stod(match[1]) * std::stod(match[2]), 4.0 * 3.0, 12.0 * 0.06 / std::stod(match[1]) + 1e-3) << line;
    ++lines;
  }
  EXPECT_EQ(lines, 3);  // after steps 3, 6 and 7; step 4 only saves
  std::vector<std::int64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(log_dir)) steps.push_back(file.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{4, 7}));
  const auto metrics = read_json_lines(result.metrics_path);
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(std::get<double>(metrics.back().at("loss")), result.last.loss);
  const std::vector<std::string> events = glob_files(log_dir + "/events.out.tfevents.*");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(read_event_file(events.front()).scalars.size(), 3u * 4u);
  fs::remove_all(log_dir);
}

TEST(Trainer, WithoutCheckpointsNoneIsWritten) {
  const std::string log_dir = testing::temporary_directory() + "/none";
  fs::remove_all(log_dir);
  Recipe recipe = synthetic(log_dir);
  recipe.do_checkpoint = false;
  recipe.max_train_steps = 2;
  train(recipe);
  EXPECT_TRUE(list_checkpoints(log_dir).empty());
  fs::remove_all(log_dir);
}

TEST(Trainer, ARunExplainsItsTimeWhenAskedTo) {
  const std::string log_dir = testing::temporary_directory() + "/explained";
  fs::remove_all(log_dir);
  Recipe recipe = synthetic(log_dir);
  recipe.max_train_steps = 2;
  recipe.explain = true;
  train(recipe);
  double parts = 0, launches = 0;
  for (const auto& line : read_json_lines(log_dir + "/launches.jsonl")) {
    const std::string& kind = std::get<std::string>(line.at("kind"));
    if (kind == "limits") {
      EXPECT_GT(std::get<double>(line.at("f32_gflops")), 0);
    } else {
      (kind == "part" ? parts : launches) += std::get<double>(line.at("ms"));
      EXPECT_GE(std::get<double>(line.at("ms_at_limit")), 0);
    }
  }
  EXPECT_GT(launches, 0);
  EXPECT_NEAR(parts, launches, 1e-9 * launches);
  const Report report = compare_runs(read_run_logs({log_dir}));
  const auto table = std::find_if(report.tables.begin(), report.tables.end(), [](const ReportTable& t) {
    return t.heading == "Where the last step's time went: explained";
  });
  ASSERT_NE(table, report.tables.end());
  EXPECT_FALSE(table->rows.empty());
  for (const auto& row : table->rows) EXPECT_EQ(row.size(), table->columns.size());
  fs::remove_all(log_dir);
}

TEST(Trainer, ATraceThatCannotBeWrittenIsSaidBeforeTheRunStarts) {
  const std::string log_dir = testing::temporary_directory() + "/traced";
  fs::remove_all(log_dir);
  Recipe recipe = synthetic(log_dir);
  recipe.max_train_steps = 2;
  for (const std::string& place : {log_dir + "/no/such/folder/trace.json", testing::temporary_directory()}) {
    recipe.trace = place;
    std::string message;
    try {
      train(recipe);
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find(place), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with("cannot ")) << message;
    EXPECT_TRUE(list_checkpoints(log_dir).empty());
  }
  recipe.trace = log_dir + "/trace.json";  // in a folder that the run creates
  train(recipe);
  const std::string trace = read_file(recipe.trace);
  for (const char* part : {"traceEvents", "\"compute\"", "\"kernel\":\"", " GFLOP of "})
    EXPECT_NE(trace.find(part), std::string::npos) << part;
  EXPECT_EQ(glob_files(log_dir + "/.trace*").size(), 0u);  // no files of the write test are left
  fs::remove_all(log_dir);
}

}  // namespace
}  // namespace ridgeline::train
