// A dataset written to disk and read back.
#include "ridgeline/data/runtime/save.h"

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

TEST(Save, RowsComeBackAsTheyWereMade) {
  const TempDir dir;
  const Dataset data = ImageFolder(write_folders(dir / "train", 2, 6))
                           .shuffle()
                           .map(RandomResizedCrop(12), RandomHorizontalFlip(), Normalize::imagenet())
                           .with_seed(4);
  for (const int workers : {1, 3}) {
    const std::string path = dir / ("rows" + std::to_string(workers) + ".ridge");
    EXPECT_EQ(save(data, path, {.workers = workers, .epoch = 2}), 12);
    const Dataset back = Packed({path});
    EXPECT_EQ(back.class_names(), data.class_names());
    EXPECT_EQ(to_string(back.columns()), to_string(data.columns()));
    for (std::uint64_t i = 0; i < 12; ++i) {
      const Sample made = replay(data, 2, i), read = replay(back, 0, i);
      EXPECT_EQ(digest(read.column("image")), digest(made.column("image")));
      EXPECT_EQ(digest(read.column("label")), digest(made.column("label")));
    }
  }
}

TEST(Save, KeepsRowsOfDifferentShapesAndThoseThatAFilterLeaves) {
  const TempDir dir;
  const Dataset data =
      ImageFolder(write_folders(dir / "train", 2, 5)).map(Resize(20)).filter(compare("label", "equal", 1));
  EXPECT_EQ(save(data, dir / "rows.ridge"), 5);
  const Dataset back = Packed({dir / "rows.ridge"});
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(replay(back, 0, i).column("image").shape(), replay(data, 0, i).column("image").shape());
    EXPECT_EQ(digest(replay(back, 0, i).column("image")), digest(replay(data, 0, i).column("image")));
  }
}

TEST(Save, ABadRecordOrDatasetLeavesNoFile) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 1, 6);
  for (const int i : {2, 4}) std::filesystem::resize_file(folder + "/class_a/10" + std::to_string(i) + ".jpg", 200);
  const Dataset data = ImageFolder(folder).map(Resize({8, 8}));
  EXPECT_ERROR(save(data, dir / "rows.ridge", {.workers = 3}), "102.jpg");
  EXPECT_FALSE(std::filesystem::exists(dir / "rows.ridge"));
  EXPECT_ERROR(save(data.batch(2), dir / "rows.ridge"), "leave batch out");
  EXPECT_ERROR(save(data.repeat(), dir / "rows.ridge"), "has no end");
  EXPECT_ERROR(save(rows_in_memory(3), dir / "no/such/folder/rows.ridge"), "no/such/folder");
}

}  // namespace
}  // namespace ridgeline::data::testing
