// Temporary files that killed writers leave, and that a clean-up must not remove files of active writers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/file.h"
#include "tests/core/folder_fixture.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

class TemporaryFiles : public FolderFixture {
 protected:
  // The name of the temporary file that a process leaves if it is killed while it writes `target`.
  std::string left_by_a_killed_writer_of(const std::string& target) const {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      AtomicFile file(path(target));
      file.write("half", 4);
      if (::write(ready[1], "x", 1) == 1) ::pause();
      ::_exit(1);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    const std::vector<std::string> during = names();
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    for (const std::string& name : during) {
      if (name.starts_with("." + target) && name.find("-" + std::to_string(child) + "-") != std::string::npos) {
        // On a disk that other machines write to, files count as left behind only after some time.
        fs::last_write_time(directory_ / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
        return name;
      }
    }
    ADD_FAILURE() << "no temporary file of " << child;
    return "";
  }
};

// Temporary files of another process with the same process number, in another container.
std::vector<std::string> of_our_number(const std::string& name) {
  std::vector<std::string> same;
  std::smatch found;
  EXPECT_TRUE(std::regex_search(name, found, std::regex("-([0-9]+)-([0-9]+)"))) << name;
  const int next = std::stoi(found[2]);
  for (int i = 0; i < 20; ++i) {
    same.push_back(found.prefix().str() + "-" + std::to_string(::getpid()) + "-" + std::to_string(next + i) +
                   found.suffix().str());
  }
  return same;
}

TEST_F(TemporaryFiles, OfKilledWritersAreRemovedByTheNextWriterIntoTheDirectory) {
  write_file_atomically(path("f"), "old");
  left_by_a_killed_writer_of("f");
  left_by_a_killed_writer_of("another name");
  ASSERT_GE(names().size(), 2u) << "the second killed writer may have removed what the first left";
  write_file_atomically(path("f"), "new");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
  EXPECT_EQ(read_file(path("f")), "new");
}

TEST_F(TemporaryFiles, AWriterThatWasKilledUnderOurProcessNumberStopsNoOtherOne) {
  for (const std::string& name : of_our_number(left_by_a_killed_writer_of("f")))
    ASSERT_GE(::close(::open(path(name).c_str(), O_CREAT | O_WRONLY, 0644)), 0);
  for (const char* content : {"first", "second"}) {
    write_file_atomically(path("f"), content);
    EXPECT_EQ(read_file(path("f")), content);
  }
}

TEST_F(TemporaryFiles, AWriterAtWorkUnderOurProcessNumberKeepsItsFilesAndStopsNoOtherOne) {
  std::vector<int> held;
  const std::vector<std::string> others = of_our_number(left_by_a_killed_writer_of("f"));
  for (const std::string& name : others) {
    held.push_back(::open(path(name).c_str(), O_CREAT | O_WRONLY, 0644));
    ASSERT_EQ(::flock(held.back(), LOCK_EX | LOCK_NB), 0);
  }
  write_file_atomically(path("f"), "content");
  EXPECT_EQ(read_file(path("f")), "content");
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(path(name))) << name;
  for (const int fd : held) ::close(fd);
}

TEST_F(TemporaryFiles, OfAWriterAtWorkStayWhileOthersWrite) {
  AtomicFile slow(path("slow"));
  slow.write("one ", 4);
  for (const auto& entry : fs::directory_iterator(directory_))  // no matter how long ago its last write was
    fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(2));
  write_file_atomically(path("fast"), "x");
  const pid_t child = ::fork();
  if (child == 0) {
    write_file_atomically(path("other"), "y");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  slow.write("two", 3);
  slow.commit();
  EXPECT_EQ(read_file(path("slow")), "one two");
  EXPECT_EQ(names(), (std::vector<std::string>{"fast", "other", "slow"}));
}

TEST_F(TemporaryFiles, OfManyWritersAtOnceAreNeverTakenAway) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([this, w] {
      for (int i = 0; i < 100; ++i) write_file_atomically(path(std::to_string(w)), std::to_string(i));
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(names(), (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST_F(TemporaryFiles, WhatOthersCallAlikeStays) {
  const std::vector<std::string> strange{".f.ridgeline-12.tmp",
                                         ".f.ridgeline-a-1.tmp",
                                         ".f.ridgeline-1-1.tmp.swp",
                                         ".f.tmp-12-3",
                                         "f.ridgeline-1-1.tmp",
                                         ".ridgeline-1-1.tmp",
                                         "f.tmp"};
  for (const std::string& name : strange) write_file_atomically(path(name), "");
  fs::create_directory(directory_ / ".f.ridgeline-1-2.tmp");
  ASSERT_EQ(::mkfifo(path(".f.ridgeline-1-3.tmp").c_str(), 0644), 0);
  fs::create_symlink(path("f.tmp"), directory_ / ".f.ridgeline-1-4.tmp");
  const std::vector<std::string> before = names();
  for (const std::string& name : before)
    if (!fs::is_fifo(path(name)))
      fs::last_write_time(path(name), fs::file_time_type::clock::now() - std::chrono::hours(2));
  write_file_atomically(path("f.tmp"), "");
  EXPECT_EQ(names(), before);
}

TEST_F(TemporaryFiles, FitBesideNamesOfAnyLength) {
  const std::string name(255, 'n');
  write_file_atomically(path(name), "content");
  EXPECT_EQ(read_file(path(name)), "content");
}

}  // namespace
}  // namespace ridgeline
