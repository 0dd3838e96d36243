#include "ridgeline/core/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>

#include "ridgeline/core/file.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups() {
    std::string name = (fs::temp_directory_path() / "ridgeline-groups-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~ControlGroups() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    write_file_atomically(root_ + path, text);
  }
  std::string root_;
};

TEST_F(ControlGroups, TheLeastLimitOfAllAroundTheProcessCounts) {
  EXPECT_EQ(control_group_memory(root_), kNoLimit);
  write("/proc/self/cgroup", "0::/machine/job\n");
  EXPECT_EQ(control_group_memory(root_), kNoLimit);
  write("/sys/fs/cgroup/machine/job/memory.max", "max\n");
  EXPECT_EQ(control_group_memory(root_), kNoLimit);
  write("/sys/fs/cgroup/machine/memory.max", "5000000000\n");
  EXPECT_EQ(control_group_memory(root_), 5000000000);
  write("/sys/fs/cgroup/machine/job/memory.max", "4096\n");
  EXPECT_EQ(control_group_memory(root_), 4096);
  write("/sys/fs/cgroup/memory.max", "1024\n");
  EXPECT_EQ(control_group_memory(root_), 1024);
}

TEST_F(ControlGroups, OfVersion1AreFoundByTheirController) {
  write("/proc/self/cgroup", "7:cpu,cpuacct:/a\n5:memory,hugetlb:/a/b\n");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");  // what stands for none there
  EXPECT_EQ(control_group_memory(root_), 9223372036854771712);
  write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "77\n");
  EXPECT_EQ(control_group_memory(root_), 77);
}

TEST_F(ControlGroups, NonsenseIsNoLimit) {
  write("/proc/self/cgroup", "\n0\n0::\n0::/\n:::::\n");
  for (const char* text : {"", "-5\n", "12 MB\n", "99999999999999999999\n", "0\n"}) {
    write("/sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(control_group_memory(root_), kNoLimit) << text;
  }
}

TEST(Memory, IsNoMoreThanTheMachineHas) {
  EXPECT_GT(available_memory(), 1 << 20);
  EXPECT_LE(available_memory(), std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace ridgeline
