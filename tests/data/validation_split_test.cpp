// Which images are held out for validation depends only on their contents.
#include "ridgeline/data/standard/validation_split.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/source/class_folders.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

class SplitByContent : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ridgeline::testing::temporary_directory() + "/split";
    fs::remove_all(root_);
    for (int i = 0; i < 400; ++i) add(i % 4, "image" + std::to_string(i), i);
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string content(int seed) {
    SampleRandom random(philox_key(7, "split"), 0, static_cast<std::uint64_t>(seed));
    std::string bytes(static_cast<std::size_t>(random.integer(20, seed % 40 == 0 ? 60000 : 2000)), '\0');
    for (char& c : bytes) c = static_cast<char>(random.bits());
    return bytes;
  }
  void add(int label, const std::string& name, int seed) const {
    const std::string folder = root_ + "/class" + std::to_string(label);
    fs::create_directories(folder);
    std::ofstream(folder + "/" + name + ".jpg", std::ios::binary) << content(seed);
  }
  // The contents of the images that are held out.
  std::set<std::string> held_back(double share) const {
    const ClassFolders folders = list_class_folders(root_, image_extensions());
    std::set<std::string> held;
    for (const std::int64_t row : split_by_content(root_, share, 0).val)
      held.insert(read_file(folders.files[static_cast<std::size_t>(row)].path));
    return held;
  }

  std::string root_;
};

TEST_F(SplitByContent, TakesTheShareAndEachRowIsOnOneSide) {
  for (const double share : {0.1, 0.5}) {
    const ValidationSplit split = split_by_content(root_, share, 2);
    std::set<std::int64_t> all(split.train.begin(), split.train.end());
    all.insert(split.val.begin(), split.val.end());
    EXPECT_EQ(all.size(), 400u);
    EXPECT_EQ(split.train.size() + split.val.size(), 400u);
    EXPECT_NEAR(static_cast<double>(split.val.size()), 400 * share, 4 * std::sqrt(400 * share * (1 - share)));
    EXPECT_EQ(split.val, split_by_content(root_, share, 1).val);
    ASSERT_EQ(split.notes.size(), 1u);
    EXPECT_NE(split.notes[0].find("of 400 images, chosen by their content"), std::string::npos);
  }
}

TEST_F(SplitByContent, StaysWhereFilesAreAddedRenamedAndMoved) {
  const std::set<std::string> before = held_back(0.2);
  for (int i = 400; i < 500; ++i) add(i % 4, "a" + std::to_string(i), i);
  std::set<std::string> after = held_back(0.2);
  for (const std::string& image : before) EXPECT_TRUE(after.contains(image));
  for (const std::string& image : after) {
    bool added = false;
    for (int i = 400; i < 500 && !added; ++i) added = content(i) == image;
    EXPECT_TRUE(before.contains(image) || added);
  }
  fs::rename(root_ + "/class0", root_ + "/zebra");
  for (const auto& entry : fs::directory_iterator(root_ + "/class1"))
    fs::rename(entry.path(), entry.path().parent_path() / ("z" + entry.path().filename().string()));
  EXPECT_EQ(held_back(0.2), after);
  const std::set<std::string> more = held_back(0.3);
  for (const std::string& image : after)
    EXPECT_TRUE(more.contains(image)) << "a smaller share is part of a greater one";
}

TEST_F(SplitByContent, EqualImagesAreOnOneSide) {
  for (int i = 0; i < 400; ++i) add((i + 1) % 4, "copy" + std::to_string(i), i);
  const ValidationSplit split = split_by_content(root_, 0.3, 0);
  const ClassFolders folders = list_class_folders(root_, image_extensions());
  std::set<std::string> train, val;
  for (const std::int64_t row : split.train) train.insert(read_file(folders.files[static_cast<std::size_t>(row)].path));
  for (const std::int64_t row : split.val) val.insert(read_file(folders.files[static_cast<std::size_t>(row)].path));
  EXPECT_EQ(train.size() + val.size(), 400u);
  for (const std::string& image : val) EXPECT_FALSE(train.contains(image));
}

TEST_F(SplitByContent, ClassesWithTooFewImagesAreTold) {
  for (int i = 0; i < 3; ++i) add(7 + i, "alone", 1000 + i);
  const std::vector<std::string> notes = split_by_content(root_, 0.01, 0).notes;
  std::string all;
  for (const std::string& note : notes) all += note + "\n";
  EXPECT_NE(all.find("'class7' (1 image)"), std::string::npos) << all;
  EXPECT_NE(all.find("classes have no image in the validation part"), std::string::npos) << all;
  const std::vector<std::string> other = split_by_content(root_, 0.99, 0).notes;
  EXPECT_NE(other.back().find("classes have no image in the training part"), std::string::npos) << other.back();
  EXPECT_NE(error_of([&] { split_by_content(root_, 1e-9, 0); }).find("takes 0 of the 403 images"), std::string::npos);
  EXPECT_NE(error_of([&] { split_by_content(root_, 1 - 1e-9, 0); }).find("give a smaller share"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::data
