// Folders with dangling or circular links, FIFOs, and folders with names of images: training and inspection treat them
// alike.
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>

#include "ridgeline/data/source/folder_tree.h"
#include "ridgeline/data/tool/inspect.h"
#include "tests/data/helpers.h"

namespace ridgeline::data::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> broken_lines(const std::string& dir) {
  std::vector<std::string> lines;
  for (const PartReport& part : inspect(dir).parts) {
    for (const BrokenItem& item : part.broken) lines.push_back(item.place + ": " + item.reason);
  }
  return lines;
}

TEST(StrangeFolder, ALinkToAFolderAroundItIsNotFollowed) {
  const TempDir dir;
  write_folders(dir / "set/train", 2, 3);
  fs::create_directory_symlink("..", dir / "set/train/class_a/up");
  fs::create_directory_symlink(".", dir / "set/train/class_b/self");
  fs::create_directory_symlink(dir.path(), dir / "set/train/class_b/top");
  const InspectReport report = inspect(dir / "set");
  EXPECT_EQ(report.parts[0].records, 6);
  EXPECT_TRUE(report.duplicates.empty());
  EXPECT_EQ(broken_lines(dir / "set"),
            (std::vector<std::string>{"train/class_a/up/: is a link to a folder around it",
                                      "train/class_b/self/: is a link to a folder around it",
                                      "train/class_b/top/: is a link to a folder around it"}));
  EXPECT_ERROR(ImageFolder(dir / "set/train").size(),
               "[image_folder] " + (dir / "set/train/class_a/up") + " is a link to a folder around it");
}

TEST(StrangeFolder, AClassThatIsItsOwnFolderAroundIsNotFollowed) {
  const TempDir dir;
  write_folders(dir / "train", 1, 2);
  fs::create_directory_symlink("../train", dir / "train/again");
  EXPECT_EQ(broken_lines(dir.path()), (std::vector<std::string>{"train/again/: is a link to a folder around it",
                                                                "train/again/: no images in class folder"}));
  EXPECT_ERROR(ImageFolder(dir / "train").size(), (dir / "train/again") + " is a link to a folder around it");
}

TEST(StrangeFolder, LinksToFilesAndToFoldersElsewhereAreFollowed) {
  const TempDir dir;
  write_folders(dir / "set/train", 1, 1);
  write_folders(dir / "elsewhere", 1, 2, 7);
  fs::create_directory_symlink(dir / "elsewhere/class_a", dir / "set/train/class_a/more");
  fs::create_directory_symlink(dir / "elsewhere/class_a", dir / "set/train/class_b");
  fs::create_symlink(dir / "elsewhere/class_a/100.jpg", dir / "set/train/class_a/one.jpg");
  EXPECT_EQ(ImageFolder(dir / "set/train").size(), 6);
  const InspectReport report = inspect(dir / "set");
  EXPECT_EQ(report.parts[0].records, 6);
  EXPECT_EQ(report.broken(), 0);
}

TEST(StrangeFolder, WhatIsCalledAnImageAndIsNoneIsListed) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "set/train", 1, 2) + "/class_a/";
  fs::create_symlink("gone.jpg", folder + "dangling.jpg");
  fs::create_symlink("circle.jpg", folder + "circle.jpg");
  ASSERT_EQ(::mkfifo((folder + "pipe.jpg").c_str(), 0600), 0);
  fs::create_directories(folder + "folder.jpg");
  fs::create_symlink("nowhere", folder + "notes");
  fs::create_symlink("nowhere", dir / "set/train/class_b");
  EXPECT_EQ(broken_lines(dir / "set"), (std::vector<std::string>{
                                           "train/class_b: is a link to nothing",
                                           "train/class_a/circle.jpg: is a link that cannot be followed",
                                           "train/class_a/dangling.jpg: is a link to nothing",
                                           "train/class_a/folder.jpg/: is a folder with the name of an image",
                                           "train/class_a/pipe.jpg: is a FIFO",
                                       }));
  EXPECT_EQ(ImageFolder(dir / "set/train").size(), 2) << "training passes over them";
}

TEST(StrangeFolder, DeepFoldersNeedNoDescriptorEach) {
  const TempDir dir;
  fs::path at = dir.path();
  for (int i = 0; i < 300; ++i) at /= "d";
  fs::create_directories(at);
  // With file descriptors for only ten more folders, all are listed.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto open_now = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  const rlimit few{static_cast<rlim_t>(open_now + 10), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const FolderTree tree = read_folder_tree(dir / "d");
  ::setrlimit(RLIMIT_NOFILE, &before);
  int folders = 0;
  for (const FolderTree* folder = &tree; !folder->folders.empty(); folder = &folder->folders[0]) ++folders;
  EXPECT_EQ(folders, 299);
}

}  // namespace
}  // namespace ridgeline::data::testing
