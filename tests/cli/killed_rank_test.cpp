// A rank is killed at a random moment of a training: the others end and name it, and the resumed run has the same bits
// as an uninterrupted one.
//
// RIDGELINE_KILLS is the number of kills during a training (default 2), RIDGELINE_KILLS_SEED chooses the moments.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "tests/support/environment.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3, kSteps = 12;
// Waits are counted in polls of kLook each, so that time during which this process is suspended does not count.
constexpr auto kLook = std::chrono::milliseconds(2);
constexpr int kLooksForTheOthers = 15'000;  // until the others have ended: 30 s, also on a busy machine
constexpr int kLooksForATraining = 60'000;

std::string text_of(const std::string& path) { return is_regular_file(path) ? read_file(path) : ""; }

// The ranks of one training, one process each; the output of rank r is in FOLDER/rank_r.
class Training {
 public:
  Training(std::string folder, const std::string& job) : folder_(std::move(folder)) {
    for (int r = 0; r < kRanks; ++r) {
      const std::string output = said_by(r);
      std::filesystem::remove(output);
      const pid_t pid = ::fork();
      if (pid == 0) run(r, job, output);
      pids_.push_back(pid);
    }
  }
  ~Training() {
    for (std::size_t r = 0; r < pids_.size(); ++r) {
      if (codes_[r] < 0) ::kill(pids_[r], SIGKILL), ::waitpid(pids_[r], nullptr, 0);
    }
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  std::string said_by(int rank) const { return fmt::format("{}/rank_{}", folder_, rank); }
  std::string log() const { return text_of(folder_ + "/model/linear_training.log"); }
  bool running(int rank) { return ended(rank, 0) < 0; }
  void kill(int rank) { ::kill(pids_[static_cast<std::size_t>(rank)], SIGKILL); }

  // The exit code, 128 + signal, or -1 if it still runs after this many polls.
  int ended(int rank, int looks) {
    int& code = codes_[static_cast<std::size_t>(rank)];
    while (code < 0) {
      int status = 0;
      if (::waitpid(pids_[static_cast<std::size_t>(rank)], &status, WNOHANG) > 0) {
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      } else if (looks-- <= 0) {
        return -1;
      } else {
        std::this_thread::sleep_for(kLook);
      }
    }
    return code;
  }

 private:
  [[noreturn]] void run(int rank, const std::string& job, const std::string& output) const {
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(file, 1);
    ::dup2(file, 2);
    ::setenv("RANK_ID", std::to_string(rank).c_str(), 1);
    ::setenv("RANK_SIZE", std::to_string(kRanks).c_str(), 1);
    ::setenv("DEVICE_ID", std::to_string(rank).c_str(), 1);
    ::setenv("JOB_ID", job.c_str(), 1);
    const std::string data = "--data_dir=" + testing::temporary_directory() + "/killed_rank_shapes",
                      logs = "--log_dir=" + folder_ + "/model", steps = fmt::format("--max_train_steps={}", kSteps);
    ::execl(testing::program().c_str(), "ridgeline", "train", "--model=linear", "--image_size=64", "--mode=train",
            "--batch_size=8", "--max_epochs=20", "--save_checkpoints_steps=2", "--intra_op_parallelism_threads=1",
            "--log_name=linear_training.log", data.c_str(), logs.c_str(), steps.c_str(), nullptr);
    ::_exit(127);
  }

  std::string folder_;
  std::vector<pid_t> pids_;
  std::vector<int> codes_ = std::vector<int>(kRanks, -1);
};

std::string new_folder(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name;
  std::filesystem::remove_all(path);
  make_directories(path);
  return path;
}

std::string job(const char* name, int number) { return fmt::format("{}{}{}", name, ::getpid(), number); }

std::string last_checkpoint(const std::string& folder) {
  return text_of(fmt::format("{}/model/model.ckpt-{}.safetensors", folder, kSteps));
}

void expect_success(Training& training) {
  for (int r = 0; r < kRanks; ++r) {
    ASSERT_EQ(training.ended(r, kLooksForATraining), 0) << text_of(training.said_by(r));
  }
}

// Waits until the ranks have met: before that they wait for each other as long as their limit says.
bool wait_for_meeting(Training& training) {
  for (int look = 0; look < kLooksForATraining; ++look) {
    if (training.log().rfind("checksum") != std::string::npos) return true;
    if (!training.running(0)) return false;
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

TEST(KilledRank, TheOthersNameItAndTheRunGoesOnToTheSameBits) {
  data::make_shapes(testing::temporary_directory() + "/killed_rank_shapes", {.train = 96, .val = 12});
  const std::string whole = new_folder("undisturbed_ranks");
  std::chrono::microseconds length{};
  {
    Training training(whole, job("whole", 0));
    ASSERT_TRUE(wait_for_meeting(training));
    const auto begin = Clock::now();
    expect_success(training);
    length = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  }
  const std::string expected = last_checkpoint(whole);
  ASSERT_FALSE(expected.empty());
  const std::int64_t wanted = number_from_environment("RIDGELINE_KILLS", 2);
  std::mt19937 random(static_cast<unsigned>(number_from_environment("RIDGELINE_KILLS_SEED", 1)));
  int landed = 0;
  for (int round = 0; landed < wanted && round < 10 * wanted && !HasFailure(); ++round) {
    const std::string folder = new_folder("killed_ranks");
    const int victim = static_cast<int>(random() % kRanks);
    SCOPED_TRACE(fmt::format("round {}, rank {}", round, victim));
    {
      Training training(folder, job("killed", round));
      ASSERT_TRUE(wait_for_meeting(training)) << text_of(training.said_by(0));
      std::this_thread::sleep_for(length * static_cast<int>(random() % 1000) / 1000);
      training.kill(victim);
      const bool hit = training.ended(victim, kLooksForTheOthers) == 128 + SIGKILL;
      for (int r = 0; r < kRanks; ++r) {
        if (r == victim) continue;
        const int code = training.ended(r, kLooksForTheOthers);
        const std::string said = text_of(training.said_by(r));
        ASSERT_GE(code, 0) << "rank " << r << " goes on: " << said;
        // A rank that had finished its last step when the other was killed does not notice it.
        if (code == 0) continue;
        EXPECT_NE(said.find(fmt::format("rank {}", victim)), std::string::npos) << said;
        EXPECT_EQ(code, 1) << said;
        if (hit && r == (victim + 1) % kRanks) ++landed;
      }
    }
    Training again(folder, job("again", round));
    expect_success(again);
    EXPECT_TRUE(last_checkpoint(folder) == expected) << "another end than that of the undisturbed run";
  }
  EXPECT_GE(landed, wanted) << "too few kills landed in a training";
}

}  // namespace
}  // namespace ridgeline
