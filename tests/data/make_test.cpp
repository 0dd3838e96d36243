#include <map>

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/data/make/shapes.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data::testing {
namespace {

// Path below `dir` -> contents.
std::map<std::string, std::string> tree(const std::string& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file())
      files[std::filesystem::relative(entry.path(), dir).string()] = read_file(entry.path().string());
  }
  return files;
}

TEST(MakeShapes, DrawsClassFoldersThatDependOnTheSeedAlone) {
  const TempDir dir;
  std::int64_t last = 0;
  const MakeShapesReport report =
      make_shapes(dir / "a", {.seed = 3, .train = 20, .val = 10, .progress = [&](std::int64_t done, std::int64_t of) {
                                EXPECT_EQ(done, ++last);
                                EXPECT_EQ(of, 30);
                              }});
  EXPECT_EQ(report.written, 30);
  EXPECT_EQ(last, 30);
  make_shapes(dir / "b", {.seed = 3, .train = 20, .val = 10});
  make_shapes(dir / "c", {.seed = 4, .train = 20, .val = 10});
  EXPECT_EQ(tree(dir / "a"), tree(dir / "b"));
  EXPECT_NE(tree(dir / "a"), tree(dir / "c"));
  const Dataset train = ImageFolder(dir / "a/train"), val = ImageFolder(dir / "a/val");
  EXPECT_EQ(train.size(), 20);
  EXPECT_EQ(val.size(), 10);
  std::vector<std::string> names = shape_class_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(train.class_names(), names);
  EXPECT_EQ(val.class_names(), names);
  EXPECT_FALSE(std::filesystem::exists(dir / "a.partial"));
}

TEST(MakeShapes, KeepsAnEqualResultAndRefusesAnythingElse) {
  const TempDir dir;
  make_shapes(dir / "a", {.train = 10, .val = 10});
  const auto before = tree(dir / "a");
  EXPECT_TRUE(make_shapes(dir / "a/", {.train = 10, .val = 10}).already_there);
  EXPECT_ERROR(make_shapes(dir / "a", {.seed = 1, .train = 10, .val = 10}), "holds shapes of another seed or size");
  EXPECT_EQ(tree(dir / "a"), before);
  write_bytes(dir / "mine/thesis.txt", "x", 1);
  EXPECT_ERROR(make_shapes(dir / "mine", {.train = 10, .val = 10}), "holds other files");
  std::filesystem::create_directories(dir / "empty");
  EXPECT_EQ(make_shapes(dir / "empty", {.train = 10, .val = 10}).written, 20);
  EXPECT_ERROR(make_shapes(dir / "few", {.train = 5, .val = 10}), "each needs at least 10");
}

TEST(MakeShapes, LeavesNothingBehindWhenItIsStopped) {
  const TempDir dir;
  EXPECT_ERROR(make_shapes(dir / "a", {.train = 20,
                                       .val = 10,
                                       .progress =
                                           [](std::int64_t done, std::int64_t) {
                                             if (done == 5) throw Error("stopped", ErrorKind::interrupted);
                                           }}),
               "stopped");
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
  EXPECT_FALSE(std::filesystem::exists(dir / "a.partial"));
}

TEST(MakeTFRecord, PacksClassFoldersThatReadBackAsTheyWere) {
  const TempDir dir;
  write_folders(dir / "from/train", 3, 5);
  write_folders(dir / "from/val", 3, 2, 7);
  const MakeTFRecordReport report =
      make_tfrecord(dir / "from", dir / "out", {.train_shards = 4, .validation_shards = 2});
  EXPECT_EQ(report.train_records, 15);
  EXPECT_EQ(report.validation_records, 6);
  EXPECT_EQ(report.class_names, (std::vector<std::string>{"class_a", "class_b", "class_c"}));
  EXPECT_TRUE(report.unreadable.empty());
  EXPECT_EQ(report.files.size(), 6u);
  EXPECT_TRUE(std::filesystem::exists(dir / "out/train-00003-of-00004"));
  EXPECT_TRUE(std::filesystem::exists(dir / "out/validation-00001-of-00002"));

  std::map<std::string, std::string> packed;  // "class/file" -> image
  for (int shard = 0; shard < 4; ++shard) {
    const TFRecordFile file(dir / ("out/train-0000" + std::to_string(shard) + "-of-00004"));
    for (std::size_t i = 0; i < file.size(); ++i) {
      std::string storage;
      const Example example(file.record(i, storage));
      const std::string text(example.one_bytes("image/class/text"));
      EXPECT_EQ(example.one_int64("image/class/label"), text.back() - 'a' + 1);
      EXPECT_EQ(example.one_bytes("image/class/synset"), text);
      EXPECT_EQ(example.one_bytes("image/format"), "JPEG");
      EXPECT_EQ(example.one_bytes("image/colorspace"), "RGB");
      EXPECT_EQ(example.one_int64("image/channels"), 3);
      EXPECT_GE(example.one_int64("image/height"), 20);
      EXPECT_GE(example.one_int64("image/width"), 20);
      packed[text + "/" + std::string(example.one_bytes("image/filename"))] =
          std::string(example.one_bytes("image/encoded"));
    }
  }
  EXPECT_EQ(packed, tree(dir / "from/train"));

  // Through the data graph: validation keeps the order of the folders.
  const Dataset train = TFRecord(dir / "out/train-*", {.num_classes = 3});
  EXPECT_EQ(train.label_base(), 1);
  Iterator records(TFRecord(dir / "out/validation-*", {.label_base = LabelBase::one}).map(Resize({9, 9})).batch(3),
                   {.pull = true});
  Iterator folders(ImageFolder(dir / "from/val").map(Resize({9, 9})).batch(3), {.pull = true});
  EXPECT_EQ(digest(records), digest(folders));
}

TEST(MakeTFRecord, ReportsUnreadableImagesAndLeavesThemOut) {
  const TempDir dir;
  write_folders(dir / "from/train", 2, 3);
  write_folders(dir / "from/val", 2, 2);
  write_bytes(dir / "from/train/class_b/101.jpg", "GIF89a......", 12);
  const MakeTFRecordReport report = make_tfrecord(dir / "from", dir / "out");
  EXPECT_EQ(report.train_records, 5);
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_EQ(report.unreadable[0].file, dir / "from/train/class_b/101.jpg");
  EXPECT_NE(report.unreadable[0].reason.find("GIF"), std::string::npos);
  EXPECT_EQ(TFRecord(dir / "out/train-*").size(), 5);
}

TEST(MakeTFRecord, LeavesNoShardsWhenItFailsOrIsStopped) {
  const TempDir dir;
  write_folders(dir / "from/train", 2, 8);
  write_folders(dir / "from/val", 1, 1);
  write_bytes(dir / "from/train/class_a/100.jpg", "GIF89a", 6);
  write_bytes(dir / "from/val/class_a/100.jpg", "GIF89a", 6);
  write_bytes(dir / "from/val/class_b/100.jpg", "GIF89a", 6);
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "out"),
               "none of the 2 images for validation can be read; the first: " + (dir / "from/val/class_a/100.jpg"));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "out"));
  write_folders(dir / "from/val", 2, 1);
  const auto stop = [](std::int64_t done, std::int64_t) {
    if (done > 6) throw Error("stopped", ErrorKind::interrupted);
  };
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "out", {.train_shards = 8, .progress = stop}), "stopped");
  EXPECT_TRUE(std::filesystem::is_empty(dir / "out"));
  // Files left by a killed run do not matter.
  write_bytes(dir / "out/.partial/train-00000-of-00008", "x", 1);
  make_tfrecord(dir / "from", dir / "out");
  EXPECT_EQ(tree(dir / "out").size(), 2u);
}

TEST(MakeTFRecord, LeavesOutAFileThatIsGoneWhenItsTurnComes) {
  const TempDir dir;
  write_folders(dir / "from/train", 1, 3);
  write_folders(dir / "from/val", 1, 2);
  const std::string gone = dir / "from/val/class_a/101.jpg";
  const MakeTFRecordReport report = make_tfrecord(
      dir / "from", dir / "out", {.progress = [&](std::int64_t, std::int64_t) { std::filesystem::remove(gone); }});
  EXPECT_EQ(report.validation_records, 1);
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_EQ(report.unreadable[0].file, gone);
}

TEST(MakeTFRecord, WritesIntoFoldersWhoseNamesLookLikePatterns) {
  const TempDir dir;
  write_folders(dir / "from/train", 2, 3);
  write_folders(dir / "from/val", 2, 1);
  make_tfrecord(dir / "from", dir / "r[1]");
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "r[1]"), "is there already");
  EXPECT_EQ(open_source(dir / "r[1]").size(), 6);
  EXPECT_EQ(open_source(dir / "r[1]", "val").size(), 2);
}

TEST(MakeTFRecord, PacksTrainingAloneAndWhatStandsForValidation) {
  const TempDir dir;
  write_folders(dir / "from/train", 2, 3);
  const MakeTFRecordReport alone = make_tfrecord(dir / "from", dir / "alone");
  EXPECT_EQ(alone.train_records, 6);
  EXPECT_EQ(alone.validation_records, 0);
  EXPECT_EQ(alone.files.size(), 1u);
  EXPECT_ERROR(open_source(dir / "alone", "val"), "has no part 'val'");
  write_folders(dir / "from/test", 2, 1);
  const MakeTFRecordReport test = make_tfrecord(dir / "from", dir / "test");
  EXPECT_EQ(test.validation_records, 2);
  ASSERT_EQ(test.notes.size(), 1u);
  EXPECT_TRUE(test.notes[0].starts_with("validation is read from test/")) << test.notes[0];
}

TEST(MakeTFRecord, ValidationHasTheLabelsThatTrainingGivesItsClasses) {
  const TempDir dir;
  write_folders(dir / "from/train", 3, 2);
  write_folders(dir / "from/val", 3, 1);
  write_folders(dir / "from/test", 3, 1);
  std::filesystem::remove_all(dir / "from/val/class_b");
  const MakeTFRecordReport report = make_tfrecord(dir / "from", dir / "out");
  EXPECT_EQ(report.validation_records, 2);
  EXPECT_EQ(report.notes, (std::vector<std::string>{"not used: test/ (3 images; evaluate --split=test)",
                                                    "warning: validation has no image of 'class_b'"}));
  const Dataset val = open_source(dir / "out", "val");
  Iterator rows(val.map(Resize({8, 8})).batch(2));
  const Tensor labels = rows.next()->label();
  EXPECT_EQ(labels.data<std::int32_t>()[0], 0);
  EXPECT_EQ(labels.data<std::int32_t>()[1], 2);
}

TEST(MakeTFRecord, RefusesWhatCannotBePacked) {
  const TempDir dir;
  EXPECT_ERROR(make_tfrecord(dir / "absent", dir / "out"), "no such directory: " + (dir / "absent"));
  write_folders(dir / "from/train", 2, 3);
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "out", {.validation_shards = 2}), "2 validation shards of nothing");
  std::filesystem::create_directories(dir / "from/val/class_a");
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "out"), "no images in class folder " + (dir / "from/val/class_a"));
  write_folders(dir / "from/val", 3, 1);
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "out"),
               "val/ has a class, 'class_c', that the training does not know: did you mean 'class_a'?");
  std::filesystem::remove_all(dir / "from/val/class_c");
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "out", {.train_shards = 7}), "7 shards for 6 images");
  make_tfrecord(dir / "from", dir / "out");
  EXPECT_ERROR(make_tfrecord(dir / "from", dir / "out"), "is there already");
}

}  // namespace
}  // namespace ridgeline::data::testing
