// Files that are truncated after they were opened: missing records are Errors, the others can be read.
#include <array>
#include <filesystem>
#include <fstream>

#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/tar_samples.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

constexpr std::size_t kRecords = 40;
const std::string kRecord(3000, 'r');  // whole pages are missing, not only some bytes

void cut(const std::string& path) { std::filesystem::resize_file(path, 10000); }

TEST(CutWhileOpen, RecordsOfATFRecordFile) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  TFRecordWriter writer(path);
  for (std::size_t i = 0; i < kRecords; ++i) writer.write(kRecord);
  writer.close();
  const TFRecordFile file(path);
  cut(path);
  EXPECT_EQ(record_of(file, 2), kRecord);
  EXPECT_EQ(error_of([&] { record_of(file, 3); }),
            "[tfrecord] " + path +
                ": record 3 at byte 9048 cannot be read: the file has been cut short at byte 10000, "
                "it had 120640 bytes when it was opened");
  EXPECT_EQ(error_of([&] { record_of(file, kRecords - 1); }),
            "[tfrecord] " + path +
                ": record 39 at byte 117624 cannot be read: the file has been cut short, it had "
                "120640 bytes when it was opened");
}

TEST(CutWhileOpen, RowsOfAPackedFile) {
  const TempFolder folder;
  const std::string path = folder.file("p");
  PackedWriter writer(path, {{{"x", DType::bytes, {}}}, {}}, R"({"made":"here"})");
  for (std::size_t i = 0; i < kRecords; ++i) writer.add(std::array<PackedValue, 1>{{{as_bytes(kRecord)}}});
  writer.finish();
  const PackedFile file(path);
  cut(path);
  EXPECT_EQ(as_text(file.row(0)[0].bytes), kRecord);
  EXPECT_TRUE(error_of([&] { file.row(kRecords - 1); })
                  .starts_with("[packed] " + path + ": row 39 at byte " + std::to_string(file.offset(kRecords - 1)) +
                               " cannot be read: the file has been cut short"));
  EXPECT_EQ(file.metadata(), R"({"made":"here"})");
  EXPECT_TRUE(file.has(kRecords - 1));
}

TEST(CutWhileOpen, TensorsOfACheckpointStay) {
  const TempFolder folder;
  const std::string path = folder.file("c");
  write_safetensors(path, {{"w", Tensor::of(std::vector<float>(30000, 7.0f), {30000})}});
  const SafetensorsFile file(path);
  cut(path);
  EXPECT_EQ(file.tensor("w").at(29999), 7.0);
}

TEST(CutWhileOpen, MembersOfAnArchive) {
  const TempFolder folder;
  const std::string path = folder.file("t");
  TarWriter writer(path);
  for (std::size_t i = 0; i < kRecords; ++i) writer.add(std::to_string(i) + ".jpg", kRecord);
  writer.finish();
  const TarSamples samples(path);
  cut(path);
  std::string storage;
  EXPECT_EQ(as_text(samples.field(0, "jpg", storage)), kRecord);
  EXPECT_TRUE(error_of([&] { samples.field(kRecords - 1, "jpg", storage); })
                  .starts_with("[tar] " + path + ": header at byte " + std::to_string(samples.offset(kRecords - 1)) +
                               " of 39.jpg cannot be read: the file has been cut short"));
  EXPECT_EQ(samples.key(kRecords - 1), "39");
}

}  // namespace
}  // namespace ridgeline
