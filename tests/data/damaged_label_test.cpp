// The label base is detected from records that may be damaged; damage is reported when they are read.
#include "ridgeline/core/file.h"
#include "ridgeline/data/tool/inspect.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "tests/data/helpers.h"

namespace ridgeline::data::testing {
namespace {

const std::vector<std::uint8_t> kJpeg = image::encode_jpeg(picture(24, 24, 1), 90);

// Records with these labels; those numbered in `damaged` have a flipped byte.
void write_records(const std::string& path, const std::vector<std::int64_t>& labels,
                   const std::vector<std::size_t>& damaged = {}) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  TFRecordWriter writer(path);
  for (const std::int64_t label : labels) {
    writer.write(ExampleBuilder()
                     .bytes("image/encoded", {reinterpret_cast<const char*>(kJpeg.data()), kJpeg.size()})
                     .int64s("image/class/label", label)
                     .serialize());
  }
  writer.close();
  std::string bytes = read_file(path);
  const TFRecordFile file(path);
  for (const std::size_t i : damaged) bytes[file.offset(i) + 100] ^= 0x10;
  if (!damaged.empty()) write_bytes(path, bytes.data(), bytes.size());
}

TEST(DamagedLabel, TheOtherRecordsOfTheFirstFileAreRead) {
  const TempDir dir;
  write_records(dir / "train-0", {1, 2, 3, 1, 2, 3}, {2});
  for (const BadSamplePolicy policy : {BadSamplePolicy::skip, BadSamplePolicy::replace}) {
    const Dataset source = TFRecord(dir / "train-0");
    Iterator it(source.map(Resize({8, 8})).batch(3), {.workers = 2, .bad_samples = {.policy = policy}});
    int batches = 0;
    while (it.next()) ++batches;
    EXPECT_EQ(batches, 2);
    EXPECT_GE(it.bad_samples(), 1);  // the replacement may be drawn to be the same sample
    EXPECT_EQ(source.label_base(), 1);
  }
  Iterator it(TFRecord(dir / "train-0").map(Resize({8, 8})).batch(3), {.workers = 2});
  EXPECT_NE(error_of([&] { it.next(); }).find("train-0: record 2 at byte"), std::string::npos);
}

TEST(DamagedLabel, TheNextFileTellsWhatTheFirstOneCannot) {
  const TempDir dir;
  write_records(dir / "a-0", {0, 1, 2}, {0});
  write_records(dir / "a-1", {2, 0, 1});
  EXPECT_EQ(TFRecord(dir / "a-*").label_base(), 0);
  write_records(dir / "a-1", {1, 2, 3});
  EXPECT_EQ(TFRecord(dir / "a-*").label_base(), 1);
  // inspect reports what training will do.
  for (const std::int64_t label : {0, 1}) {
    write_records(dir / ("set" + std::to_string(label) + "/train-0"), {1, 2, 3}, {1});
    write_records(dir / ("set" + std::to_string(label) + "/train-1"), {1, label, 2});
    EXPECT_EQ(inspect(dir / ("set" + std::to_string(label))).parts[0].label_base, label);
    EXPECT_EQ(TFRecord(dir / ("set" + std::to_string(label) + "/train-*")).label_base(), label);
  }
}

TEST(DamagedLabel, WithoutAnyReadableLabelThereIsNoBase) {
  const TempDir dir;
  write_records(dir / "train-0", {1, 2}, {0, 1});
  EXPECT_ERROR(TFRecord(dir / "train-0").label_base(),
               "[tfrecord] " + (dir / "train-0") + ": record 0 at byte 0 has a wrong checksum");
}

}  // namespace
}  // namespace ridgeline::data::testing
