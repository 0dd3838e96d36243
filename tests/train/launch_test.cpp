#include "ridgeline/train/launch/launch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "ridgeline/core/file.h"
#include "ridgeline/train/loop/interrupt.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

std::string folder(const std::string& name) {
  return (std::filesystem::path(testing::temporary_directory()) / name).lexically_normal().string();
}

std::string variable(const PlannedRank& rank, const std::string& name) {
  for (const auto& [known, value] : rank.variables) {
    if (known == name) return value;
  }
  return "(not set)";
}

std::vector<RankEnd> run(const LaunchPlan& plan, const std::string& script, int grace = 5) {
  return run_launch(plan, {"/bin/sh", "-c", script}, grace, [](const std::string&) {});
}

std::string pods() {
  const std::string path = folder("pods.json");
  write_file_atomically(path, R"({"status": "completed", "group_count": "1", "group_list": [{"group_name": "worker",
      "device_count": "2", "instance_count": "1", "instance_list": [{"pod_name": "npu2p", "server_id": "127.0.0.1",
      "devices": [{"device_id": "4", "device_ip": "10.0.0.1"}, {"device_id": "6", "device_ip": "10.0.0.2"}]}]}]})");
  return path;
}

TEST(Launch, APlanWithoutATable) {
  const LaunchPlan plan = plan_launch({.ranks = 3, .results = folder("r"), .job_id = "7"}, {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_EQ(plan.ranks.size(), 3u);
  EXPECT_EQ(plan.ranks[2].folder, folder("r") + "/3p/2");
  EXPECT_EQ(plan.ranks[2].output, folder("r") + "/3p/2/train_2.log");
  EXPECT_EQ(variable(plan.ranks[2], "RANK_ID"), "2");
  EXPECT_EQ(variable(plan.ranks[2], "RANK_SIZE"), "3");
  EXPECT_EQ(variable(plan.ranks[2], "JOB_ID"), "7");
  EXPECT_EQ(plan.ranks[0].cores, (std::vector<int>{0, 1}));
  EXPECT_EQ(plan.ranks[1].cores, (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(plan.ranks[2].cores, (std::vector<int>{5, 6, 7}));
}

TEST(Launch, ServersComeBesideTheirWorkers) {
  LaunchPlan plan = plan_launch({.ranks = 2, .servers = 2, .results = folder("r")}, {0, 1, 2, 3});
  set_scheduler(plan, 4711);
  ASSERT_EQ(plan.ranks.size(), 4u);
  EXPECT_EQ(plan.world_size, 2);
  const PlannedRank &worker = plan.ranks[1], &server = plan.ranks[3];
  EXPECT_EQ(worker.name, "worker 1");
  EXPECT_EQ(worker.folder, folder("r") + "/2p/1");
  EXPECT_EQ(variable(worker, "MS_ROLE"), "MS_WORKER");
  EXPECT_EQ(variable(worker, "DEVICE_ID"), "1");
  EXPECT_EQ(server.name, "server 1");
  EXPECT_EQ(server.output, folder("r") + "/2p/server_1/train_server_1.log");
  EXPECT_EQ(variable(server, "MS_ROLE"), "MS_PSERVER");
  EXPECT_EQ(server.cores, (std::vector<int>{3}));
  for (const PlannedRank* rank : {&worker, &server}) {
    EXPECT_EQ(variable(*rank, "MS_NODE_ID"), "1");
    EXPECT_EQ(variable(*rank, "MS_WORKER_NUM"), "2");
    EXPECT_EQ(variable(*rank, "MS_SERVER_NUM"), "2");
    EXPECT_EQ(variable(*rank, "MS_SCHED_HOST"), "127.0.0.1");
    EXPECT_EQ(variable(*rank, "MS_SCHED_PORT"), "4711");
    EXPECT_EQ(variable(*rank, "RANK_ID"), "(not set)");
    EXPECT_EQ(variable(*rank, "RANK_SIZE"), "(not set)");
  }
}

TEST(Launch, ATableByGroupsNamesThePod) {
  const LaunchPlan plan = plan_launch({.rank_table = pods(), .results = folder("r")}, {0});
  ASSERT_EQ(plan.ranks.size(), 2u);
  EXPECT_EQ(variable(plan.ranks[1], "RANK_ID"), "npu2p");
  EXPECT_EQ(variable(plan.ranks[1], "DEVICE_ID"), "6");
  EXPECT_EQ(variable(plan.ranks[1], "RANK_TABLE_FILE"), pods());
  EXPECT_EQ(plan.ranks[1].folder, folder("r") + "/2p/6");
  EXPECT_EQ(plan.note, "cores are not bound: 1 for 2 ranks");
}

TEST(Launch, EightRanksHaveTheFoldersOfTheOriginal) {
  const LaunchPlan plan = plan_launch({.ranks = 8, .results = folder("r")}, {0, 1});
  ASSERT_EQ(plan.ranks.size(), 8u);
  for (int r = 0; r < 8; ++r) {
    const PlannedRank& rank = plan.ranks[static_cast<std::size_t>(r)];
    EXPECT_EQ(rank.folder, fmt::format("{}/8p/{}", folder("r"), r));
    EXPECT_EQ(variable(rank, "DEVICE_ID"), std::to_string(r));
    EXPECT_EQ(variable(rank, "RANK_ID"), std::to_string(r));
    EXPECT_TRUE(rank.cores.empty());
  }
  EXPECT_EQ(plan.note, "cores are not bound: 2 for 8 ranks");
}

TEST(Launch, UnderMpirunEachStartsItsOwnRank) {
  comm::RankIdentity third{.rank = 2, .device = 2, .job = "77", .by_mpirun = true};
  for (int r = 0; r < 4; ++r) third.world.ranks.push_back({.server = "localhost", .device = r});
  const LaunchPlan plan = plan_launch({.results = folder("r"), .by_mpirun = third}, {0, 1, 2, 3});
  ASSERT_EQ(plan.ranks.size(), 1u);
  EXPECT_EQ(plan.world_size, 4);
  EXPECT_EQ(plan.job_id, "77");
  EXPECT_EQ(plan.ranks[0].rank, 2);
  EXPECT_EQ(plan.ranks[0].folder, folder("r") + "/4p/2");
  EXPECT_TRUE(plan.ranks[0].cores.empty());
  EXPECT_NE(
      error_of([&] { plan_launch({.ranks = 2, .by_mpirun = third}, {0}); }).find("--ranks=2, but mpirun starts 4"),
      std::string::npos);
}

TEST(Launch, WhatDoesNotFitIsNamedBeforeAnythingStarts) {
  EXPECT_NE(error_of([] { plan_launch({.rank_table = "/no/8p.json"}, {0}); }).find("/no/8p.json"), std::string::npos);
  EXPECT_NE(error_of([] { plan_launch({.ranks = 8, .rank_table = pods()}, {0}); }).find("--ranks=8, but"),
            std::string::npos);
  EXPECT_NE(error_of([] { plan_launch({.ranks = -1}, {0}); }).find("--ranks=-1 (allowed"), std::string::npos);
  EXPECT_NE(error_of([] { plan_launch({.ranks = 9}, {0}); }).find("--ranks=9 (allowed without"), std::string::npos);
  EXPECT_NE(error_of([] { plan_launch({.servers = 9}, {0}); }).find("--servers=9 (allowed"), std::string::npos);
  EXPECT_NE(error_of([] { plan_launch({.servers = 1, .rank_table = pods()}, {0}); }).find("--servers=1 with --rank_"),
            std::string::npos);
  EXPECT_NE(error_of([] { plan_launch({.rank_table = pods(), .server = "other"}, {0}); }).find("--server=other"),
            std::string::npos);
}

TEST(Launch, WhatTheLaunchersEnvironmentSaysOfRanksIsNotHandedOn) {
  ::setenv("RANK_TABLE_FILE", "/no/8p.json", 1);
  ::setenv("POD_NAME", "another", 1);
  ::setenv("MS_ROLE", "MS_SCHED", 1);
  const LaunchPlan plan = plan_launch({.ranks = 1, .results = folder("alone"), .job_id = "9"}, {});
  run(plan, "echo table ${RANK_TABLE_FILE-none} pod ${POD_NAME-none} role ${MS_ROLE-none}");
  ::unsetenv("RANK_TABLE_FILE");
  ::unsetenv("POD_NAME");
  ::unsetenv("MS_ROLE");
  EXPECT_EQ(read_file(folder("alone") + "/1p/0/train_0.log"), "table none pod none role none\nturing train success\n");
}

TEST(Launch, EachRankHasItsFolderItsLogAndItsEnvironment) {
  const LaunchPlan plan = plan_launch({.ranks = 2, .results = folder("two"), .job_id = "9"}, {});
  write_file_atomically(testing::temporary_directory() + "/keep", "");
  for (int round = 1; round <= 2; ++round) {  // the second run finds the files of the first
    const std::vector<RankEnd> ends = run(plan, "echo rank $RANK_ID of $RANK_SIZE in $(basename $PWD); touch seen");
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(ends[0].code, 0);
    const std::string log = read_file(folder("two") + "/2p/1/train_1.log");
    std::string expected;
    for (int i = 0; i < round; ++i) expected += "rank 1 of 2 in 1\nturing train success\n";
    EXPECT_EQ(log, expected);
    EXPECT_NE(read_file(folder("two") + "/2p/1/env_1.log").find("\nRANK_ID=1\n"), std::string::npos);
    EXPECT_TRUE(is_regular_file(folder("two") + "/2p/0/seen"));
  }
}

TEST(Launch, ARankRunsOnItsCores) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  const LaunchPlan plan = plan_launch({.ranks = 2, .results = folder("bound")}, cores);
  run(plan, "grep Cpus_allowed_list /proc/self/status");
  for (const PlannedRank& rank : plan.ranks) {
    const std::string log = read_file(rank.output);
    EXPECT_NE(log.find(fmt::format("\t{}", rank.cores.front())), std::string::npos) << log;
    if (rank.cores.size() == 1) {
      EXPECT_EQ(log, fmt::format("Cpus_allowed_list:\t{}\nturing train success\n", rank.cores[0]));
    }
  }
  EXPECT_EQ(allowed_cores(), cores) << "this process keeps its own";
}

TEST(Launch, AFailingRankEndsTheOthers) {
  const LaunchPlan plan = plan_launch({.ranks = 3, .results = folder("fail")}, {});
  const std::vector<RankEnd> ends = run(plan, "if [ $RANK_ID = 1 ]; then exit 5; fi; exec sleep 100", 0);
  EXPECT_EQ(ends[1].code, 5);
  EXPECT_FALSE(ends[1].stopped);
  EXPECT_EQ(ends[0].code, 128 + SIGTERM);
  EXPECT_TRUE(ends[0].stopped);
  EXPECT_TRUE(read_file(plan.ranks[1].output).ends_with("turing train fail\n"));
}

// Two minutes in steps of a hundredth of a second; on an idle machine the wait takes a moment.
constexpr int kLooks = 12'000;

TEST(Launch, RanksEndWithTheLauncher) {
  const LaunchPlan plan = plan_launch({.ranks = 2, .results = folder("orphans")}, {});
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    run(plan, "echo $$ > process; exec sleep 1000");
    ::_exit(0);
  }
  const auto written = [&](const PlannedRank& rank) {
    return is_regular_file(rank.folder + "/process") && !read_file(rank.folder + "/process").empty();
  };
  for (int i = 0; i < kLooks && !(written(plan.ranks[0]) && written(plan.ranks[1])); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  for (const PlannedRank& rank : plan.ranks) {
    const pid_t process = std::stoi(read_file(rank.folder + "/process"));
    int i = 0;
    // Gone, or a zombie whose parent has not read its exit status.
    const auto runs = [&] {
      if (::kill(process, 0) != 0) return false;
      const std::string path = fmt::format("/proc/{}/stat", process);
      if (!std::filesystem::exists(path)) return false;
      std::FILE* file = std::fopen(path.c_str(), "r");
      if (file == nullptr) return false;
      char text[256] = {};
      const std::size_t size = std::fread(text, 1, sizeof text - 1, file);
      std::fclose(file);
      return std::string(text, size).find(") Z") == std::string::npos;
    };
    for (; i < kLooks && runs(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_LT(i, kLooks) << "rank " << rank.rank << " runs on";
  }
}

TEST(Launch, PathsFromHereReachTheRanks) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string here = folder("here");
  for (const char* name : {"pictures", "train", "resnet20"}) make_directories(here + "/" + name);
  write_file_atomically(here + "/one.jpg", "");
  std::filesystem::current_path(here);
  const auto names_file = [](const std::string& option, const std::string&) {
    return option == "data_dir" || option == "weights";
  };
  const std::vector<std::string> words =
      with_absolute_paths({"/bin/ridgeline", "train", "--data_dir=pictures", "--log_dir=pictures", "--weights",
                           "pictures", "--model=resnet20", "--mode", "train", "one.jpg", "pictures"},
                          names_file);
  std::filesystem::current_path(before);
  EXPECT_EQ(words, (std::vector<std::string>{"/bin/ridgeline", "train", "--data_dir=" + here + "/pictures",
                                             "--log_dir=pictures", "--weights", here + "/pictures", "--model=resnet20",
                                             "--mode", "train", here + "/one.jpg", "pictures"}));
}

// In a separate process, since a signal is sent to the launcher: each rank gets it once and may take its time to save.
TEST(Launch, AnInterruptIsHandedOnOnceAndNobodyIsHurried) {
  const LaunchPlan plan = plan_launch({.ranks = 3, .results = folder("told")}, {});
  const std::string script =
      "if [ $RANK_ID = 2 ]; then touch waits; exec sleep 100; fi; told=0; trap 'told=$((told+1))' TERM INT; touch "
      "waits; while [ $told = 0 ]; do sleep 0.05; done; "
      "if [ $RANK_ID = 1 ]; then sleep 1; fi; echo told $told times; exit 130";
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    ::setpgid(0, 0);  // like a foreground job of a terminal
    const InterruptGuard guard;
    const std::vector<RankEnd> ends = run(plan, script, 0);
    const bool as_told = std::all_of(ends.begin(), ends.end(),
                                     [](const RankEnd& end) { return end.code == kInterruptedCode && !end.stopped; });
    ::_exit(as_told ? 7 : 8);
  }
  const auto waits = [](const PlannedRank& rank) { return is_regular_file(rank.folder + "/waits"); };
  for (int i = 0; i < kLooks && !std::all_of(plan.ranks.begin(), plan.ranks.end(), waits); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(-launcher, SIGINT);  // Ctrl-C is sent to the whole process group
  int status = 0;
  ::waitpid(launcher, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  for (int r = 0; r < 2; ++r)
    EXPECT_EQ(read_file(plan.ranks[static_cast<std::size_t>(r)].output), "told 1 times\nturing train fail\n");
}

}  // namespace
}  // namespace ridgeline::train
