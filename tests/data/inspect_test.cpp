// dataset inspect: what it finds, and that nothing in a folder ends it.
#include <algorithm>

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/runtime/save.h"
#include "ridgeline/data/tool/inspect.h"
#include "ridgeline/data/tool/inspect_notes.h"
#include "ridgeline/data/tool/pack.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/image/png/png.h"

namespace ridgeline::data::testing {
namespace {

bool has_note(const InspectReport& report, const std::string& part) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

std::string notes(const InspectReport& report) {
  std::string text;
  for (const std::string& note : report.notes) text += note + "\n";
  return text;
}

void write_jpeg(const std::string& path, const image::ImageView& image) {
  const std::vector<std::uint8_t> jpeg = image::encode_jpeg(image, 90);
  write_bytes(path, jpeg.data(), jpeg.size());
}

TEST(Inspect, CountsClassesSizesAndFormats) {
  const TempDir dir;
  write_jpeg(dir / "set/train/cat/1.jpg", picture(20, 40, 1));
  write_jpeg(dir / "set/train/cat/2.JPEG", picture(30, 50, 2));
  write_jpeg(dir / "set/train/dog/3.jpg", image::Image(50, 10, 1));
  const std::vector<std::uint8_t> png = image::encode_png(picture(25, 60, 4));
  write_bytes(dir / "set/train/dog/4.png", png.data(), png.size());
  write_folders(dir / "set/val", 1, 2);
  const InspectReport report = inspect(dir / "set");
  ASSERT_EQ(report.parts.size(), 2u);
  const PartReport& train = report.parts[0];
  EXPECT_EQ(train.name, "train");
  EXPECT_EQ(train.records, 4);
  EXPECT_EQ(train.files, 4);
  EXPECT_EQ(train.height.min, 20);
  EXPECT_EQ(train.height.median, 30);
  EXPECT_EQ(train.height.max, 50);
  EXPECT_EQ(train.width.min, 10);
  EXPECT_EQ(train.width.max, 60);
  EXPECT_DOUBLE_EQ(train.megapixels.max, 0.0015);
  EXPECT_EQ(train.formats, (std::map<std::string, std::int64_t>{{"JPEG", 3}, {"PNG", 1}}));
  EXPECT_EQ(train.colours, (std::map<std::string, std::int64_t>{{"colour", 3}, {"grey", 1}}));
  ASSERT_EQ(train.classes.size(), 2u);
  EXPECT_EQ(train.classes[1].name, "dog");
  EXPECT_EQ(train.classes[1].label, 1);
  EXPECT_EQ(train.classes[1].count, 2);
  EXPECT_EQ(report.broken(), 0);
  EXPECT_TRUE(has_note(report, "val lacks 2 classes of train, such as cat")) << notes(report);
  EXPECT_TRUE(has_note(report, "training and evaluation refuse val")) << notes(report);
  EXPECT_EQ(inspect(dir / "set", {.split = "val"}).parts.size(), 1u);
  EXPECT_ERROR(inspect(dir / "set", {.split = "tset"}), "unknown split");
  EXPECT_ERROR(inspect(dir / "set", {.split = "test"}), "has no part 'test'");
  EXPECT_ERROR(inspect(dir / "nowhere"), "no such directory");
}

TEST(Inspect, NamesEverythingThatIsBroken) {
  const TempDir dir;
  write_folders(dir / "set", 2, 3);
  const std::string good = read_file(dir / "set/class_a/100.jpg");
  write_bytes(dir / "set/class_a/0.jpg", "", 0);
  write_bytes(dir / "set/class_a/1.jpg", "GIF89a", 6);
  write_bytes(dir / "set/class_a/2.jpg", good.data(), good.size() / 2);  // only visible by decoding
  std::filesystem::create_directories(dir / "set/class_c");
  std::filesystem::create_symlink(dir / "gone", dir / "set/class_b/x.jpg");
  const InspectReport headers = inspect(dir / "set");
  ASSERT_EQ(headers.broken(), 4);
  const std::vector<BrokenItem>& broken = headers.parts[0].broken;
  EXPECT_EQ(broken[0].place, "class_b/x.jpg");
  EXPECT_EQ(broken[0].reason, "is a link to nothing");
  EXPECT_EQ(broken[1].place, "class_c/");
  EXPECT_NE(broken[1].reason.find("no images"), std::string::npos);
  EXPECT_EQ(broken[2].place, "class_a/0.jpg");
  EXPECT_NE(broken[2].reason.find("empty file"), std::string::npos);
  EXPECT_EQ(broken[3].place, "class_a/1.jpg");
  EXPECT_NE(broken[3].reason.find("GIF"), std::string::npos);
  EXPECT_EQ(headers.parts[0].records, 9);
  EXPECT_EQ(headers.parts[0].classes[0].count, 6);
  for (const int workers : {1, 3}) {
    const InspectReport deep = inspect(dir / "set", {.deep = true, .workers = workers});
    ASSERT_EQ(deep.broken(), 5);
    EXPECT_EQ(deep.parts[0].broken[4].place, "class_a/2.jpg");
    EXPECT_NE(deep.parts[0].broken[4].reason.find("Premature end"), std::string::npos);
  }
}

TEST(Inspect, AnAbsurdNumberOfWorkersIsRefused) {
  const TempDir dir;
  write_folders(dir / "set", 1, 1);
  const std::string message = "1000000 workers are too many (allowed: 0, one per core, to 4096)";
  EXPECT_ERROR(inspect(dir / "set", {.workers = 1000000}), message);
  EXPECT_ERROR(data::pack(dir / "set", dir / "a.ridge", {.workers = 1000000}), message);
  EXPECT_ERROR(Iterator(ImageFolder(dir / "set").batch(1), {.workers = 1000000}).next(), message);
  EXPECT_EQ(inspect(dir / "set", {.workers = 4096}).broken(), 0);
}

TEST(Inspect, FindsEqualImagesAlsoAcrossParts) {
  const TempDir dir;
  write_folders(dir / "set/train", 2, 4);
  write_folders(dir / "set/val", 2, 1, 50);
  std::filesystem::copy_file(dir / "set/train/class_a/100.jpg", dir / "set/train/class_b/again.jpg");
  std::filesystem::copy_file(dir / "set/train/class_a/102.jpg", dir / "set/val/class_a/seen.jpg");
  // Same beginning and length, but different bytes.
  std::string large(20000, 'x');
  const std::string head = read_file(dir / "set/train/class_a/103.jpg");
  write_bytes(dir / "set/train/class_a/y.jpg", (head + large).data(), head.size() + large.size());
  large.back() = 'y';
  write_bytes(dir / "set/train/class_a/z.jpg", (head + large).data(), head.size() + large.size());
  for (const bool deep : {false, true}) {
    const InspectReport report = inspect(dir / "set", {.deep = deep});
    ASSERT_EQ(report.duplicates.size(), 2u) << deep;
    EXPECT_EQ(report.duplicates[0], (std::vector<std::string>{"train/class_a/100.jpg", "train/class_b/again.jpg"}));
    EXPECT_EQ(report.duplicates[1], (std::vector<std::string>{"train/class_a/102.jpg", "val/class_a/seen.jpg"}));
    EXPECT_EQ(report.duplicates_across_parts, 1);
    EXPECT_TRUE(has_note(report, "1 image is in train and in val")) << notes(report);
  }
}

TEST(Inspect, NotesNamesThatLieFilesPassedOverAndUnequalClasses) {
  const TempDir dir;
  write_folders(dir / "set", 1, 12);
  const std::vector<std::uint8_t> png = image::encode_png(picture(25, 60, 4));
  write_bytes(dir / "set/class_b/lie.jpg", png.data(), png.size());
  write_bytes(dir / "set/class_b/readme.txt", "x", 1);
  write_bytes(dir / "set/list.txt", "x", 1);
  const InspectReport report = inspect(dir / "set");
  EXPECT_EQ(report.broken(), 0);
  EXPECT_EQ(report.parts[0].misnamed.images, 1);
  EXPECT_EQ(report.parts[0].misnamed.example, "class_b/lie.jpg");
  EXPECT_EQ(report.parts[0].not_read, 2);
  EXPECT_TRUE(has_note(report, "12 images of class_a (label 0), 1 of class_b")) << notes(report);
  EXPECT_TRUE(has_note(report, "not what their names say")) << notes(report);
  EXPECT_TRUE(has_note(report, "2 files are skipped")) << notes(report);
  write_bytes(dir / "loose/a.jpg", png.data(), png.size());
  EXPECT_TRUE(has_note(inspect(dir / "loose"), "no class folders"));
  write_bytes(dir / "text/a.txt", "x", 1);
  EXPECT_ERROR(inspect(dir / "text"), "holds no data");
  EXPECT_TRUE(inspect(dir / "set", {.split = "train"}).parts[0].name == "all");
}

void write_records(const std::string& path, const std::vector<std::int64_t>& labels) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  TFRecordWriter writer(path);
  for (const std::int64_t label : labels) {
    const std::vector<std::uint8_t> jpeg =
        image::encode_jpeg(picture(20, 30, static_cast<std::uint64_t>(label + 100)), 90);
    ExampleBuilder example;
    example.bytes("image/encoded", std::string(jpeg.begin(), jpeg.end()))
        .int64s("image/class/label", label)
        .bytes("image/class/text", "class " + std::to_string(label));
    writer.write(example.serialize());
  }
  writer.write(ExampleBuilder().int64s("image/class/label", labels[0]).serialize());
  writer.close();
}

TEST(Inspect, ReadsRecordsAsFarAsTheyGo) {
  const TempDir dir;
  write_records(dir / "set/train-00000-of-00002", {3, 4, 4, 7});
  write_records(dir / "set/train-00001-of-00002", {3, 3});
  write_records(dir / "set/validation-00000-of-00001", {0, 4});
  std::string bytes = read_file(dir / "set/train-00001-of-00002");
  write_bytes(dir / "set/train-00001-of-00002", bytes.data(), bytes.size() - 5);
  const InspectReport report = inspect(dir / "set");
  const PartReport& train = report.parts[0];
  EXPECT_EQ(train.records, 7);
  EXPECT_EQ(train.files, 2);
  ASSERT_EQ(train.broken.size(), 2u);
  EXPECT_EQ(train.broken[0].place, "train-00001-of-00002");
  EXPECT_NE(train.broken[0].reason.find("byte"), std::string::npos);
  EXPECT_NE(train.broken[1].place.find("train-00000-of-00002: record 4 at byte"), std::string::npos);
  EXPECT_NE(train.broken[1].reason.find("image/encoded"), std::string::npos);
  ASSERT_EQ(train.classes.size(), 3u);
  EXPECT_EQ(train.classes[0].label, 3);
  EXPECT_EQ(train.classes[0].name, "class 3");
  EXPECT_EQ(train.classes[0].count, 4);  // the label of a broken record counts
  EXPECT_TRUE(has_note(report, "train: labels start from 3")) << notes(report);
  EXPECT_TRUE(has_note(report, "train: 2 of the labels 3 to 7 do not occur")) << notes(report);
  EXPECT_TRUE(has_note(report, "val: labels start from 0, below the base 1")) << notes(report);
  EXPECT_TRUE(has_note(report, "train lacks 1 label of val, such as 0")) << notes(report);

  bytes = read_file(dir / "set/validation-00000-of-00001");
  bytes[bytes.size() / 4] ^= 1;
  write_bytes(dir / "flipped/validation-0", bytes.data(), bytes.size());
  const std::vector<BrokenItem> flipped = inspect(dir / "flipped").parts[0].broken;
  ASSERT_EQ(flipped.size(), 2u);
  EXPECT_EQ(flipped[0].place, "validation-0: record 0 at byte 0");
  EXPECT_TRUE(flipped[0].reason.starts_with("has a wrong checksum")) << flipped[0].reason;
  // --label_base=auto searches all files for a label 0; training reports it, too.
  write_records(dir / "zero/train-0", {0, 1});
  write_records(dir / "zero/train-1", {1, 2});
  EXPECT_TRUE(has_note(inspect(dir / "zero"), "--label_base=auto sees it"));
  EXPECT_EQ(TFRecord(dir / "zero/train-*").label_base(), 0);
  std::filesystem::rename(dir / "zero/train-0", dir / "zero/train-2");
  EXPECT_TRUE(has_note(inspect(dir / "zero"), "--label_base=auto sees it")) << "in the last file";
  EXPECT_EQ(TFRecord(dir / "zero/train-*").label_base(), 0);
  write_bytes(dir / "junk/train-0", "no records at all here, only text", 33);
  EXPECT_ERROR(inspect(dir / "junk"), "holds no data");
  write_bytes(dir / "junk/train-00000-of-00001", "no records at all here, only text", 33);
  EXPECT_EQ(inspect(dir / "junk").broken(), 1);
}

TEST(Inspect, ReadsPackedFiles) {
  const TempDir dir;
  write_folders(dir / "set", 2, 3);
  data::pack(dir / "set", dir / "all.ridge");
  const InspectReport report = inspect(dir.path());
  ASSERT_EQ(report.parts.size(), 1u);
  EXPECT_EQ(report.parts[0].layout, Layout::packed);
  EXPECT_EQ(report.parts[0].records, 6);
  EXPECT_EQ(report.parts[0].classes[1].name, "class_b");
  EXPECT_EQ(report.parts[0].classes[1].count, 3);
  EXPECT_EQ(report.broken(), 0);
}

TEST(Inspect, ReadsPackedFilesOfPixels) {
  const TempDir dir;
  const Dataset rows = ImageFolder(write_folders(dir / "set", 2, 3));
  for (const char* name : {"pixels", "planes"}) std::filesystem::create_directories(dir / name);
  save(rows.map(Resize({20, 30})), dir / "pixels/all.ridge");
  save(rows.map(Resize({12, 18}), HWC2CHW()), dir / "planes/all.ridge");
  const InspectReport pixels = inspect(dir / "pixels", {.deep = true}), planes = inspect(dir / "planes");
  EXPECT_EQ(pixels.broken() + planes.broken(), 0);
  EXPECT_EQ(pixels.parts[0].height.median, 20);
  EXPECT_EQ(pixels.parts[0].width.median, 30);
  EXPECT_EQ(planes.parts[0].height.median, 12);
  EXPECT_EQ(pixels.parts[0].formats, (std::map<std::string, std::int64_t>{{"pixels", 6}}));
  EXPECT_EQ(pixels.parts[0].colours, (std::map<std::string, std::int64_t>{{"colour", 6}}));
}

TEST(Inspect, CountsLabelsOverTheWholeRangeOfTheirType) {
  InspectReport report;
  report.parts.push_back({.name = "train",
                          .layout = Layout::records,
                          .classes = {{.label = INT64_MIN, .count = 1}, {.label = INT64_MAX, .count = 1}}});
  report.notes = notes_on(report);
  EXPECT_TRUE(has_note(report, "18446744073709551614 of the labels")) << notes(report);
}

TEST(Inspect, SurvivesEveryAwkwardFolder) {
  REQUIRE_PACK();
  for (const auto& entry : std::filesystem::directory_iterator(pack() + "/awkward")) {
    if (!entry.is_directory()) continue;
    const InspectReport headers = inspect(entry.path().string()), deep = inspect(entry.path().string(), {.deep = true});
    EXPECT_GE(deep.broken(), headers.broken()) << entry.path();
  }
  EXPECT_EQ(inspect(pack() + "/imagenette224", {.deep = true}).broken(), 0);
  const InspectReport fake = inspect(pack() + "/tfrecord/tf-benchmarks-fake-imagenet");
  EXPECT_EQ(fake.parts[0].records, 512);
  EXPECT_EQ(fake.parts[1].records, 128);
  EXPECT_EQ(fake.broken(), 0);
  EXPECT_TRUE(has_note(fake, "labels start from 0")) << notes(fake);
}

}  // namespace
}  // namespace ridgeline::data::testing
