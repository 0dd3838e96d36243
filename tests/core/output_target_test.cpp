// Outputs that are not regular files. All devices and pipes are created in this test's own folder.
#include "ridgeline/core/output_target.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

class Output : public ::testing::Test {
 protected:
  Output() {
    std::string name = (fs::temp_directory_path() / "ridgeline-output-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~Output() override { fs::remove_all(directory_); }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  fs::path directory_;
};

std::string message_of(const std::string& path) {
  try {
    write_file_atomically(path, "x");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Output, ThroughALinkReplacesTheFileBehindItAndLeavesTheLink) {
  fs::create_directories(directory_ / "a/b");
  write_file_atomically(path("a/b/file"), "old");
  fs::create_symlink("b/file", directory_ / "a/near");
  fs::create_symlink(path("a/near"), directory_ / "far");
  write_file_atomically(path("far"), "new");
  EXPECT_TRUE(fs::is_symlink(path("far")));
  EXPECT_TRUE(fs::is_symlink(path("a/near")));
  EXPECT_FALSE(fs::is_symlink(path("a/b/file")));
  EXPECT_EQ(read_file(path("a/b/file")), "new");
}

TEST_F(Output, ThroughALinkToNothingMakesTheFileThatItNames) {
  fs::create_symlink("later", directory_ / "link");
  write_file_atomically(path("link"), "content");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("later")), "content");
}

TEST_F(Output, IntoAPipeGoesToItsReader) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", directory_ / "link");
  for (const char* name : {"pipe", "link"}) {
    const int reader =
        ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);  // so that even a bug does not wait without end
    write_file_atomically(path(name), "through the pipe");
    std::string got(100, '\0');
    const ssize_t n = ::read(reader, got.data(), got.size());
    ::close(reader);
    ASSERT_GT(n, 0) << name;
    EXPECT_EQ(got.substr(0, static_cast<std::size_t>(n)), "through the pipe");
    EXPECT_TRUE(fs::is_fifo(path("pipe"))) << name;
  }
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  AtomicFile file(path("pipe"));
  EXPECT_THROW(file.write_at(0, "x", 1), Error) << "a pipe has no places";
  ::close(reader);
}

TEST_F(Output, IntoADeviceLeavesTheDevice) {
  // Character device 1, 3 discards everything, like /dev/null.
  if (::mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) GTEST_SKIP() << "needs root to make a device";
  const int fd = ::open(path("null").c_str(), O_WRONLY);
  if (fd < 0) GTEST_SKIP() << "devices do not work here";
  ::close(fd);
  write_file_atomically(path("null"), "swallowed");
  EXPECT_TRUE(fs::is_character_file(path("null")));
}

// As with `--out=/dev/stdout > file`: the file is already open at some offset and must stay the same file. The links
// are this test's own, so that a bug cannot damage those of /dev.
TEST_F(Output, IntoAnOpenDescriptorContinuesWhereItStands) {
  fs::create_symlink("/proc/self/fd", directory_ / "fd");
  for (const std::string& folder : {path("fd/"), std::string("/proc/self/fd/")}) {
    const int fd = ::open(path("file").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600);
    ASSERT_EQ(::write(fd, "before ", 7), 7);
    write_file_atomically(folder + std::to_string(fd), "written ");
    ASSERT_EQ(::write(fd, "after", 5), 5);
    ::close(fd);
    EXPECT_EQ(read_file(path("file")), "before written after") << folder;
  }
}

TEST_F(Output, ThatCannotBeIsRefusedWithItsReason) {
  fs::create_directory(directory_ / "folder");
  fs::create_symlink("folder", directory_ / "to_folder");
  fs::create_symlink("circle", directory_ / "circle");
  EXPECT_EQ(message_of(path("folder")), "cannot write " + path("folder") + ": Is a directory");
  EXPECT_EQ(message_of(path("to_folder")), "cannot write " + path("to_folder") + ": Is a directory");
  EXPECT_EQ(message_of(path("circle")), "cannot write " + path("circle") + ": Too many levels of symbolic links");
  const std::string long_name = path(std::string(300, 'n'));
  EXPECT_EQ(message_of(long_name), "cannot write " + long_name + ": File name too long");
  EXPECT_EQ(message_of(path("no/file")), "cannot create " + path("no/file") + ": No such file or directory");
}

}  // namespace
}  // namespace ridgeline
