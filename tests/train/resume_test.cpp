// Stop and go: whatever interrupts a run, whatever the number of data workers and the length of a loop, the losses and
// the final checkpoint are those of the run that nobody disturbed, bit by bit.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/json_lines.h"
#include "ridgeline/train/trainer.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 24;

// A small set of drawn images, made once.
const std::string& images() {
  static const std::string directory = [] {
    const std::string path = testing::temporary_directory() + "/images";
    data::make_shapes(path, {.seed = 3, .train = 100, .val = 20});
    return path;
  }();
  return directory;
}

Recipe recipe(const std::string& log_dir, int workers, std::int64_t loop) {
  Recipe r;
  r.data_dir = images();
  r.model = "resnet20";
  r.batch_size = 8;
  r.max_epochs = 4;
  r.max_train_steps = kSteps;
  r.warmup_epochs = 1;
  r.num_workers = workers;
  r.iterations_per_loop = loop;
  r.save_summary_steps = 1000;
  r.save_checkpoints_steps = 5;
  r.mode = Mode::train;
  r.log_dir = log_dir;
  return r;
}

std::string directory(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name;
  fs::remove_all(path);
  return path;
}

std::string final_checkpoint(const std::string& log_dir) {
  return read_file(log_dir + "/model.ckpt-" + std::to_string(kSteps) + ".safetensors");
}

// Losses by step; of a step that was logged twice, the later.
std::map<std::int64_t, double> losses(const std::string& log_dir) {
  std::map<std::int64_t, double> by_step;
  for (const auto& line : read_json_lines(log_dir + "/metrics.jsonl")) {
    by_step[std::get<std::int64_t>(line.at("step"))] = std::get<double>(line.at("loss"));
  }
  return by_step;
}

struct Baseline {
  std::string checkpoint;
  std::map<std::int64_t, double> losses;
};

const Baseline& baseline() {
  static const Baseline result = [] {
    const std::string log_dir = directory("baseline");
    train(recipe(log_dir, 2, 1));
    Baseline b{final_checkpoint(log_dir), losses(log_dir)};
    fs::remove_all(log_dir);
    return b;
  }();
  return result;
}

TEST(Resume, WorkersAndLoopLengthChangeNoBit) {
  for (int workers : {1, 2, 7}) {
    for (std::int64_t loop : {1, 10}) {
      const std::string log_dir = directory("plain");
      train(recipe(log_dir, workers, loop));
      EXPECT_EQ(final_checkpoint(log_dir), baseline().checkpoint) << workers << " workers, loop " << loop;
      for (const auto& [step, loss] : losses(log_dir)) {
        EXPECT_EQ(loss, baseline().losses.at(step)) << "step " << step;
      }
      fs::remove_all(log_dir);
    }
  }
}

// Runs the program in a child until it is done, sending `signal` to the first ones after a while.
int run_with_signals(const Recipe& r, const std::vector<std::pair<int, int>>& milliseconds_and_signal) {
  int runs = 0;
  for (;; ++runs) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(3);
      const std::string steps = std::to_string(kSteps);
      const std::string workers = std::to_string(r.num_workers);
      const std::string loop = std::to_string(r.iterations_per_loop);
      const std::vector<std::string> words{RIDGELINE_BINARY,
                                           "train",
                                           "--model=resnet20",
                                           "--mode=train",
                                           "--data_dir=" + r.data_dir,
                                           "--batch_size=8",
                                           "--max_epochs=4",
                                           "--max_train_steps=" + steps,
                                           "--warmup_epochs=1",
                                           "--num_workers=" + workers,
                                           "--iterations_per_loop=" + loop,
                                           "--save_summary_steps=1000",
                                           "--save_checkpoints_steps=5",
                                           "--log_dir=" + r.log_dir};
      std::vector<char*> argv;
      for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    if (static_cast<std::size_t>(runs) < milliseconds_and_signal.size()) {
      const auto& [wait, signal] = milliseconds_and_signal[static_cast<std::size_t>(runs)];
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      ::kill(child, signal);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return runs + 1;
    const bool expected =
        (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 130);
    EXPECT_TRUE(expected) << "status " << status;
    if (!expected || runs > 20) return -1;
  }
}

TEST(Resume, AKilledOrInterruptedRunGoesOnAsIfNothingHadHappened) {
  const std::vector<std::vector<std::pair<int, int>>> disturbances{
      {{250, SIGKILL}, {150, SIGKILL}, {400, SIGKILL}},
      {{300, SIGINT}, {200, SIGTERM}},
      {{20, SIGKILL}, {350, SIGINT}, {300, SIGKILL}},
  };
  int workers = 1;
  for (const auto& signals : disturbances) {
    const std::string log_dir = directory("signals");
    ASSERT_GE(run_with_signals(recipe(log_dir, workers, workers == 1 ? 1 : 10), signals), 1);
    EXPECT_EQ(final_checkpoint(log_dir), baseline().checkpoint);
    for (const auto& [step, loss] : losses(log_dir)) EXPECT_EQ(loss, baseline().losses.at(step)) << "step " << step;
    fs::remove_all(log_dir);
    workers = workers * 2 + 1;
  }
}

TEST(Resume, ADoneRunIsNotDoneAgain) {
  const std::string log_dir = directory("done");
  train(recipe(log_dir, 2, 10));
  const std::string before = final_checkpoint(log_dir);
  const TrainingResult again = train(recipe(log_dir, 2, 10));
  EXPECT_EQ(again.step, kSteps);
  EXPECT_EQ(final_checkpoint(log_dir), before);
  fs::remove_all(log_dir);
}

}  // namespace
}  // namespace ridgeline::train
