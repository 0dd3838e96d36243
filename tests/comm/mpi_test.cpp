// The MPI engine: tests of the suite Mpi start mpirun, whose ranks run this program with a test of OnMpi.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "ridgeline/comm/connect.h"
#include "ridgeline/comm/mpi/mpi_communicator.h"
#include "ridgeline/core/file.h"
#include "tests/comm/collective_suite.h"
#include "tests/comm/killed_ranks.h"
#include "tests/support/error_of.h"
#include "tests/support/mpirun.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::comm {
namespace {

using ridgeline::testing::Outcome;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// `ranks` processes of this program, each with one test of OnMpi.
Outcome mpirun(int ranks, const std::string& test, const std::string& variables = "", const std::string& flags = "") {
  return testing::mpirun_this_test(ranks, "OnMpi." + test, variables, flags);
}

constexpr char kNoRank[] = "a test of Mpi runs it under mpirun";

TEST(OnMpi, Suite) {
  if (!testing::is_rank_of_mpirun()) GTEST_SKIP() << kNoRank;
  const auto all = connect(rank_identity(process_environment()), {.engine = Engine::mpi});
  ASSERT_EQ(all->size(), std::stoi(variable("OMPI_COMM_WORLD_SIZE")));
  check_collectives(*all);
}

class MpiRanks : public ::testing::TestWithParam<int> {};

TEST_P(MpiRanks, DoWhatPlainLoopsDo) {
  if (!testing::has_mpirun()) GTEST_SKIP() << testing::kNoMpirun;
  const Outcome outcome = mpirun(GetParam(), "Suite");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  std::size_t passed = 0;
  for (std::size_t at = 0; (at = outcome.text.find("[  PASSED  ] 1 test", at)) != std::string::npos; ++at) ++passed;
  EXPECT_EQ(passed, static_cast<std::size_t>(GetParam())) << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(Engines, MpiRanks, ::testing::Values(1, 2, 4, 8),
                         [](const auto& info) { return fmt::format("{}ranks", info.param); });

// The result of a rank, for the test that started it.
void write_end(const std::string& message) {
  write_file_atomically(variable("RIDGELINE_TEST_FOLDER") + "/" + variable("OMPI_COMM_WORLD_RANK"), message);
}

std::string end_of(const std::string& folder, int rank) {
  const std::string path = fmt::format("{}/{}", folder, rank);
  return is_regular_file(path) ? read_file(path) : "(nothing)";
}

std::string folder(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name;
  std::filesystem::remove_all(path);
  make_directories(path);
  return path;
}

TEST(OnMpi, MistakesOfRanks) {
  if (!testing::is_rank_of_mpirun()) GTEST_SKIP() << kNoRank;
  const auto all = mpi_communicator({.execute_timeout = std::chrono::seconds(5)});
  const auto different = all->group({0, 1, 2}), giving_up = all->group({0, 1, 2}), late = all->group({0, 1, 2});
  const auto sizes = all->group({0, 1, 2}), looked_at = all->group({0, 1, 2});
  std::string ends;
  float x[4] = {};
  ends += error_of([&] { different->all_reduce(x, all->rank() == 1 ? 3 : 4, DType::f32); }) + "\n";
  if (all->rank() == 2) giving_up->abort("the disk is full");
  ends += (all->rank() == 2 ? "" : error_of([&] { giving_up->barrier(); })) + "\n";
  ends += looked_at->failure().value_or("") + "\n";
  all->barrier();
  if (all->rank() == 1) looked_at->abort("no more");
  while (!looked_at->failure()) std::this_thread::yield();
  ends += *looked_at->failure() + "\n";
  const auto has_waited = [](int rank) { return variable("RIDGELINE_TEST_FOLDER") + fmt::format("/waited{}", rank); };
  if (all->rank() == 0) {
    while (!is_regular_file(has_waited(1)) || !is_regular_file(has_waited(2)))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ends += error_of([&] { late->barrier(); }) + "\n";
  if (all->rank() != 0) write_file_atomically(has_waited(all->rank()), "");
  if (all->rank() == 1) sizes->send(x, 16, 2);
  if (all->rank() == 2) ends += error_of([&] { sizes->receive(x, 12, 1); }) + "\n";
  write_end(ends);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

TEST(Mpi, MistakesAreTold) {
  if (!testing::has_mpirun()) GTEST_SKIP() << testing::kNoMpirun;
  const std::string ends = folder("mistakes");
  mpirun(3, "MistakesOfRanks", "RIDGELINE_TEST_FOLDER=" + ends, "--enable-recovery");
  for (int r = 0; r < 3; ++r) {
    const std::string said = end_of(ends, r);
    EXPECT_NE(said.find("all_reduce (size 3,"), std::string::npos) << said;
    EXPECT_NE(said.find("all_reduce (size 4,"), std::string::npos) << said;
    if (r != 2) {
      EXPECT_NE(said.find("[ranks] rank 2 gave up: the disk is full\n"), std::string::npos) << said;
    }
    EXPECT_NE(said.find("\n\nrank 1 gave up: no more\n"), std::string::npos) << said;  // none, and later one
    // The ranks that arrived in time, or the message.
    EXPECT_NE(said.find("waited 5 s in vain for rank 0 (HCCL_EXEC_TIMEOUT)"), std::string::npos) << said;
  }
  EXPECT_NE(end_of(ends, 2).find("rank 2 receives 12 bytes of rank 1, which sends 16"), std::string::npos);
}

TEST(OnMpi, ExchangesUntilOneIsKilled) {
  if (!testing::is_rank_of_mpirun()) GTEST_SKIP() << kNoRank;
  const auto all = connect(rank_identity(process_environment()), {.engine = Engine::mpi});
  all->barrier();
  if (all->rank() == std::stoi(variable("RIDGELINE_TEST_VICTIM")))
    kill_this_process_after(std::chrono::microseconds(std::stoi(variable("RIDGELINE_TEST_MOMENT"))));
  write_end(error_of([&] { exchange_for_ever(*all); }));
}

// mpirun lets the other ranks continue: each names the killed rank itself.
TEST(Mpi, KilledRanksAreNamedByAllOthersAtAnyMoment) {
  if (!testing::has_mpirun()) GTEST_SKIP() << testing::kNoMpirun;
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < kills(4); ++round) {
    const int size = 2 + static_cast<int>(random() % 3),
              victim = static_cast<int>(random() % static_cast<unsigned>(size));
    const int moment = static_cast<int>(random() % 200'000);
    const std::string ends = folder("ends");
    const Outcome outcome = mpirun(
        size, "ExchangesUntilOneIsKilled",
        fmt::format("RIDGELINE_TEST_FOLDER={} RIDGELINE_TEST_VICTIM={} RIDGELINE_TEST_MOMENT={}", ends, victim, moment),
        "--enable-recovery");
    for (int r = 0; r < size; ++r) {
      if (r == victim) continue;
      EXPECT_TRUE(end_of(ends, r).starts_with(fmt::format("[ranks] rank {} (process ", victim)))
          << "rank " << r << " of " << size << ", killed after " << moment << " us: " << end_of(ends, r) << "\n"
          << outcome.text;
    }
  }
}

// With its default settings, mpirun itself ends all ranks and names the killed one.
TEST(Mpi, MpirunEndsAllRanksAndNamesTheKilledOne) {
  if (!testing::has_mpirun()) GTEST_SKIP() << testing::kNoMpirun;
  const std::string ends = folder("ends");
  const Outcome outcome =
      mpirun(3, "ExchangesUntilOneIsKilled",
             fmt::format("RIDGELINE_TEST_FOLDER={} RIDGELINE_TEST_VICTIM=1 RIDGELINE_TEST_MOMENT=50000", ends));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.text.find("process rank 1 with PID"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("signal 9"), std::string::npos) << outcome.text;
}

TEST(Mpi, ALibraryThatIsNotThereIsTold) {
  const Outcome outcome =
      testing::run_shell(fmt::format("RIDGELINE_MPI=/no/libmpi.so OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 {} "
                                     "--gtest_filter=OnMpi.Suite --gtest_brief=1",
                                     std::filesystem::read_symlink("/proc/self/exe").string()));
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.text.find("[ranks] MPI is asked for and not there (Debian: apt-get install openmpi-bin): "
                              "/no/libmpi.so: cannot open"),
            std::string::npos)
      << outcome.text;
}

TEST(Mpi, AnotherLibraryIsRefusedByWhatItLacks) {
  const Outcome outcome =
      testing::run_shell(fmt::format("RIDGELINE_MPI=libm.so.6 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 {} "
                                     "--gtest_filter=OnMpi.Suite --gtest_brief=1",
                                     std::filesystem::read_symlink("/proc/self/exe").string()));
  EXPECT_NE(outcome.text.find("is not OpenMPI 4 or 5: it has no ompi_mpi_comm_world"), std::string::npos)
      << outcome.text;
}

}  // namespace
}  // namespace ridgeline::comm
