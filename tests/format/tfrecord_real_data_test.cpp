// Records that TensorFlow and MindSpore wrote, compared with a catalogue made by other software.
#include <map>
#include <sstream>

#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "tests/support/files.h"
#include "tests/support/sha256.h"

namespace ridgeline {
namespace {

std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string part; std::getline(stream, part, '\t');) parts.push_back(part);
  return parts;
}

// A value in the format of the catalogue: "-" for an absent key.
std::string int_text(const Example& example, std::string_view key) {
  return example.has(key) ? std::to_string(example.one_int64(key)) : "-";
}

std::string or_dash(std::string text) { return text.empty() ? "-" : text; }

void expect_row(const std::vector<std::string>& row, const TFRecordFile& file) {
  const std::string record = record_of(file, std::stoul(row[1]));
  EXPECT_EQ(std::to_string(record.size()), row[2]);
  EXPECT_EQ(sha256_16(record), row[3]);
  const Example example(as_bytes(record));
  EXPECT_EQ(std::to_string(example.features().size()), row[4]);
  EXPECT_EQ(int_text(example, example.has("label") ? "label" : "image/class/label"), row[5]);
  EXPECT_EQ(example.has("image/class/text") ? or_dash(std::string(example.one_bytes("image/class/text"))) : "-",
            row[6]);
  EXPECT_EQ(int_text(example, "image/height"), row[7]);
  EXPECT_EQ(int_text(example, "image/width"), row[8]);
  const std::string_view box = "image/object/bbox/xmin";
  EXPECT_EQ(example.has(box) ? std::to_string(example.floats(box).size()) : "-", row[9]);
  const std::string_view image = example.has("image") ? "image" : "image/encoded";
  EXPECT_EQ(example.has(image) ? std::to_string(example.one_bytes(image).size()) : "-", row[10]);
  EXPECT_EQ(example.has(image) ? sha256_16(example.one_bytes(image)) : "-", row[11]);
}

TEST(TFRecordRealData, EveryRecordOfTheCatalogueAgrees) {
  const std::string catalogue = pack_path("CATALOG-tfrecord.tsv");
  SKIP_WITHOUT(catalogue);
  std::ifstream stream(catalogue);
  std::string line;
  std::getline(stream, line);  // headings
  std::map<std::string, TFRecordFile> files;
  std::map<std::string, std::size_t> counts;
  while (std::getline(stream, line)) {
    SCOPED_TRACE(line);
    const auto row = columns(line);
    ASSERT_EQ(row.size(), 12u);
    if (files.find(row[0]) == files.end()) files.emplace(row[0], TFRecordFile(pack_path(row[0])));
    expect_row(row, files.at(row[0]));
    ++counts[row[0]];
  }
  EXPECT_EQ(files.size(), 23u);
  for (const auto& [name, file] : files) EXPECT_EQ(file.size(), counts[name]) << name;
}

TEST(TFRecordRealData, PlainGzipAndZlibHoldTheSameRecords) {
  const std::string folder = pack_path("tfrecord/mindspore-gz-zlib");
  SKIP_WITHOUT(folder);
  for (int i = 1; i <= 5; ++i) {
    const std::string name = folder + "/test" + std::to_string(i) + ".data";
    const TFRecordFile plain(name);
    const TFRecordFile gzip(name + ".gz");
    const TFRecordFile zlib(name + ".zlib");
    EXPECT_EQ(plain.compression(), Compression::none);
    EXPECT_EQ(gzip.compression(), Compression::gzip);
    EXPECT_EQ(zlib.compression(), Compression::zlib);
    ASSERT_EQ(plain.size(), 10u);
    ASSERT_EQ(gzip.size(), 10u);
    ASSERT_EQ(zlib.size(), 10u);
    for (std::size_t k = 0; k < plain.size(); ++k) {
      EXPECT_EQ(record_of(plain, k), record_of(gzip, k));
      EXPECT_EQ(record_of(plain, k), record_of(zlib, k));
    }
  }
}

// The values of MindSpore's golden/tfrecord_no_schema.npz, written by their rule if they have one.
TEST(TFRecordRealData, AllNumericTypesHaveTheGoldenValues) {
  const std::string path = pack_path("tfrecord/mindspore-alltypes/test.data");
  SKIP_WITHOUT(path);
  const TFRecordFile file(path);
  ASSERT_EQ(file.size(), 12u);
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  const std::map<std::string, std::pair<std::int64_t, std::int64_t>> ends{
      {"col_sint8", {-128, 127}},
      {"col_sint16", {-32768, 32767}},
      {"col_sint32", {-2147483648, 2147483647}},
      {"col_sint64", {kLowest, std::numeric_limits<std::int64_t>::max()}}};
  const std::array<float, 12> floats{
      -3.4028234663852886e+38f, 1.33f, 2.66f, 3.99f, 5.32f, 6.65f, 7.98f, 9.31f, 10.64f, 11.97f, 13.3f,
      3.4028234663852886e+38f};
  for (std::int64_t i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    const std::string record = record_of(file, static_cast<std::size_t>(i));
    const Example example(as_bytes(record));
    for (const auto& [key, limits] : ends) {
      EXPECT_EQ(example.one_int64(key), i == 0 ? limits.first : i == 11 ? limits.second : i) << key;
    }
    for (const auto& [key, width] : {std::pair<const char*, std::int64_t>{"col_1d", 2}, {"col_2d", 4}, {"col_3d", 8}}) {
      std::vector<std::int64_t> want;
      for (std::int64_t k = 0; k < width; ++k) want.push_back(i * width + k);
      if (i == 0) want[0] = kLowest;
      EXPECT_EQ(example.int64s(key), want) << key;
    }
    EXPECT_EQ(example.one_float("col_float"), floats[static_cast<std::size_t>(i)]);
    EXPECT_EQ(example.one_bytes("col_binary"), std::string(1, static_cast<char>('a' + i)));
  }
}

TEST(TFRecordRealData, ATextFileIsRefused) {
  const std::string path = pack_path("tfrecord/mindspore-alltypes/invalidFile.txt");
  SKIP_WITHOUT(path);
  EXPECT_TRUE(contains(error_of([&] { TFRecordFile{path}; }), "[tfrecord] " + path + ": record 0 at byte 0 "));
}

}  // namespace
}  // namespace ridgeline
