// Files that are read in pieces, that change while they are open, and paths that are not files.
#include "ridgeline/core/random_access_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

class RandomAccess : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ridgeline-core-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    write_file_atomically(path(name), content);
    return path(name);
  }
  fs::path directory_;
};

std::string piece(const RandomAccessFile& file, std::uint64_t at, std::size_t size) {
  std::string text(size, '\0');
  file.read(at, {reinterpret_cast<std::uint8_t*>(text.data()), size});
  return text;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(RandomAccess, ReadsAnyPiece) {
  const RandomAccessFile file(write("f", "0123456789"));
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(piece(file, 3, 4), "3456");
  EXPECT_EQ(piece(file, 0, 10), "0123456789");
  EXPECT_EQ(piece(file, 10, 0), "");
  std::vector<std::uint8_t> more(8);
  EXPECT_EQ(file.read_some(7, more), 3u);
  EXPECT_EQ(RandomAccessFile(write("empty", "")).size(), 0u);
}

TEST_F(RandomAccess, AFileThatIsCutShortIsAnErrorOfWhatIsGone) {
  const RandomAccessFile file(write("f", std::string(20000, 'x')));
  fs::resize_file(path("f"), 5000);
  EXPECT_EQ(piece(file, 4990, 10), "xxxxxxxxxx");
  EXPECT_EQ(
      message_of([&] { piece(file, 4990, 11); }),
      "cannot read " + path("f") + ": the file has been cut short at byte 5000, it had 20000 bytes when it was opened");
  EXPECT_EQ(message_of([&] { piece(file, 9000, 1); }),
            "cannot read " + path("f") + ": the file has been cut short, it had 20000 bytes when it was opened");
}

TEST_F(RandomAccess, MoreFilesThanTheProcessMayOpenAreRead) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit few {
    128, before.rlim_max
  };
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<RandomAccessFile> files;
  std::string failure;
  try {
    for (int i = 0; i < 300; ++i) files.emplace_back(write(std::to_string(i), std::to_string(i)));
    for (int i = 299; i >= 0; --i) {
      const std::string expected = std::to_string(i);
      if (piece(files[static_cast<std::size_t>(i)], 0, expected.size()) != expected) failure = "wrong content";
    }
  } catch (const Error& e) {
    failure = e.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failure, "");
  // A file that is opened for every read must remain the same file.
  write("299", "299");
  EXPECT_EQ(message_of([&] { piece(files[299], 0, 3); }),
            "cannot read " + path("299") + ": it was replaced by another file while it was in use");
  EXPECT_EQ(piece(files[0], 0, 1), "0");
}

TEST_F(RandomAccess, AMovedFileTakesItsDescriptorAlong) {
  RandomAccessFile file(write("f", "abc"));
  RandomAccessFile moved = std::move(file);
  file = RandomAccessFile(write("g", "xyz"));
  EXPECT_EQ(piece(moved, 0, 3), "abc");
  moved = std::move(file);
  EXPECT_EQ(piece(moved, 0, 3), "xyz");
}

TEST_F(RandomAccess, AFifoIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  // Opens the FIFO for writing, so that a wrong reader fails instead of hanging.
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) {
      const int fd = ::open(path("pipe").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      if (fd >= 0) ::close(fd);
      std::this_thread::yield();
    }
  });
  const std::string expected = "cannot read " + path("pipe") + ": it is a FIFO, a file is expected";
  const std::string whole = message_of([&] { read_file(path("pipe")); });
  const std::string pieces = message_of([&] { const RandomAccessFile file(path("pipe")); });
  done = true;
  writer.join();
  EXPECT_EQ(whole, expected);
  EXPECT_EQ(pieces, expected);
}

TEST_F(RandomAccess, ADeviceIsRefused) {
  // The null device ends at once, so that a wrong reader fails instead of filling the memory.
  EXPECT_EQ(message_of([&] { read_file("/dev/null"); }), "cannot read /dev/null: it is a device, a file is expected");
}

TEST_F(RandomAccess, AFileLargerThanTheMemoryIsRefusedBeforeItIsRead) {
  write("huge", "x");
  std::error_code error;
  fs::resize_file(path("huge"), std::uintmax_t{1} << 42, error);  // a sparse file
  if (error) GTEST_SKIP() << "the file system holds no file of 4 TB";
  EXPECT_EQ(message_of([&] { read_file(path("huge")); }),
            "cannot read " + path("huge") + ": its 4398046511104 bytes do not fit into memory");
}

}  // namespace
}  // namespace ridgeline
