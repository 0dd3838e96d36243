// Messages of a running training: a progress bar within loops, the remaining time, one line per epoch, and advice if
// the losses look like a known mistake.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <regex>
#include <set>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/train/callback/advisor.h"
#include "ridgeline/train/callback/epoch_log.h"
#include "ridgeline/train/loop/progress_watch.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/line_model.h"

namespace ridgeline::train {
namespace {

std::string fresh_log(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name + ".log";
  write_file_atomically(path, "");
  return path;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ProgressWatch, TellsOnceHowLongALongRunTakesBeforeItsFirstLine) {
  for (const double long_run : {0.0, 1e9}) {
    const std::string path = fresh_log("watch");
    TrainingLog log(path);
    const auto step = std::make_shared<std::atomic<std::int64_t>>(0);
    {
      ProgressWatch watch({.total_steps = 100000, .period = 0.001, .settle = 0.01, .long_run = long_run}, step, log);
      // Waits for the line, which may take long on a busy machine; if none comes, for some time.
      const auto said = [&] { return count(read_file(path), " steps left\n") > 0; };
      for (int i = 0; i < (long_run == 0 ? 30'000 : 100) && !said(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++*step;
      }
    }
    EXPECT_EQ(count(read_file(path), " steps left\n"), long_run == 0 ? 1u : 0u) << read_file(path);
  }
}

// A loop of 120 steps on a terminal: the bar is shown at steps inside it.
TEST(ProgressWatch, TheBarMovesWithinALoop) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child < 0) GTEST_SKIP() << "no terminal can be opened here: " << std::strerror(errno);
  if (child == 0) {
    const std::string log = "--log_dir=" + testing::temporary_directory() + "/bar";
    const std::string program = testing::program();
    ::execl(program.c_str(), program.c_str(), "train", "--synthetic", "--model=resnet20", "--num_classes=10",
            "--batch_size=32", "--max_train_steps=120", "--iterations_per_loop=120", "--save_summary_steps=120",
            "--do_checkpoint=False", log.c_str(), nullptr);
    ::_exit(127);
  }
  std::string shown;
  char buffer[4096];
  for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) shown.append(buffer, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(status, 0) << shown;
  const std::regex bar(R"(training \[[=> ]*\] +\d+ %  (\d+)/120  \d+ images/s  \d+ s left)");
  std::set<int> steps;
  for (auto it = std::sregex_iterator(shown.begin(), shown.end(), bar); it != std::sregex_iterator(); ++it)
    steps.insert(std::stoi((*it)[1]));
  ASSERT_FALSE(steps.empty()) << shown;
  EXPECT_GT(*steps.begin(), 0);
  EXPECT_LT(*steps.begin(), 120);
  EXPECT_NE(shown.find("step:   120"), std::string::npos) << shown;
}

TEST(EpochLog, HasALineForEachEpochWithTheMeansOfItsSteps) {
  const std::string path = fresh_log("epochs");
  TrainingLog log(path);
  LineModel line;
  EpochLog epochs(LineModel::kRows, log);
  std::vector<double> losses;
  class Watch : public Callback {
   public:
    explicit Watch(std::vector<double>& losses) : losses_(losses) {}
    std::int64_t next_stop(std::int64_t step) const override { return step + 1; }
    void step_end(RunContext& context) override { losses_.push_back(context.loss()); }

   private:
    std::vector<double>& losses_;
  } watch(losses);
  // Step by step, and in loops that do not end at epochs: the same means.
  Loop(line.model, line.feed, {.total_steps = 7, .steps_per_epoch = 3, .loop = 100, .cut_at_epochs = false})
      .run({&epochs, &watch});
  LineModel again;
  Loop(again.model, again.feed, {.total_steps = 7, .steps_per_epoch = 3, .loop = 4, .cut_at_epochs = false})
      .run({&epochs});
  const std::string text = read_file(path);
  char first[64], second[64];
  std::snprintf(first, sizeof first, "epoch   1/3  loss:%6.3f  FPS:", (losses[0] + losses[1] + losses[2]) / 3);
  std::snprintf(second, sizeof second, "epoch   2/3  loss:%6.3f  FPS:", (losses[3] + losses[4] + losses[5]) / 3);
  EXPECT_EQ(count(text, first), 2u) << first << text;
  EXPECT_EQ(count(text, second), 2u) << second << text;
  EXPECT_EQ(count(text, "for the epochs left\n"), 4u);
  EXPECT_EQ(count(text, "\n"), 4u);
}

// Runs whose losses are given by their data.
class FedLoss {
 public:
  std::string advice(const AdvisorOptions& options, const std::function<float(std::int64_t)>& loss_of_step,
                     std::int64_t steps) {
    const std::string path = fresh_log("advice");
    TrainingLog log(path);
    Session session{{.compute_threads = 1}};
    Model model(session, nn::Network{.name = "fed", .loss = [](nn::ModelContext& context) {
                                       const Value x = context.builder.input("x", {DType::f32, {4, 1}});
                                       const Value w = context.parameter("w", {1, 1}, nn::zeros());
                                       return nn::mean(x + nn::dense(x, w, {}) * 0.0);
                                     }});
    model.prepare_training({.schedule = optim::Constant{.base = 0.5}, .weight_decay = 0});
    std::int64_t step = 0;
    Tensor x(DType::f32, Shape{4, 1});
    FunctionFeed feed([&](Program& program) {
      for (float& v : x.span<float>()) v = loss_of_step(step);
      ++step;
      program.bind("x", x);
      return true;
    });
    Advisor advisor(options, log);
    Loop(model, feed, {.total_steps = steps, .steps_per_epoch = 1000, .loop = 10}).run({&advisor});
    return read_file(path);
  }
};

TEST(Advisor, SaysOnceThatAllLogitsAreEqual) {
  const float guess = std::log(10.0f);
  const std::string said =
      FedLoss().advice({.classes = 10, .final_relu = true}, [&](std::int64_t) { return guess; }, 400);
  EXPECT_NE(said.find("ln(10) = 2.3026 to the last digit: all logits are equal"), std::string::npos) << said;
  EXPECT_NE(said.find("--final_relu=False"), std::string::npos) << said;
  EXPECT_EQ(count(said, "advice: "), 1u) << said;
  EXPECT_EQ(
      FedLoss().advice({.classes = 10}, [&](std::int64_t) { return guess; }, 40).find("final_relu"), std::string::npos);
}

TEST(Advisor, SaysOnceThatNothingIsLearnedButNotDuringWarmUp) {
  const auto noisy = [](std::int64_t step) { return std::log(100.0f) + 0.02f * static_cast<float>(step % 3 - 1); };
  const std::string said = FedLoss().advice({.classes = 100}, noisy, 600);
  EXPECT_NE(said.find("the loss stands at 4.605, which is ln(100)"), std::string::npos) << said;
  EXPECT_NE(said.find("try --lr=5 or 0.05"), std::string::npos) << said;
  EXPECT_EQ(count(said, "advice: "), 1u) << said;
  EXPECT_EQ(FedLoss().advice({.classes = 100, .warmup_steps = 500}, noisy, 600), "");
}

TEST(Advisor, SaysOnceThatTheLossGrows) {
  const std::string said =
      FedLoss().advice({.classes = 10}, [](std::int64_t step) { return 2.0f + 0.1f * static_cast<float>(step); }, 300);
  EXPECT_NE(said.find("the loss grew from "), std::string::npos) << said;
  EXPECT_NE(said.find("a rate of 0.5 is too high, try --lr=0.05"), std::string::npos) << said;
  EXPECT_EQ(count(said, "advice: "), 1u) << said;
}

TEST(Advisor, SaysNothingOfARunThatLearns) {
  const auto falls = [](std::int64_t step) {
    return 2.3f / (1 + 0.01f * static_cast<float>(step)) + 0.3f * static_cast<float>(step % 5 == 0);
  };
  EXPECT_EQ(FedLoss().advice({.classes = 10, .final_relu = true}, falls, 1000), "");
}

}  // namespace
}  // namespace ridgeline::train
