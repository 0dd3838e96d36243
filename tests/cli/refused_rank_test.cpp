// A rank ends before it has joined the others, by a wrong flag or unreadable data: the others stop waiting and report
// which rank it was and why.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/launch/launch.h"
#include "tests/support/mpirun.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

// Time until a launcher ends ranks that were not notified: longer than any test.
constexpr int kGraceSeconds = 3600;

const std::string kTrain =
    "train --model=linear --image_size=16 --batch_size=8 --mode=train --max_epochs=1 --max_train_steps=2 "
    "--intra_op_parallelism_threads=1 ";
const std::string kSynthetic = kTrain + "--synthetic --num_classes=2 ";
const std::string kReason = "train: unknown flag --no_such_flag";

std::string refused_folder(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name;
  std::filesystem::remove_all(path);
  make_directories(path);
  return path;
}

testing::Outcome run_in(const std::string& folder, const std::string& command) {
  return testing::run_shell("cd " + folder + " && (" + command + ")");
}

// The environment variables of rank `rank` of two of job `job`, then the program.
std::string as_rank(int rank, const std::string& job) {
  return fmt::format("RANK_ID={} RANK_SIZE=2 DEVICE_ID={} JOB_ID={}{} {} ", rank, rank, job, ::getpid(),
                     testing::program());
}

TEST(RefusedRank, UnderLaunchTheOthersEndWithItsReason) {
  const std::string folder = refused_folder("refused_launch");
  make_directories(folder + "/results/3p/0");
  make_directories(folder + "/results/3p/2");
  for (const char* rank : {"0", "2"}) write_file_atomically(folder + "/results/3p/" + rank + "/run.json", "{}");
  const testing::Outcome outcome =
      run_in(folder, testing::program() + " launch --ranks=3 -- " + kSynthetic + "--log_dir=out --run_config=run.json");
  testing::expect(outcome, 2, {"rank 1: train fail (exit code 2)", "rank 0: train fail (exit code 1)"});
  for (const char* rank : {"0", "2"}) {
    const std::string said = read_file(fmt::format("{0}/results/3p/{1}/train_{1}.log", folder, rank));
    EXPECT_NE(said.find("[ranks] rank 1 does not come: no such file: run.json (--run_config)"), std::string::npos)
        << said;
  }
}

// It ends before it can notify anybody, like a process that is killed for lack of memory.
TEST(RefusedRank, UnderLaunchOneThatCannotSpeakIsNamed) {
  const std::string folder = refused_folder("silent_launch");
  const train::LaunchPlan plan = train::plan_launch({.ranks = 2, .results = folder + "/results"}, {0});
  const std::string script =
      "if [ $RANK_ID = 1 ]; then kill -9 $$; fi; exec " + testing::program() + " " + kSynthetic + "--log_dir=out";
  std::string told;
  const std::vector<train::RankEnd> ends = train::run_launch(plan, {"/bin/sh", "-c", script}, kGraceSeconds,
                                                             [&](const std::string& line) { told += line + "\n"; });
  EXPECT_EQ(ends[1].code, 128 + SIGKILL);
  EXPECT_EQ(ends[0].code, 1);
  EXPECT_NE(told.find("[ranks] rank 1 does not come: train fail (signal 9)"), std::string::npos) << told;
}

TEST(RefusedRank, UnderLaunchAFolderThatOneCannotReadEndsAll) {
  const std::string folder = refused_folder("unreadable_launch");
  data::make_shapes(folder + "/results/2p/0/shapes", {.train = 32, .val = 10});
  const testing::Outcome outcome =
      run_in(folder, testing::program() + " launch --ranks=2 -- " + kTrain + "--data_dir=shapes --log_dir=out");
  testing::expect(outcome, 1, {"rank 1: train fail (exit code 1)", "rank 0: train fail (exit code 1)"});
  const std::string said = read_file(folder + "/results/2p/0/train_0.log");
  EXPECT_NE(said.find("[ranks] rank 1 gave up: "), std::string::npos) << said;
  EXPECT_NE(said.find("shapes"), std::string::npos) << said;
}

TEST(RefusedRank, ByHandTheOthersEndWithItsReason) {
  for (const int refused : {0, 1}) {
    SCOPED_TRACE(refused);
    const std::string folder = refused_folder("refused_by_hand");
    const std::string waits = as_rank(1 - refused, fmt::format("waits{}", refused)) + kSynthetic + "--log_dir=out";
    const std::string refuses =
        as_rank(refused, fmt::format("waits{}", refused)) + kSynthetic + "--no_such_flag --log_dir=out";
    const testing::Outcome outcome =
        run_in(folder, fmt::format("({}; echo code $?) & sleep 0.3; {}; echo refused $?; wait", waits, refuses));
    testing::expect(outcome, 0,
                    {fmt::format("[ranks] rank {} does not come: {}", refused, kReason), "code 1", "refused 2"});
  }
}

TEST(RefusedRank, ByHandOneThatIsStartedLaterIsTold) {
  const std::string folder = refused_folder("refused_before");
  const std::string refuses = as_rank(1, "before") + kSynthetic + "--no_such_flag --log_dir=out";
  const std::string comes = as_rank(0, "before") + kSynthetic + "--log_dir=out";
  const testing::Outcome outcome = run_in(folder, fmt::format("{}; sleep 1; {}; echo code $?", refuses, comes));
  testing::expect(outcome, 0, {"[ranks] rank 1 does not come: " + kReason, "code 1"});
}

TEST(RefusedRank, ByHandARunOfTheSameNameThatBeginsAnewTrains) {
  const std::string folder = refused_folder("refused_again");
  const std::string refuses = as_rank(1, "again") + kSynthetic + "--no_such_flag --log_dir=out";
  const std::string zero = as_rank(0, "again") + kSynthetic + "--log_dir=out",
                    one = as_rank(1, "again") + kSynthetic + "--log_dir=out";
  const testing::Outcome outcome = run_in(
      folder, fmt::format("{}; sleep 0.5; ({}; echo code $?) & sleep 1; {}; echo code $?; wait", refuses, zero, one));
  EXPECT_EQ(outcome.text.find("does not come"), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("code 1"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("code 0"), std::string::npos) << outcome.text;
}

TEST(RefusedRank, UnderMpirunAllEnd) {
  if (!testing::has_mpirun()) GTEST_SKIP() << testing::kNoMpirun;
  const std::string folder = refused_folder("refused_mpi");
  // Not two programs apart by a colon, at which the mpirun of Debian 13 (5.0.7) crashes.
  const std::string rank = "exec " + testing::program() + " " + kSynthetic + "--log_dir=out";
  const std::string each = "case $OMPI_COMM_WORLD_RANK in 1) " + rank + " --no_such_flag;; *) " + rank + ";; esac";
  const testing::Outcome outcome = run_in(
      folder,
      fmt::format("{} RIDGELINE_RANKS_OVER=mpi mpirun --oversubscribe -np 2 sh -c '{}'", testing::kMpiVariables, each));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.text.find(kReason), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("Exit code:    2"), std::string::npos) << outcome.text;
}

// ---- workers and servers

TEST(RefusedRank, AWorkerThatDoesNotComeEndsItsServersAndTheScheduler) {
  const std::string folder = refused_folder("refused_worker");
  make_directories(folder + "/results/2p/0");
  make_directories(folder + "/results/2p/server_0");
  for (const char* of : {"0", "server_0"}) write_file_atomically(folder + "/results/2p/" + of + "/run.json", "{}");
  const testing::Outcome outcome = run_in(folder, testing::program() + " launch --ranks=2 --servers=1 -- " +
                                                      kSynthetic + "--log_dir=out --run_config=run.json");
  testing::expect(outcome, 2, {"worker 1: train fail (exit code 2)", "server 0: train fail (exit code "});
  for (const char* log : {"0/train_0.log", "server_0/train_server_0.log"}) {
    const std::string said = read_file(folder + "/results/2p/" + log);
    EXPECT_NE(said.find("worker 1 (process "), std::string::npos) << said;
    EXPECT_NE(said.find(") does not come: no such file: run.json (--run_config)"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace ridgeline
