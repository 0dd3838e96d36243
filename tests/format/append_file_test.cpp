// Files that grow while others move, remove and read them.
#include "ridgeline/format/wire/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/files.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

TEST(AppendFile, GoesOnUnderItsNameWhenFileOrFolderAreRemoved) {
  const TempFolder folder;
  const std::string path = folder.file("a/b/log");
  fs::create_directories(folder.file("a/b"));
  AppendFile file(path);
  file.append("1\n");
  EXPECT_FALSE(file.restore());
  fs::remove(path);
  file.append("2\n");
  EXPECT_EQ(read_file(path), "2\n");
  fs::remove_all(folder.file("a"));
  file.append("3\n");
  file.append("4\n");
  EXPECT_EQ(read_file(path), "3\n4\n");
  fs::rename(path, path + ".old");  // like programs that rotate logs
  file.append("5\n");
  EXPECT_EQ(read_file(path), "5\n");
  EXPECT_EQ(read_file(path + ".old"), "3\n4\n");
}

TEST(AppendFile, GoesOnWhereItsNameCannotBeMadeAgain) {
  const TempFolder folder;
  fs::create_directory(folder.file("log"));
  AppendFile file(folder.file("log/file"));
  fs::remove_all(folder.file("log"));
  put_file(folder.file("log"), "in the way");
  file.append("1\n");
  EXPECT_FALSE(file.restore());
  EXPECT_EQ(read_file(folder.file("log")), "in the way");
}

TEST(AppendFile, FollowsLinksAlsoToNothing) {
  const TempFolder folder;
  fs::create_symlink("later", folder.file("link"));
  for (const char* line : {"1\n", "2\n"}) AppendFile(folder.file("link")).append(line);
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(read_file(folder.file("later")), "1\n2\n");
}

TEST(AppendFile, WritesIntoPipesAndOpenDescriptors) {
  const TempFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  AppendFile into_pipe(pipe);
  EXPECT_FALSE(into_pipe.is_file());
  EXPECT_EQ(into_pipe.size(), 0u);
  into_pipe.append("line\n");
  std::string got(5, ' ');
  EXPECT_EQ(::read(reader, got.data(), 5), 5);
  EXPECT_EQ(got, "line\n");
  EXPECT_TRUE(fs::is_fifo(pipe));
  ::close(reader);

  const int fd = ::open(folder.file("file").c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(::write(fd, "before\n", 7), 7);
  AppendFile open_already("/proc/self/fd/" + std::to_string(fd));
  EXPECT_EQ(open_already.size(), 0u) << "what lies before is not this writer's";
  open_already.append("line\n");
  ASSERT_EQ(::write(fd, "after\n", 6), 6);
  ::close(fd);
  EXPECT_EQ(read_file(folder.file("file")), "before\nline\nafter\n");
}

TEST(AppendFile, NamesTheDirectoryThatItWasGiven) {
  const TempFolder folder;
  EXPECT_EQ(error_of([&] { AppendFile file(folder.path()); }), "cannot write " + folder.path() + ": Is a directory");
}

}  // namespace
}  // namespace ridgeline
