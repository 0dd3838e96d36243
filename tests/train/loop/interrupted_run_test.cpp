// After Ctrl-C: a log line for the step at which it arrived, and the next run of the process is not stopped.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

Recipe endless(const std::string& log_dir) {
  Recipe r = small_run(log_dir, 1'000'000, 3);
  r.save_summary_steps = 1'000'000;
  return r;
}

// Interrupts the run of `recipe` after the first checkpoint.
TrainingResult interrupted_run(const Recipe& recipe) {
  std::atomic<bool> over{false};
  std::thread user([&] {
    while (!over && !fs::exists(recipe.log_dir + "/model.ckpt-3.safetensors"))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!over) set_interrupted(true);
  });
  const TrainingResult result = train(recipe);
  over = true;
  user.join();
  return result;
}

TEST(InterruptedRun, TheStepItLandsOnGetsItsLine) {
  const std::string log_dir = testing::temporary_directory() + "/interrupted";
  fs::remove_all(log_dir);
  const TrainingResult result = interrupted_run(endless(log_dir));
  EXPECT_TRUE(result.interrupted);
  ASSERT_GE(result.step, 3);
  const auto lines = read_json_lines(result.metrics_path);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(lines[0].at("step")), result.step);
  EXPECT_EQ(result.last.step, result.step);
  EXPECT_NE(read_file(result.log_path).find("\n" + to_text(result.last) + "\n"), std::string::npos);
  fs::remove_all(log_dir);
}

TEST(InterruptedRun, DoesNotStopTheNextOneOfTheProcess) {
  const std::string log_dir = testing::temporary_directory() + "/next";
  fs::remove_all(log_dir);
  Recipe recipe = endless(log_dir);
  const TrainingResult first = interrupted_run(recipe);
  EXPECT_FALSE(interrupted());
  recipe.max_train_steps = first.step + 2;
  const TrainingResult second = train(recipe);
  EXPECT_FALSE(second.interrupted);
  EXPECT_EQ(second.step, first.step + 2);
  fs::remove_all(log_dir);
}

TEST(InterruptedRun, AGuardWithinAnotherLeavesFlagAndHandlersToIt) {
  struct sigaction before {};
  sigaction(SIGTERM, nullptr, &before);
  {
    const InterruptGuard outer;
    {
      const InterruptGuard inner;
      ::raise(SIGTERM);
      EXPECT_TRUE(interrupted());
    }
    EXPECT_TRUE(interrupted());
    set_interrupted(false);
    ::raise(SIGTERM);  // still our handler
    EXPECT_TRUE(interrupted());
  }
  EXPECT_FALSE(interrupted());
  struct sigaction after {};
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace ridgeline::train
