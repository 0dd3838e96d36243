#include "ridgeline/comm/shared/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/comm/ranks.h"
#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

constexpr std::size_t kBytes = 4096;

// What an attacker would create: memory of the right size that everybody may read and write.
class Planted {
 public:
  Planted(const std::string& name, ::uid_t owner) : path_("/" + name) {
    const int file = ::shm_open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    good_ = file >= 0 && ::ftruncate(file, static_cast<off_t>(SharedSegment::header_bytes() + kBytes)) == 0 &&
            ::fchmod(file, 0666) == 0 && ::fchown(file, owner, static_cast<::gid_t>(-1)) == 0;
    ::close(file);
  }
  ~Planted() { ::shm_unlink(path_.c_str()); }
  bool good() const { return good_; }

 private:
  std::string path_;
  bool good_ = false;
};

std::string join(const std::string& name) {
  return error_of([&] { SharedSegment(name, 1, 2, kBytes, 0, std::chrono::milliseconds(200)); });
}

TEST(SharedSegment, OneOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a segment to another user";
  const std::string name = unique_name();
  const Planted planted(name, 65534);
  ASSERT_TRUE(planted.good());
  EXPECT_EQ(join(name), fmt::format("[ranks] the shared memory /{} belongs to user 65534, and rank 0 of user 0 cannot "
                                    "have made it",
                                    name));
}

TEST(SharedSegment, OnesOwnWithoutRankZeroIsWaitedForInVain) {
  const std::string name = unique_name();
  const Planted planted(name, ::geteuid());
  ASSERT_TRUE(planted.good());
  EXPECT_EQ(join(name), "[ranks] rank 1 waited in vain for rank 0 of 2 (HCCL_CONNECT_TIMEOUT)");
}

// A run whose rank 0 was killed while it waited, before its parent read its exit status.
TEST(SharedSegment, OneOfAKilledRankZeroIsNotJoined) {
  const std::string name = unique_name();
  int waits[2];
  ASSERT_EQ(::pipe(waits), 0);
  const ::pid_t killed = ::fork();
  if (killed == 0) {
    SharedSegment(name, 0, 2, kBytes, 0, std::chrono::seconds(60),
                  [&] { ::kill(::getpid(), ::write(waits[1], "", 1) == 1 ? SIGKILL : SIGABRT); });
    ::_exit(1);
  }
  char one = 0;
  ASSERT_EQ(::read(waits[0], &one, 1), 1);
  siginfo_t end{};
  ASSERT_EQ(::waitid(P_PID, static_cast<::id_t>(killed), &end, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(join(name), "[ranks] rank 1 waited in vain for rank 0 of 2 (HCCL_CONNECT_TIMEOUT)");
  ::waitpid(killed, nullptr, 0);
  ::close(waits[0]);
  ::close(waits[1]);
  SharedSegment::remove(name);
}

}  // namespace
}  // namespace ridgeline::comm
