// Training with parameter servers, started by `ridgeline launch --servers` or by hand with MindSpore's environment
// variables; and what happens when a process is killed.
//
// RIDGELINE_KILLS is the number of kills during a training (default 3), RIDGELINE_KILLS_SEED chooses the moments.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "ridgeline/comm/meeting/line_socket.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "tests/support/environment.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

constexpr auto kLook = std::chrono::milliseconds(5);
constexpr int kLooksForTheEnd = 24'000;  // two minutes, also on a busy machine

std::string text_of(const std::string& path) { return is_regular_file(path) ? read_file(path) : ""; }

std::string shapes() {
  const std::string path = testing::temporary_directory() + "/served_shapes";
  if (!std::filesystem::exists(path)) data::make_shapes(path, {.train = 96, .val = 12});
  return path;
}

std::vector<double> losses_of(const std::string& log_dir) {
  std::vector<double> losses;
  std::istringstream text(text_of(log_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    const std::size_t at = line.find("\"loss\":");
    if (at != std::string::npos) losses.push_back(std::atof(line.c_str() + at + 7));
  }
  return losses;
}

// The folder of a run with `ranks` workers, with or without servers.
std::string launched(const std::string& folder, int ranks, int servers, int steps, const std::string& flags) {
  const std::string log_dir = testing::temporary_directory() + "/" + folder;
  std::filesystem::remove_all(log_dir);
  const testing::Outcome outcome = testing::run_shell(
      fmt::format("cd {} && {} launch --ranks={} --servers={} --results={}_results -- train --data_dir={} --mode=train "
                  "--batch_size={} --max_train_steps={} --save_summary_steps=1 --max_epochs=100 --warmup_epochs=0 "
                  "--intra_op_parallelism_threads=1 --log_dir={} {}",
                  testing::temporary_directory(), testing::program(), ranks, servers, folder, shapes(), 16 / ranks,
                  steps, log_dir, flags));
  testing::expect(outcome, 0, {servers > 0 ? "server 0: train success" : "rank 0: train success"});
  return log_dir;
}

TEST(ParameterServerCommand, TrainsToTheBitsOfRanksThatExchangeGradients) {
  const std::string flags = "--model=resnet20 --image_size=32 --lr=0.01 --sync_batch_norm=True";
  constexpr int kSteps = 30;
  const std::string exchanged = launched("exchanged", 2, 0, kSteps, flags),
                    served = launched("served", 2, 2, kSteps, flags);
  const std::vector<double> losses = losses_of(served);
  ASSERT_EQ(losses.size(), static_cast<std::size_t>(kSteps));
  EXPECT_LT(losses.back(), 0.75 * losses.front());
  EXPECT_EQ(losses, losses_of(exchanged));
  const std::string name = fmt::format("/model.ckpt-{}.safetensors", kSteps);
  EXPECT_TRUE(text_of(served + name) == text_of(exchanged + name)) << "the checkpoints differ";
  const std::string log = text_of(served + "/resnet20_training.log");
  EXPECT_NE(log.find("worker 0 of 2, 2 parameter servers: gradients are pushed behind the backward pass"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("parameters are on servers; server 0 has "), std::string::npos) << log;
  EXPECT_NE(log.find("; a worker pushes and pulls "), std::string::npos) << log;
}

TEST(ParameterServerCommand, AnAlexNetHasTheBitsOfOneRankInAnyDivision) {
  const std::string flags =
      "--model=alexnet --image_size=67 --dropout_keep=0.5 --reproducibility=deterministic --optimizer=adam --lr=0.001";
  const std::string one = text_of(launched("one_alexnet", 1, 0, 3, flags) + "/model.ckpt-3.safetensors");
  ASSERT_FALSE(one.empty());
  for (const int workers : {1, 2}) {
    for (const int servers : {1, 2}) {
      const std::string folder = launched(fmt::format("alexnet_{}_{}", workers, servers), workers, servers, 3, flags);
      EXPECT_TRUE(text_of(folder + "/model.ckpt-3.safetensors") == one) << workers << " workers, " << servers;
    }
  }
}

TEST(ParameterServerCommand, LaunchRefusesWhatItCannotStart) {
  const auto refused = [](const std::string& words, const std::string& wanted) {
    testing::expect(testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() +
                                       " launch " + words + " -- train --synthetic --log_dir=out"),
                    2, {wanted});
  };
  refused("--ranks=2 --servers=-1", "--servers=-1 (allowed: 1 to 8, 0: none)");
  refused("--ranks=2 --servers=9", "--servers=9 (allowed: 1 to 8, 0: none)");
  // Before any process, also the scheduler, is started.
  const testing::Outcome outcome = testing::run(
      "launch --ranks=65 --servers=1 --results=" + testing::temporary_directory() + "/none -- train --log_dir=out");
  testing::expect(outcome, 2, {"--ranks=65 (allowed without --rank_table: 1 to 8, the devices of one machine)"});
  EXPECT_EQ(outcome.text.find("scheduler"), std::string::npos) << outcome.text;
}

// ---- started by hand

// The processes of a run by their roles: "MS_SCHED", "MS_PSERVER 0", "MS_WORKER 1".
class ByHand {
 public:
  ByHand(std::string folder, int workers, int servers, int silence = 300)
      : folder_(std::move(folder)), silence_(silence) {
    make_directories(folder_);
    port_ = comm::port_of(comm::listen_at("127.0.0.1", 0));
    start("MS_SCHED", workers, servers, 0);
    for (int s = 0; s < servers; ++s) start("MS_PSERVER", workers, servers, s);
    for (int w = 0; w < workers; ++w) start("MS_WORKER", workers, servers, w);
  }
  ~ByHand() {
    for (auto& [role, process] : processes_) {
      if (process.code < 0) ::kill(process.pid, SIGKILL), ::waitpid(process.pid, nullptr, 0);
    }
  }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void signal(const std::string& role, int signal) { ::kill(processes_.at(role).pid, signal); }
  std::string said(const std::string& role) const { return text_of(folder_ + "/" + role); }
  std::string log() const { return text_of(folder_ + "/model/linear_training.log"); }
  bool steps_are_made() {
    for (int look = 0; look < kLooksForTheEnd; ++look) {
      if (log().find("checksum") != std::string::npos) return true;
      if (code("MS_WORKER 0", 0) >= 0) return false;
      std::this_thread::sleep_for(kLook);
    }
    return false;
  }
  // The exit code, or 128 + signal; -1 if it still runs.
  int code(const std::string& role, int looks = kLooksForTheEnd) {
    Process& process = processes_.at(role);
    while (process.code < 0) {
      int status = 0;
      if (::waitpid(process.pid, &status, WNOHANG) > 0) {
        process.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      } else if (looks-- <= 0) {
        return -1;
      } else {
        std::this_thread::sleep_for(kLook);
      }
    }
    return process.code;
  }
  std::vector<std::string> roles() const {
    std::vector<std::string> all;
    for (const auto& [role, process] : processes_) all.push_back(role);
    return all;
  }

 private:
  struct Process {
    pid_t pid = 0;
    int code = -1;
  };

  void start(const std::string& role, int workers, int servers, int number) {
    const std::string name = role == "MS_SCHED" ? role : fmt::format("{} {}", role, number);
    const pid_t pid = ::fork();
    if (pid != 0) {
      processes_[name] = {pid, -1};
      return;
    }
    const int file = ::open((folder_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(file, 1);
    ::dup2(file, 2);
    ::setenv("MS_ROLE", role.c_str(), 1);
    if (role != "MS_SCHED") ::setenv("MS_NODE_ID", std::to_string(number).c_str(), 1);
    ::setenv("MS_WORKER_NUM", std::to_string(workers).c_str(), 1);
    ::setenv("MS_SERVER_NUM", std::to_string(servers).c_str(), 1);
    ::setenv("MS_SCHED_HOST", "127.0.0.1", 1);
    ::setenv("MS_SCHED_PORT", std::to_string(port_).c_str(), 1);
    ::setenv("MS_NODE_TIMEOUT", std::to_string(silence_).c_str(), 1);
    const std::string data = "--data_dir=" + shapes(), logs = "--log_dir=" + folder_ + "/model";
    ::execl(testing::program().c_str(), "ridgeline", "train", "--model=linear", "--image_size=64", "--mode=train",
            "--batch_size=8", "--max_epochs=400", "--max_train_steps=200", "--save_checkpoints_steps=20",
            "--intra_op_parallelism_threads=1", "--log_name=linear_training.log", data.c_str(), logs.c_str(), nullptr);
    ::_exit(127);
  }

  std::string folder_;
  int silence_;
  int port_ = 0;
  std::map<std::string, Process> processes_;
};

std::string new_folder(const std::string& name) {
  std::string path = testing::temporary_directory() + "/" + name;
  std::filesystem::remove_all(path);
  make_directories(path);
  return path;
}

void expect_success(ByHand& run) {
  for (const std::string& role : run.roles()) ASSERT_EQ(run.code(role), 0) << role << ": " << run.said(role);
}

// Kills each process in turn: as soon as there are steps, then at random moments of the training.
TEST(ParameterServerByHand, AKilledProcessIsNamedByAllOthersAndTheRunGoesOn) {
  const std::string data = shapes();
  const std::string undisturbed = new_folder("undisturbed_servers");
  std::chrono::microseconds length{};
  {
    ByHand run(undisturbed, 2, 1);
    ASSERT_TRUE(run.steps_are_made()) << run.said("MS_WORKER 0");
    const auto begin = std::chrono::steady_clock::now();
    expect_success(run);
    length = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    EXPECT_NE(run.said("MS_SCHED").find("2 workers and 1 servers have come"), std::string::npos);
    EXPECT_NE(run.said("MS_PSERVER 0").find("server 0 of 2 workers and 1 servers"), std::string::npos);
  }
  const std::string last = "/model/model.ckpt-200.safetensors";
  const std::string expected = text_of(undisturbed + last);
  ASSERT_FALSE(expected.empty());
  const std::pair<std::string, std::string> victims[] = {{"MS_WORKER 1", "worker 1 (process "},
                                                         {"MS_PSERVER 0", "server 0 (process "},
                                                         {"MS_SCHED", "the scheduler at 127.0.0.1:"},
                                                         {"MS_WORKER 0", "worker 0 (process "}};
  const std::int64_t wanted = number_from_environment("RIDGELINE_KILLS", 3);
  std::mt19937 random(static_cast<unsigned>(number_from_environment("RIDGELINE_KILLS_SEED", 1)));
  int landed = 0;
  for (int round = 0; landed < wanted && round < 10 * wanted && !HasFailure(); ++round) {
    const auto& [victim, named] = victims[static_cast<std::size_t>(round) % std::size(victims)];
    SCOPED_TRACE(fmt::format("round {}, {}", round, victim));
    const std::string folder = new_folder("killed_servers");
    {
      ByHand run(folder, 2, 1);
      ASSERT_TRUE(run.steps_are_made()) << run.said("MS_WORKER 0");
      if (round >= 3) std::this_thread::sleep_for(length * static_cast<int>(random() % 1000) / 1000);
      run.signal(victim, SIGKILL);
      bool missed = run.code(victim) == 128 + SIGKILL;
      for (const std::string& role : run.roles()) {
        if (role == victim) continue;
        const int code = run.code(role);
        ASSERT_GE(code, 0) << role << " goes on: " << run.said(role);
        // A process that had finished its last step does not notice it.
        if (code == 0) missed = false;
        if (code == 0) continue;
        EXPECT_EQ(code, 1) << role << ": " << run.said(role);
        EXPECT_NE(run.said(role).find(named), std::string::npos) << role << ": " << run.said(role);
      }
      landed += missed ? 1 : 0;
    }
    ByHand again(folder, 2, 1);
    expect_success(again);
    EXPECT_TRUE(text_of(folder + last) == expected) << "another end than that of the undisturbed run";
  }
  EXPECT_GE(landed, wanted) << "too few kills landed in a training";
}

TEST(ParameterServerByHand, AProcessThatIsStoppedIsLostAfterATime) {
  const std::string data = shapes();
  for (const std::string victim : {"MS_WORKER 1", "MS_PSERVER 0"}) {
    SCOPED_TRACE(victim);
    ByHand run(new_folder("stopped_servers"), 2, 1, 3);
    ASSERT_TRUE(run.steps_are_made()) << run.said("MS_WORKER 0");
    run.signal(victim, SIGSTOP);
    for (const std::string& role : run.roles()) {
      if (role == victim) continue;
      EXPECT_EQ(run.code(role), 1) << role << ": " << run.said(role);
      EXPECT_NE(run.said(role).find("nothing has been heard of "), std::string::npos) << role << ": " << run.said(role);
      EXPECT_NE(run.said(role).find("for 3 s (MS_NODE_TIMEOUT)"), std::string::npos) << role << ": " << run.said(role);
    }
  }
}

TEST(ParameterServerByHand, AWrongEnvironmentIsAUsageError) {
  const auto refused = [](const std::string& variables, const std::string& wanted) {
    testing::expect(
        testing::run_shell("cd " + testing::temporary_directory() + " && env " + variables + " " + testing::program() +
                           " train --synthetic --model=linear --image_size=8 --num_classes=2 --mode=train "
                           "--max_train_steps=1 --log_dir=wrong_roles"),
        2, {wanted});
  };
  refused("MS_ROLE=MS_MASTER", "MS_ROLE='MS_MASTER' (allowed: MS_SCHED, MS_PSERVER, MS_WORKER)");
  refused("MS_ROLE=MS_WORKER", "MS_SERVER_NUM is not set (1 to 63)");
  refused("MS_WORKER_NUM=2", "MS_WORKER_NUM is set, but MS_ROLE is not");
  refused("MS_ROLE=MS_SCHED MS_SERVER_NUM=1 MS_WORKER_NUM=1 MS_SCHED_HOST=192.0.2.1 MS_SCHED_PORT=4711",
          "the scheduler cannot listen at 192.0.2.1:4711 (MS_SCHED_HOST, MS_SCHED_PORT)");
}

}  // namespace
}  // namespace ridgeline
