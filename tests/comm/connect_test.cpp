#include "ridgeline/comm/connect.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/comm/ranks.h"
#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

World two_ranks(const char* second_server = "a") {
  World world;
  world.ranks.push_back({.server = "a"});
  world.ranks.push_back({.server = second_server});
  return world;
}

void expect_refusal(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message << "\nwanted: " << words;
}

// The messages of two ranks that connect, each with its checksum of the rank table.
std::vector<std::string> connect_two(std::uint32_t first, std::uint32_t second) {
  const std::string job = unique_name();
  std::vector<std::string> messages(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      RankIdentity identity{.rank = r, .job = job, .world = two_ranks()};
      identity.world.checksum = r == 0 ? first : second;
      messages[static_cast<std::size_t>(r)] = error_of([&] {
        const auto all = connect(identity, {});
        EXPECT_EQ(all->rank(), r);
        EXPECT_EQ(all->size(), 2);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

TEST(Connect, RanksOfOneMachineFindEachOtherByTheirJob) {
  for (const std::string& message : connect_two(5, 5)) EXPECT_EQ(message, "");
}

TEST(Connect, RankTablesThatDifferAreTold) {
  for (const std::string& message : connect_two(0x11, 0x22))
    EXPECT_EQ(message,
              "[ranks] the rank tables of rank 0 (CRC-32C 00000011) and of rank 1 (00000022) differ; 00000000: none");
}

TEST(Connect, OneRankNeedsNobody) {
  RankIdentity alone;
  alone.world.ranks.resize(1);
  EXPECT_EQ(connect(alone, {})->size(), 1);
}

TEST(Connect, WhatCannotBeIsTold) {
  expect_refusal(error_of([] { connect({.world = two_ranks()}, {}); }),
                 "Load job info failed, please check whether JOB_ID is set in environment variable");
  expect_refusal(error_of([] { connect({.job = "1", .world = two_ranks("b")}, {}); }),
                 "1 of 2 ranks are on other servers, and shared memory ends at this one: start them with mpirun");
  // Either there is no OpenMPI, or mpirun did not start this test.
  expect_refusal(error_of([] { connect({.job = "1", .world = two_ranks()}, {.engine = Engine::mpi}); }),
                 "MPI is asked for");
}

TEST(Connect, TheEnvironmentsTimesAndEngineAreChecked) {
  const auto of = [](const char* name, const char* value) {
    return [=](const std::string& asked) { return asked == name ? std::optional<std::string>(value) : std::nullopt; };
  };
  const ConnectOptions usual = connect_options(of("", ""));
  EXPECT_EQ(usual.connect_timeout, std::chrono::seconds(120));
  EXPECT_EQ(usual.execute_timeout, std::chrono::seconds(1836));
  EXPECT_EQ(usual.engine, Engine::automatic);
  EXPECT_EQ(connect_options(of("HCCL_CONNECT_TIMEOUT", "7200")).connect_timeout, std::chrono::hours(2));
  EXPECT_EQ(connect_options(of("HCCL_EXEC_TIMEOUT", "60")).execute_timeout, std::chrono::minutes(1));
  EXPECT_EQ(connect_options(of("RIDGELINE_RANKS_OVER", "mpi")).engine, Engine::mpi);
  EXPECT_EQ(connect_options(of("RIDGELINE_RANKS_OVER", "shared")).engine, Engine::shared);
  for (const auto& [name, value, words] : {
           std::tuple("HCCL_CONNECT_TIMEOUT", "119", "HCCL_CONNECT_TIMEOUT='119' (allowed: 120 to 7200 seconds)"),
           std::tuple("HCCL_CONNECT_TIMEOUT", "5m", "HCCL_CONNECT_TIMEOUT='5m'"),
           std::tuple("HCCL_EXEC_TIMEOUT", "0", "HCCL_EXEC_TIMEOUT='0' (allowed: 1 to 17340 seconds)"),
           std::tuple("RIDGELINE_RANKS_OVER", "tcp", "RIDGELINE_RANKS_OVER='tcp' (allowed: auto, shared, mpi)"),
       })
    expect_refusal(error_of([&] { connect_options(of(name, value)); }), words);
}

}  // namespace
}  // namespace ridgeline::comm
