// Real images and catalogues through the formats that the data engine packs and reads.
#include <map>

#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/tar_samples.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/text/csv.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

const std::string kShard = "tfrecord/inception-rounaksalim";

std::vector<std::string> shards() { return glob_files(pack_path(kShard) + "/*"); }

TEST(PackingRealData, PackedRowsAreTheRecordsImages) {
  SKIP_WITHOUT(pack_path(kShard));
  const TempFolder folder;
  for (const std::string& shard : shards()) {
    SCOPED_TRACE(shard);
    const TFRecordFile file(shard);
    PackedWriter writer(folder.file("p"), {{{"image", DType::bytes, {}}, {"label", DType::i64, {}}}, {}});
    for (std::size_t i = file.size(); i-- > 0;) {
      const std::string record = record_of(file, i);
      const Example example(as_bytes(record));
      const std::int64_t label = example.one_int64("image/class/label");
      writer.add(i, std::array<PackedValue, 2>{{{as_bytes(example.one_bytes("image/encoded"))},
                                                {{reinterpret_cast<const std::uint8_t*>(&label), 8}}}});
    }
    writer.finish(file.size());
    const PackedFile packed(folder.file("p"));
    ASSERT_EQ(packed.size(), file.size());
    PackedRow row;
    for (std::size_t i = 0; i < file.size(); ++i) {
      const std::string record = record_of(file, i);
      const Example example(as_bytes(record));
      packed.read(i, row);
      EXPECT_EQ(as_text(row[0].bytes), example.one_bytes("image/encoded"));
      EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(row[1].bytes.data()), example.one_int64("image/class/label"));
    }
  }
}

TEST(PackingRealData, SamplesOfAnArchiveAreTheRecordsImages) {
  SKIP_WITHOUT(pack_path(kShard));
  const TempFolder folder;
  const TFRecordFile file(shards().at(0));
  TarWriter writer(folder.file("t.tar"));
  for (std::size_t i = 0; i < file.size(); ++i) {
    const std::string record = record_of(file, i);
    const Example example(as_bytes(record));
    writer.add("fruit/" + std::to_string(i) + ".jpg", example.one_bytes("image/encoded"));
    writer.add("fruit/" + std::to_string(i) + ".cls", std::to_string(example.one_int64("image/class/label")));
  }
  writer.finish();
  const TarSamples samples(folder.file("t.tar"));
  ASSERT_EQ(samples.size(), file.size());
  std::string storage;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const std::string record = record_of(file, i);
    const Example example(as_bytes(record));
    EXPECT_EQ(as_text(samples.field(i, "jpg", storage)), example.one_bytes("image/encoded"));
    EXPECT_EQ(as_text(samples.field(i, "cls", storage)), std::to_string(example.one_int64("image/class/label")));
  }
}

TEST(PackingRealData, TheCatalogueOfRecordsReadsAsCsv) {
  const std::string path = pack_path("CATALOG-tfrecord.tsv");
  SKIP_WITHOUT(path);
  const CsvFile catalogue(path, {.delimiter = '\t'});
  ASSERT_EQ(catalogue.columns().size(), 12u);
  std::map<std::string, TFRecordFile> files;
  CsvRow row;
  for (std::size_t i = catalogue.size(); i-- > 0;) {
    catalogue.read(i, row);
    const std::string name(row.text(0));
    if (!files.contains(name)) files.emplace(name, TFRecordFile(pack_path(name)));
    EXPECT_EQ(static_cast<std::uint64_t>(row.i64(2)), files.at(name).length(static_cast<std::size_t>(row.i64(1))));
  }
  EXPECT_EQ(files.size(), 23u);
}

}  // namespace
}  // namespace ridgeline
