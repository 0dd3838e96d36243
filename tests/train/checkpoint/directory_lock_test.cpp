// Two trainings never write into one directory, and a lock never outlives its owner.
#include "ridgeline/train/checkpoint/directory_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ridgeline/core/error.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::string& directory) {
  try {
    const DirectoryLock lock(directory);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(DirectoryLock, ASecondOwnerIsRefusedWithDirectoryAndProcess) {
  const std::string directory = testing::temporary_directory() + "/made/on/the/way";
  {
    const DirectoryLock lock(directory);
    const std::string message = message_of(directory);
    EXPECT_NE(message.find(directory), std::string::npos) << message;
    EXPECT_NE(message.find("process " + std::to_string(::getpid())), std::string::npos) << message;
    EXPECT_EQ(message_of(directory + "2"), "") << "another directory is free";
  }
  EXPECT_EQ(message_of(directory), "") << "the lock ends with its owner";
}

TEST(DirectoryLock, AKilledOwnerLeavesNoLock) {
  const std::string directory = testing::temporary_directory() + "/killed";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const DirectoryLock lock(directory);
    const char byte = 1;
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::string message = message_of(directory);
  EXPECT_NE(message.find("process " + std::to_string(child)), std::string::npos) << message;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(message_of(directory), "");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(DirectoryLock, ADirectoryThatCannotBeMadeIsNamed) {
  const std::string file = testing::temporary_directory() + "/a_file";
  std::ofstream(file) << "x";
  EXPECT_NE(message_of(file).find(file), std::string::npos) << message_of(file);
  EXPECT_NE(message_of(file + "/below").find(file + "/below"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::train
