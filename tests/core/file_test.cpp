#include "ridgeline/core/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/error.h"
#include "tests/core/folder_fixture.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using File = FolderFixture;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(File, ReadsBackWhatWasWritten) {
  for (const std::string& content :
       {std::string(), std::string("x"), std::string("a\0b\n", 4), std::string(1 << 20, 'q')}) {
    write_file_atomically(path("f"), content);
    EXPECT_EQ(read_file(path("f")), content);
    write_file_atomically(path("f"), "other");
    EXPECT_EQ(read_file(path("f")), "other");
  }
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(File, ReadsFilesThatDoNotKnowTheirSize) {
  EXPECT_NE(read_file("/proc/self/status").find("VmPeak"), std::string::npos);
}

TEST_F(File, ErrorsNameThePathAndTheReason) {
  EXPECT_EQ(message_of([&] { read_file(path("none")); }),
            "cannot open " + path("none") + ": No such file or directory");
  EXPECT_EQ(message_of([&] { read_file(directory_.string()); }),
            "cannot read " + directory_.string() + ": Is a directory");
  EXPECT_EQ(message_of([&] { write_file_atomically(path("no/dir/f"), "x"); }),
            "cannot create " + path("no/dir/f") + ": No such file or directory");
}

TEST_F(File, AThrowingWriterLeavesTheOldFile) {
  write_file_atomically(path("f"), "old");
  EXPECT_THROW(write_file_atomically(path("f"),
                                     [](const Sink& sink) {
                                       sink("half of the new", 15);
                                       throw std::runtime_error("stopped");
                                     }),
               std::runtime_error);
  EXPECT_EQ(read_file(path("f")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(File, ATargetThatIsADirectoryIsRefusedAndNothingStays) {
  fs::create_directory(directory_ / "d");
  EXPECT_EQ(message_of([&] { write_file_atomically(path("d"), "x"); }),
            "cannot write " + path("d") + ": Is a directory");
  EXPECT_EQ(names(), std::vector<std::string>{"d"});
}

TEST_F(File, AnAtomicFileIsWrittenAtAnyPlaceFromAnyThread) {
  AtomicFile file(path("f"));
  std::vector<std::thread> threads;
  for (int i = 7; i >= 0; --i) {
    threads.emplace_back([&file, i] {
      const std::string text(100, static_cast<char>('a' + i));
      file.write_at(static_cast<std::uint64_t>(i) * 101, text.data(), text.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(std::filesystem::exists(path("f")));
  file.commit();
  std::string expected;
  for (int i = 0; i < 8; ++i)
    expected += std::string(100, static_cast<char>('a' + i)) + (i < 7 ? std::string(1, '\0') : "");
  EXPECT_EQ(read_file(path("f")), expected);
}

TEST_F(File, AnAtomicFileShowsOnlyAfterCommit) {
  write_file_atomically(path("f"), "old");
  {
    AtomicFile file(path("f"));
    file.write("new", 3);
    EXPECT_EQ(read_file(path("f")), "old");
    EXPECT_EQ(names().size(), 2u);
  }
  EXPECT_EQ(read_file(path("f")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
  AtomicFile file(path("f"));
  file.write("ne", 2);
  file.write("w", 1);
  file.commit();
  EXPECT_EQ(read_file(path("f")), "new");
  EXPECT_THROW(file.commit(), InternalError);
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

// A limit on the file size makes a write fail in the middle, like a full disk. In a child process, since limits are per
// process.
TEST_F(File, AFullDiskLeavesTheOldFile) {
  write_file_atomically(path("f"), "old");
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(3);
    try {
      write_file_atomically(path("f"), std::string(1 << 20, 'n'));
    } catch (const Error& error) {
      ::_exit(std::string(error.what()) == "cannot write " + path("f") + ": File too large" ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: no error, 2: another message, 3: no limit";
  EXPECT_EQ(read_file(path("f")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(File, WritersOfOneFileNeverMix) {
  std::vector<std::thread> writers;
  for (char c : {'a', 'b', 'c'}) {
    writers.emplace_back([this, c] {
      for (int i = 0; i < 10; ++i) write_file_atomically(path("f"), std::string(50000, c));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string content = read_file(path("f"));
  EXPECT_EQ(content, std::string(50000, content.at(0)));
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(File, DirectoriesAreMadeOrTheReasonIsGiven) {
  make_directories(path("a/b/c"));
  EXPECT_TRUE(fs::is_directory(path("a/b/c")));
  make_directories(path("a/b/c/"));
  make_directories("");
  write_file_atomically(path("f"), "");
  fs::create_symlink("nowhere", directory_ / "dangling");
  EXPECT_EQ(message_of([&] { make_directories(path("f")); }),
            "cannot make the directory " + path("f") + ": Not a directory");
  EXPECT_EQ(message_of([&] { make_directories(path("f/below")); }),
            "cannot make the directory " + path("f/below") + ": Not a directory");
  const std::string long_name = path(std::string(300, 'n'));
  EXPECT_EQ(message_of([&] { make_directories(long_name); }),
            "cannot make the directory " + long_name + ": File name too long");
  make_directories(path("dangling"));
  EXPECT_TRUE(fs::is_symlink(path("dangling")));
  EXPECT_TRUE(fs::is_directory(path("nowhere")));
  fs::create_symlink("circle", directory_ / "circle");
  EXPECT_NE(message_of([&] { make_directories(path("circle")); }), "no error");
}

TEST_F(File, GlobFindsRegularFilesInOrder) {
  for (const char* name : {"train-00001-of-00002", "train-00000-of-00002", "validation-0", "b.x", "B.x"}) {
    write_file_atomically(path(name), "");
  }
  fs::create_directory(directory_ / "train-dir");
  EXPECT_EQ(glob_escape("a[1]*?\\b"), "a\\[1\\]\\*\\?\\\\b");
  EXPECT_EQ(glob_files(path("train-*")),
            (std::vector<std::string>{path("train-00000-of-00002"), path("train-00001-of-00002")}));
  EXPECT_EQ(glob_files(path("train-0000[1-9]*")), std::vector<std::string>{path("train-00001-of-00002")});
  EXPECT_EQ(glob_files(path("?.x")), (std::vector<std::string>{path("B.x"), path("b.x")}));
  EXPECT_EQ(glob_files(path("validation-0")), std::vector<std::string>{path("validation-0")});
  EXPECT_TRUE(glob_files(path("nothing-*")).empty());
}

}  // namespace
}  // namespace ridgeline
