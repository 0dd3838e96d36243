// A run that cannot start leaves nothing behind: no lock, no empty log, no folder, no shared memory.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;

std::string failed_root(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/failed_start/" + name;
  fs::remove_all(path);
  make_directories(path);
  return path;
}

TEST(FailedStart, LeavesNoFolderLockOrLog) {
  const std::string root = failed_root("folder");
  make_directories(root + "/data/train/a");
  const std::string words = "train --model=linear --image_size=8 --mode=train --data_dir=" + root + "/data --log_dir=";
  EXPECT_EQ(testing::run(words + root + "/made/on/the/way").code, 1);
  EXPECT_FALSE(fs::exists(root + "/made"));
  make_directories(root + "/there");
  EXPECT_EQ(testing::run(words + root + "/there").code, 1);
  EXPECT_TRUE(fs::is_empty(root + "/there"));
}

TEST(FailedStart, ARunThatEndedLeavesNoLockEither) {
  const std::string root = failed_root("ended");
  expect(testing::run("train --synthetic --model=linear --image_size=8 --num_classes=3 --batch_size=4 "
                      "--max_train_steps=2 --log_dir=" +
                      root + "/run"),
         0, {"step:     2"});
  EXPECT_TRUE(is_regular_file(root + "/run/linear_training.log"));
  EXPECT_FALSE(fs::exists(root + "/run/.lock"));
}

// For one of two ranks that are started without a launcher.
std::string by_hand(int rank, const std::string& job) {
  return fmt::format(
      "RANK_ID={} RANK_SIZE=2 JOB_ID={} {} train --synthetic --model=linear --image_size=8 "
      "--num_classes=3 --batch_size=4 --max_train_steps=2 ",
      rank, job, testing::program());
}

// The shared memory in which the ranks of a job meet.
std::string meeting_place(const std::string& job) {
  return fmt::format("/dev/shm/ridgeline-{}-{:016x}", ::getuid(), hash64(job));
}

TEST(FailedStart, RanksByHandThatAreCalledWronglyLeaveNothingInSharedMemory) {
  const std::string job = fmt::format("wrongly{}", ::getpid()), root = failed_root("wrongly");
  const std::string wrong = " --no_such_flag & ";
  testing::run_shell("cd " + root + " && (" + by_hand(0, job) + wrong + by_hand(1, job) + wrong + "wait)");
  EXPECT_FALSE(fs::exists(meeting_place(job)));
  EXPECT_FALSE(fs::exists(meeting_place(job) + "-refused"));
}

TEST(FailedStart, ARankByHandThatIsStoppedWhileItWaitsLeavesNothingInSharedMemory) {
  const std::string job = fmt::format("stopped{}", ::getpid()), root = failed_root("stopped");
  const testing::Outcome stopped =
      testing::run_shell("cd " + root + " && (" + by_hand(0, job) + "--log_dir=out & pid=$!; while ! test -e " +
                         meeting_place(job) + "; do sleep 0.1; done; kill -TERM $pid; wait $pid; echo code $?)");
  expect(stopped, 0, {"interrupted while the other ranks were waited for", "code 130"});
  EXPECT_FALSE(fs::exists(meeting_place(job)));
}

// A killed process cannot remove its segment: the other one does.
TEST(FailedStart, ARankByHandThatIsKilledWhileItWaitsLeavesNothingInSharedMemory) {
  const std::string job = fmt::format("killed{}", ::getpid()), root = failed_root("killed");
  const std::string three = "export RANK_SIZE=3; ";  // so both wait for a third rank
  std::string zero = by_hand(0, job), one = by_hand(1, job);
  for (std::string* call : {&zero, &one}) call->erase(call->find("RANK_SIZE=2 "), 12);
  const testing::Outcome outcome =
      testing::run_shell("cd " + root + " && (" + three + zero + "--log_dir=out & first=$!; while ! test -e " +
                         meeting_place(job) + "; do sleep 0.1; done; " + one +
                         "--log_dir=out & second=$!; sleep 1; kill -KILL $first; wait $second; echo code $?)");
  expect(outcome, 0, {"[ranks] rank 0 (process ", "code 1"});
  EXPECT_FALSE(fs::exists(meeting_place(job)));
}

// Other ranks that arrive within some time get the message; after that the segment is removed.
TEST(FailedStart, ANoteThatNobodyCameForIsTakenAway) {
  const std::string job = fmt::format("noted{}", ::getpid()), root = failed_root("noted");
  const auto started = std::chrono::steady_clock::now();
  testing::run_shell("cd " + root + " && " + by_hand(0, job) + "--no_such_flag");
  // The process that removes it holds no pipe of this test: the shell above has ended.
  while (fs::exists(meeting_place(job) + "-refused") &&
         std::chrono::steady_clock::now() - started < std::chrono::minutes(30))
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(fs::exists(meeting_place(job) + "-refused"));
}

}  // namespace
}  // namespace ridgeline
