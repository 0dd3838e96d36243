// tests/support/mpirun.h
//
// Shared by tests that start ranks with mpirun. Without it they skip and say so.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/program.h"

namespace ridgeline::testing {

inline bool has_mpirun() { return run_shell("command -v mpirun").code == 0; }

inline constexpr char kNoMpirun[] = "there is no mpirun (Debian: apt-get install openmpi-bin)";

// Comes before `mpirun`: OpenMPI otherwise refuses to start ranks as root, which tests in containers are, and what it
// never frees would be a finding of the address sanitizer in each rank.
inline constexpr char kMpiVariables[] =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=detect_leaks=0";

// Whether mpirun started this process.
inline bool is_rank_of_mpirun() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

// Runs `ranks` processes of this test program, each with the tests of `filter`; `variables` come first, `flags` are for
// mpirun.
inline Outcome mpirun_this_test(int ranks, const std::string& filter, const std::string& variables = "",
                                const std::string& flags = "", int timeout_seconds = 900) {
  return run_shell(variables + " " + kMpiVariables + " timeout -k 5 " + std::to_string(timeout_seconds) +
                   " mpirun --oversubscribe " + flags + " -np " + std::to_string(ranks) + " " +
                   std::filesystem::read_symlink("/proc/self/exe").string() + " --gtest_filter=" + filter +
                   " --gtest_brief=1 --gtest_color=no");
}

}  // namespace ridgeline::testing
