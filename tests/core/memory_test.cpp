#include "ridgeline/core/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>

#include "ridgeline/core/file.h"
#include "ridgeline/core/threads.h"

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
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");  // the file's value for "no limit"
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

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

TEST_F(ControlGroups, TheLeastShareOfTimeOfAllAroundTheProcessIsInCores) {
  EXPECT_EQ(control_group_cores(root_), kNoQuota);
  write("/proc/self/cgroup", "0::/machine/job\n");
  EXPECT_EQ(control_group_cores(root_), kNoQuota);
  write("/sys/fs/cgroup/machine/job/cpu.max", "max 100000\n");
  EXPECT_EQ(control_group_cores(root_), kNoQuota);
  write("/sys/fs/cgroup/machine/cpu.max", "400000 100000\n");
  EXPECT_EQ(control_group_cores(root_), 4);
  write("/sys/fs/cgroup/machine/job/cpu.max", "75000 50000\n");
  EXPECT_EQ(control_group_cores(root_), 1.5);
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(control_group_cores(root_), 0.5);
}

TEST_F(ControlGroups, OfVersion1KeepQuotaAndPeriodApart) {
  write("/proc/self/cgroup", "5:memory:/a\n4:cpu,cpuacct:/a/b\n");
  write("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(control_group_cores(root_), kNoQuota);
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(control_group_cores(root_), kNoQuota);  // an invalid quota
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(control_group_cores(root_), 2.5);
}

TEST_F(ControlGroups, NonsenseIsNoQuota) {
  write("/proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "-1 100000\n", "100000\n", "100000 0\n", "0 100000\n", "all 100000\n", "nan nan\n"}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(control_group_cores(root_), kNoQuota) << text;
  }
}

TEST(Memory, IsNoMoreThanTheProcessMayTake) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers need more addresses than the limit leaves";
#endif
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit less = before;
  less.rlim_cur = rlim_t{1} << 31;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &less), 0);
  const std::int64_t available = available_memory();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LE(available, std::int64_t{1} << 31);
}

TEST(Memory, IsWrittenInTheUnitThatFits) {
  EXPECT_EQ(byte_text(0), "0 bytes");
  EXPECT_EQ(byte_text(999), "999 bytes");
  EXPECT_EQ(byte_text(1500), "1.5 kB");
  EXPECT_EQ(byte_text(999'960), "1.0 MB");
  EXPECT_EQ(byte_text(17'179'869'184), "17.2 GB");
  EXPECT_EQ(byte_text(std::numeric_limits<std::int64_t>::max()), "9.2 EB");
}

TEST(Memory, IsNoMoreThanTheMachineHas) {
  EXPECT_GT(available_memory(), 1 << 20);
  EXPECT_LE(available_memory(), std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace ridgeline
