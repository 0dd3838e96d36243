// Everything that asks a run to stop (a queue, a closed terminal, a log that nobody reads, a time limit) works like
// SIGTERM: a checkpoint, exit code 130, and the same command resumes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/recipe/duration.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::stopped_run {
namespace {

namespace fs = std::filesystem;

std::string new_folder(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name;
  fs::remove_all(path);
  return path;
}

std::string training(const std::string& log_dir, std::int64_t steps, const std::string& more = "") {
  return fmt::format(
      "train --synthetic --model=linear --image_size=8 --num_classes=3 --batch_size=4 --max_train_steps={} "
      "--warmup_epochs=0 --lr=0.001 --save_checkpoints_steps=3 --save_summary_steps=1 --intra_op_parallelism_threads=1 "
      "--log_dir={} {}",
      steps, log_dir, more);
}
constexpr std::int64_t kEndless = 1'000'000'000;

std::string log_of(const std::string& log_dir) { return read_file(log_dir + "/linear_training.log"); }

// It stops after a complete step, saves a checkpoint of it, and reports it.
void expect_stopped(const std::string& log_dir) {
  const auto files = train::list_checkpoints(log_dir);
  ASSERT_FALSE(files.empty());
  EXPECT_NE(
      log_of(log_dir).find(fmt::format("interrupted after step {}, saved {}", files.back().step, files.back().path)),
      std::string::npos)
      << log_of(log_dir);
}

// Sends the signal of `kill` to $run once there is a checkpoint, and returns the exit code.
testing::Outcome stopped_by(const std::string& log_dir, const std::string& kill) {
  return testing::run_shell(
      fmt::format("{} {} > /dev/null 2>&1 & run=$!; until [ -e {}/checkpoint ]; do sleep 0.01; done; "
                  "{}; wait $run; exit $?",
                  testing::program(), training(log_dir, kEndless), log_dir, kill));
}

TEST(StoppedRun, HangUpAndUserSignalEndItAsTermDoes) {
  for (const char* signal : {"HUP", "USR1", "TERM", "INT"}) {
    const std::string log_dir = new_folder(std::string("signal_") + signal);
    EXPECT_EQ(stopped_by(log_dir, fmt::format("kill -{} $run", signal)).code, 130) << signal;
    expect_stopped(log_dir);
  }
}

// Like a queue that signals every process of a job, and a launcher that passes signals on.
TEST(StoppedRun, TheSameRequestByTwoSendersIsOne) {
  const std::string log_dir = new_folder("two_senders");
  EXPECT_EQ(stopped_by(log_dir, "sh -c \"kill -TERM $run; true\"; sh -c \"kill -TERM $run 2> /dev/null; true\"").code,
            130);
  expect_stopped(log_dir);
}

TEST(StoppedRun, AnIgnoredHangUpStaysIgnored) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignore, &before);
  {
    const train::InterruptGuard guard;
    ::raise(SIGHUP);
    EXPECT_FALSE(train::interrupted());
    ::raise(SIGUSR1);
    EXPECT_TRUE(train::interrupted());
    EXPECT_EQ(train::interrupting_signal(), SIGUSR1);
  }
  sigaction(SIGHUP, &before, nullptr);
}

// `head` ends after some step lines, or after the first line, while the run still starts.
TEST(StoppedRun, ALogThatNobodyReadsEndsIt) {
  const std::string log_dir = new_folder("head");
  const auto piped = [&](const std::string& more, const char* lines) {
    fs::remove_all(log_dir);
    testing::run_shell(fmt::format("({{ {} {}; }}; echo $? > {}.code) | head -{}", testing::program(),
                                   training(log_dir, kEndless, more), log_dir, lines));
    EXPECT_EQ(read_file(log_dir + ".code"), "130\n") << more << " " << lines;
  };
  piped("2>&1", "20");
  expect_stopped(log_dir);
  piped("2>&1", "1");
  EXPECT_NE(log_of(log_dir).find("interrupted after step "), std::string::npos) << log_of(log_dir);
  // The log file itself is a pipe.
  fs::remove_all(log_dir);
  testing::run_shell(
      fmt::format("mkdir -p {0}; mkfifo {0}/lines; head -20 {0}/lines > {0}.head & {1} {2} 2> /dev/null; "
                  "echo $? > {0}.code; wait",
                  log_dir, testing::program(), training(log_dir, kEndless, "--log_name=lines")));
  EXPECT_EQ(read_file(log_dir + ".code"), "130\n");
  EXPECT_FALSE(train::list_checkpoints(log_dir).empty());
}

TEST(StoppedRun, EndsInTimeAndTheSameCommandGoesOn) {
  const std::string whole = new_folder("whole"), parts = new_folder("parts");
  testing::expect(testing::run(training(whole, 3)), 0, {});
  // The time is over before the run begins: a process makes at least one step.
  const std::string command = training(parts, 3, "--max_time=0.001");
  for (const std::int64_t step : {1, 2}) {
    testing::expect(testing::run(command), 130,
                    {"--max_time (0 s): stopped in time after step " + std::to_string(step) + ", saved " + parts,
                     "; the same command goes on"});
  }
  testing::expect(testing::run(command), 0, {"step:     3"});
  const std::string last = "/model.ckpt-3.safetensors";
  EXPECT_EQ(read_file(parts + last), read_file(whole + last));
  testing::expect(testing::run(training(new_folder("enough"), 3, "--max_time=3h")), 0, {"step:     3"});
}

TEST(StoppedRun, AllRanksEndInTimeBehindTheSameStep) {
  const std::string folder = new_folder("ranks_in_time");
  make_directories(folder);
  const std::string command = fmt::format("cd {} && {} launch --ranks 2 -- {}", folder, testing::program(),
                                          training(folder + "/out", 2, "--max_time=0.001"));
  testing::expect(testing::run_shell(command), 130, {"rank 0: train interrupted", "rank 1: train interrupted"});
  EXPECT_EQ(train::list_checkpoints(folder + "/out").back().step, 1);
  testing::expect(testing::run_shell(command), 0, {"rank 0: train success", "rank 1: train success"});
  EXPECT_EQ(train::list_checkpoints(folder + "/out").back().step, 2);
}

TEST(StoppedRun, LengthsOfTimeHaveThreeForms) {
  const auto seconds = [](const std::string& text) { return train::parse_duration("--max_time", text); };
  EXPECT_EQ(seconds("5400"), 5400);
  EXPECT_EQ(seconds("0.5"), 0.5);
  EXPECT_EQ(seconds("1h30m"), 5400);
  EXPECT_EQ(seconds("90m"), 5400);
  EXPECT_EQ(seconds("1.5h"), 5400);
  EXPECT_EQ(seconds("1d45s"), 86445);
  EXPECT_EQ(seconds("1:30:00"), 5400);
  EXPECT_EQ(seconds("100:00:01"), 360001);
  for (const char* wrong : {"", "0", "-3", "3x", "30:00", "1:60:00", "1:2:3", "h", "3m1h", "3h3h", "1h30", "1.5:00:00",
                            "nan", "1e3", "99999999999"}) {
    const std::string error = error_of([&] { seconds(wrong); });
    EXPECT_NE(error.find(fmt::format("--max_time={} is no length of time (allowed: seconds (5400), ", wrong)),
              std::string::npos)
        << wrong << ": " << error;
  }
  testing::expect(testing::run(training(new_folder("wrong"), 1, "--max_time=soon")), 2,
                  {"--max_time=soon is no length"});
  testing::expect(testing::run("evaluate --data_dir=x --max_time=3h"), 2,
                  {"--max_time is an option of train and has no effect on an evaluation"});
  testing::expect(testing::run(training(new_folder("wrong"), 1, "--max_time=3h --do_checkpoint=False")), 2,
                  {"--max_time", "it needs --do_checkpoint=True"});
}

}  // namespace
}  // namespace ridgeline::stopped_run
