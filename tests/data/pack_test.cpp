// Real records written by other programs.
#include <map>
#include <sstream>

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data::testing {
namespace {

struct StoredRow {
  std::string file;
  std::size_t record = 0;
  std::int64_t label = 0, boxes = 0, image_bytes = 0;
};

// The rows of the catalogue for files whose names start with this, in order.
std::vector<StoredRow> catalogue(const std::string& prefix) {
  std::istringstream text(read_file(pack() + "/CATALOG-tfrecord.tsv"));
  std::vector<StoredRow> rows;
  for (std::string line; std::getline(text, line);) {
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '\t');) cells.push_back(cell);
    if (!cells[0].starts_with(prefix)) continue;
    rows.push_back({cells[0], std::stoul(cells[1]), std::stoll(cells[5]), cells[9] == "-" ? 0 : std::stoll(cells[9]),
                    std::stoll(cells[10])});
  }
  return rows;
}

void expect_catalogue(const Dataset& data, const std::string& prefix, int base) {
  const std::vector<StoredRow> rows = catalogue(prefix);
  ASSERT_FALSE(rows.empty());
  ASSERT_EQ(data.size(), static_cast<std::int64_t>(rows.size()));
  EXPECT_EQ(data.label_base(), base);
  const Source& source = source_of(*sources_of(data.graph())[0]);
  Record record;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    source.read(i, record);
    EXPECT_EQ(record.label, rows[i].label - base) << rows[i].file << " " << rows[i].record;
    EXPECT_EQ(record.cells[0].bytes, static_cast<std::size_t>(rows[i].image_bytes));
    EXPECT_EQ(record.objects.size(), static_cast<std::size_t>(rows[i].boxes));
    EXPECT_NE(source.origin(i).find(rows[i].file + ": record " + std::to_string(rows[i].record)), std::string::npos)
        << source.origin(i);
  }
}

TEST(Pack, SlimFlowersEqualsTheCatalogueAndHasLabelZero) {
  REQUIRE_PACK();
  expect_catalogue(TFRecord(pack() + "/tfrecord/slim-flowers/*.tfrecord"), "tfrecord/slim-flowers/", 0);
}

TEST(Pack, InceptionRecordsEqualTheCatalogueAndCountFromOne) {
  REQUIRE_PACK();
  const Dataset train = TFRecord(pack() + "/tfrecord/inception-rounaksalim/train-*", {.num_classes = 5});
  expect_catalogue(train, "tfrecord/inception-rounaksalim/train", 1);
  const LabelBase base = train.label_base() == 0 ? LabelBase::zero : LabelBase::one;
  expect_catalogue(TFRecord(pack() + "/tfrecord/inception-rounaksalim/validation-*", {.label_base = base}),
                   "tfrecord/inception-rounaksalim/validation", 1);
}

TEST(Pack, FakeImagenetEqualsTheCatalogueAndHasLabelZero) {
  REQUIRE_PACK();
  const std::string dir = pack() + "/tfrecord/tf-benchmarks-fake-imagenet/";
  expect_catalogue(TFRecord(dir + "train-*"), "tfrecord/tf-benchmarks-fake-imagenet/train", 0);
  expect_catalogue(TFRecord(dir + "validation-*"), "tfrecord/tf-benchmarks-fake-imagenet/validation", 0);
}

TEST(Pack, RecordsOfAllThreeSetsDecodeAndBatch) {
  REQUIRE_PACK();
  for (const char* files :
       {"slim-flowers/*.tfrecord", "inception-rounaksalim/train-*", "tf-benchmarks-fake-imagenet/train-*"}) {
    const Dataset data = TFRecord(pack() + "/tfrecord/" + files)
                             .shuffle()
                             .map(RandomResizedCrop(32), RandomHorizontalFlip(), Normalize::imagenet())
                             .batch(32);
    Iterator pull(data, {.pull = true}), workers(data, {.workers = 3});
    EXPECT_EQ(digest(pull), digest(workers));
  }
}

TEST(Pack, RecordsThatCallThemImageAndLabelAreRead) {
  REQUIRE_PACK();
  const Dataset data = TFRecord(pack() + "/tfrecord/mindspore-3-images/*.data");
  EXPECT_EQ(data.label_base(), 0);
  Iterator rows(data.map(Resize({8, 8})).batch(data.size()), {.pull = true});
  EXPECT_EQ(rows.next()->rows(), 3);
}

TEST(Pack, CompressedFilesGiveTheRecordsOfThePlainOne) {
  REQUIRE_PACK();
  const std::string stem = pack() + "/tfrecord/mindspore-gz-zlib/test1.data";
  // Their records are not images; what matters is that all three are opened and refused at the same record.
  for (const char* tail : {"", ".gz", ".zlib"}) {
    const Dataset data = TFRecord(stem + tail, {.label_base = LabelBase::zero});
    EXPECT_EQ(data.size(), 10);
    EXPECT_ERROR(replay(data, 0, 7), "record 7 at byte");
  }
}

TEST(Pack, MnistIdxIsReadWithItsLabels) {
  REQUIRE_PACK();
  const std::string dir = pack() + "/mnist-idx/";
  std::string images, labels;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    (entry.path().filename().string().find("images") != std::string::npos ? images : labels) = entry.path().string();
  }
  const Dataset data = Idx(images, labels);
  EXPECT_EQ(data.size(), 10000);
  EXPECT_EQ(data.num_classes(), 10);
  EXPECT_EQ(to_string(data.columns()), "image u8[28,28,1], label i32[]");
  Iterator it(data.map(Resize({32, 32}), Normalize({0.1307}, {0.3081})).batch(4), {.pull = true});
  const auto batch = it.next();
  const std::vector<std::int32_t> first{7, 2, 1, 0};  // of the test set, as in many tutorials
  for (int i = 0; i < 4; ++i) EXPECT_EQ(batch->label().data<std::int32_t>()[i], first[static_cast<std::size_t>(i)]);
  EXPECT_FLOAT_EQ(batch->image().data<float>()[0], static_cast<float>(-0.1307 / 0.3081));
}

TEST(Pack, ImageFoldersWithGreyPicturesGiveRgb) {
  REQUIRE_PACK();
  const Dataset data = ImageFolder(pack() + "/imagenette224/val");
  EXPECT_EQ(data.num_classes(), 10);
  EXPECT_EQ(data.size(), 400);
  Iterator it(data.map(Resize(72), CenterCrop(64)).batch(50), {.workers = 2});
  std::int64_t samples = 0;
  while (const auto batch = it.next()) samples += batch->samples();
  EXPECT_EQ(samples, 400);
}

}  // namespace
}  // namespace ridgeline::data::testing
