#include "ridgeline/core/physical_cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ridgeline/core/file.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

class PhysicalCores : public ::testing::Test {
 protected:
  PhysicalCores() {
    std::string name = (fs::temp_directory_path() / "ridgeline-cores-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~PhysicalCores() override { fs::remove_all(root_); }
  void siblings(int processor, const std::string& text) {
    const fs::path folder = root_ + "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology";
    fs::create_directories(folder);
    write_file_atomically((folder / "thread_siblings_list").string(), text);
  }
  std::string root_;
};

TEST_F(PhysicalCores, ThreadsOfOneCoreCountOnce) {
  for (const int core : {0, 1, 2}) {
    const std::string both = std::to_string(core) + "," + std::to_string(core + 3) + "\n";
    siblings(core, both);
    siblings(core + 3, both);
  }
  EXPECT_EQ(physical_cores({0, 1, 2, 3, 4, 5}, root_), 3);
  EXPECT_EQ(physical_cores({0, 3}, root_), 1);
  EXPECT_EQ(physical_cores({3, 4}, root_), 2);
}

TEST_F(PhysicalCores, WhatTheSystemSaysNothingOfIsACoreOfItsOwn) {
  EXPECT_EQ(physical_cores({0, 1, 7}, root_), 3);
  siblings(0, "0-1\n");
  siblings(1, "0-1\n");
  siblings(7, "");
  EXPECT_EQ(physical_cores({0, 1, 7, 8}, root_), 3);
  EXPECT_EQ(physical_cores({}, root_), 0);
}

TEST_F(PhysicalCores, OfThisProcessAreTheMostThatATeamTakesByItself) {
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> processors;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(number, &set)) processors.push_back(number);
  }
  EXPECT_LE(compute_threads(), physical_cores(processors, ""));
}

}  // namespace
}  // namespace ridgeline
