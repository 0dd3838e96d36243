#include "ridgeline/device/cuda/plans/plan_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "tests/device/cuda/plans/plans_support.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::cuda {
namespace {

std::string fresh_folder(const std::string& name) {
  const std::string folder = ridgeline::testing::temporary_directory() + "/" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

const std::string kPlan("{\"engine\": 7}\n\0binary", 21);

TEST(PlanFolder, APlanIsReadAsItWasWritten) {
  testing::Warnings warnings;
  PlanFolder folder(fresh_folder("plans_whole"), warnings.sink());
  EXPECT_FALSE(folder.read("conv a").has_value());
  folder.write("conv a", {"engine 7", true, kPlan});
  folder.write("conv b", {"engine 8", false, ""});
  PlanFolder again(folder.folder(), warnings.sink());
  const auto a = again.read("conv a"), b = again.read("conv b");
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->name, "engine 7");
  EXPECT_TRUE(a->timed);
  EXPECT_EQ(a->plan, kPlan);
  ASSERT_TRUE(b.has_value());
  EXPECT_FALSE(b->timed);
  EXPECT_EQ(b->plan, "");
  folder.write("conv a", {"engine 9", false, "other"});
  EXPECT_EQ(again.read("conv a")->name, "engine 9");
  EXPECT_TRUE(warnings.lines.empty());
}

TEST(PlanFolder, ADamagedFileIsIgnoredWithOneLine) {
  testing::Warnings warnings;
  PlanFolder folder(fresh_folder("plans_damaged"), warnings.sink());
  folder.write("conv", {"engine 7", false, kPlan});
  const std::string path = folder.file_of("conv");
  const std::string whole = read_file(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_file_atomically(path, whole.substr(0, length));
    warnings.lines.clear();
    EXPECT_FALSE(folder.read("conv").has_value()) << length;
    ASSERT_EQ(warnings.lines.size(), 1u) << length;
    EXPECT_NE(warnings.lines[0].find(path), std::string::npos);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] ^= 1;
    write_file_atomically(path, changed);
    const auto read = folder.read("conv");
    // A name or a mark of one bit less is another name; the plan itself is never another.
    if (read) {
      EXPECT_EQ(read->plan, kPlan) << at;
    }
  }
}

TEST(PlanFolder, AnotherKeyOfTheSameFileIsNoPlan) {
  testing::Warnings warnings;
  PlanFolder folder(fresh_folder("plans_keys"), warnings.sink());
  folder.write("conv a", {"engine 7", false, kPlan});
  std::filesystem::copy_file(folder.file_of("conv a"), folder.file_of("conv b"));
  EXPECT_FALSE(folder.read("conv b").has_value());
  EXPECT_TRUE(warnings.lines.empty());
}

TEST(PlanFolder, AFolderThatCannotBeWrittenIsSaidOnce) {
  testing::Warnings warnings;
  const std::string file = fresh_folder("plans_file");
  write_file_atomically(file, "a file");
  PlanFolder folder(file, warnings.sink());
  folder.write("conv a", {"engine 7", false, kPlan});
  folder.write("conv b", {"engine 7", false, kPlan});
  EXPECT_EQ(warnings.lines.size(), 1u);
  PlanFolder none("", warnings.sink());
  none.write("conv a", {"engine 7", false, kPlan});
  EXPECT_FALSE(none.read("conv a").has_value());
  EXPECT_EQ(warnings.lines.size(), 1u);
}

}  // namespace
}  // namespace ridgeline::cuda
