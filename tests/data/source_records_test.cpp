// Files with many records: TFRecord, typed examples, tar, packed.
#include <functional>
#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/tar.h"
#include "ridgeline/format/record/tfrecord.h"
#include "source_rules.h"

namespace ridgeline::data::testing {
namespace {

// `count` records from number `first` on: x floats, y i64, name text, and the keys that TFRecord needs.
void write_records(const std::string& path, int first, int count, Compression compression = Compression::none) {
  TFRecordWriter writer(path, compression);
  for (int i = first; i < first + count; ++i) {
    const auto jpeg = image::encode_jpeg(picture(20, 30, static_cast<std::uint64_t>(i)), 90);
    ExampleBuilder example;
    example.bytes("image/encoded", std::string_view(reinterpret_cast<const char*>(jpeg.data()), jpeg.size()))
        .int64s("image/class/label", 1 + i % 4)
        .floats("x", {static_cast<float>(i), 0.5f})
        .bytes("name", "n" + std::to_string(i));
    writer.write(example.serialize());
  }
  writer.close();
}

TEST(RecordSources, TFRecordsAndExamplesKeepTheRules) {
  const TempDir dir;
  write_records(dir / "a-0", 0, 5);
  write_records(dir / "a-1", 5, 1, Compression::gzip);
  write_records(dir / "a-2", 6, 6, Compression::zlib);
  const Dataset records = TFRecord(dir / "a-*", {.label_base = LabelBase::one, .num_classes = 4});
  const Dataset examples = Examples(
      {dir / "a-*"},
      {.columns = {"name", "image/class/label", "x"}, .label = "image/class/label", .label_base = 1, .num_classes = 4});
  expect_rules(records, 12);
  expect_rules(examples, 12);
  EXPECT_EQ(digest(rows_of(records), {"label"}), digest(rows_of(examples), {"label"}));
  EXPECT_EQ(text_of(rows_of(examples)[7], "name"), "n7");
  EXPECT_EQ(rows_of(examples)[7].at("x").data<float>()[0], 7);
  EXPECT_EQ(to_string(examples.columns()),
            to_string(Schema{
                {"name", DType::bytes, Shape{}}, {"label", DType::i32, Shape{}}, {"x", DType::f32, Shape{kVaries}}}));
  EXPECT_EQ(source_of(examples.graph().output()).label_of(6), 2);
  EXPECT_EQ(examples.num_classes(), 4);
  for (const auto& make : std::vector<std::function<Dataset()>>{[&] { return TFRecord(dir / "a-*"); },
                                                                [&] { return Examples({dir / "a-*"}); }}) {
    expect_fingerprint_follows(make, [&] { write_records(dir / "a-1", 5, 2); });
    write_records(dir / "a-1", 5, 1);
  }
}

// A default in the schema file becomes a value of the rows.
TEST(RecordSources, AnotherSchemaFileIsOtherRowsForTheCache) {
  const TempDir dir;
  write_records(dir / "a", 0, 3);
  const auto schema = [&](int fallback) {
    write_text(dir / "schema.json", R"({"columns":{"absent":{"type":"int64","rank":1,"shape":[1],"default":)" +
                                        std::to_string(fallback) + "}}}");
  };
  const auto make = [&] { return Examples({dir / "a"}, {.schema = dir / "schema.json"}); };
  schema(7);
  expect_fingerprint_follows(make, [&] { touch(dir / "a"); });
  const auto cached = [&] {
    Iterator it(make().cache({.directory = dir / "kept"}).project({"absent"}).batch(3), {.pull = true});
    return static_cast<std::int64_t>(it.next()->column("absent").at(0));
  };
  EXPECT_EQ(cached(), 7);
  expect_fingerprint_follows(make, [&] {
    schema(8);
    touch(dir / "schema.json");
  });
  EXPECT_EQ(cached(), 8);
}

TEST(RecordSources, ABadRecordIsTheErrorOfItsOwnRow) {
  const TempDir dir;
  write_records(dir / "a", 0, 6);
  std::string bytes = read_file(dir / "a");
  const std::uint64_t third = TFRecordFile(dir / "a").offset(3);
  bytes[third + 20] ^= 1;
  write_text(dir / "b", bytes);
  const std::string place = (dir / "b") + ": record 3 at byte " + std::to_string(third);
  for (const Dataset& source : {TFRecord(dir / "b", {.label_base = LabelBase::one}), Examples({dir / "b"})}) {
    const std::string error = run_error(source, 3);
    EXPECT_TRUE(error.starts_with("[tfrecord] " + place + " has a wrong checksum")) << error;
  }
  EXPECT_EQ(run_error(TFRecord(dir / "a", {.label_base = LabelBase::one, .num_classes = 3}), 3),
            "[tfrecord] " + (dir / "a") + ": record 3 at byte " + std::to_string(third) +
                ": label 3 (stored as 4, label base 1) is outside the 3 classes");
  EXPECT_EQ(run_error(Examples({dir / "a"}, {.label = "image/class/label", .num_classes = 4}), 3),
            "[example] " + (dir / "a") + ": record 3 at byte " + std::to_string(third) +
                ": label 4 (stored as 4, label base 0) is outside the 4 classes");
  EXPECT_ERROR(Examples({dir / "a"}, {.columns = {"nam"}}), "did you mean 'name'?");
  EXPECT_ERROR(Examples({dir / "a"}, {.columns = {"x", "x"}}), "the column 'x' is wanted twice");
  EXPECT_ERROR(Examples({dir / "a"}, {.label = "name"}), "the label must be one integer");
  EXPECT_ERROR(Examples({dir / "a"}, {.label_base = 1}), "need label");
  EXPECT_ERROR(Examples({dir / "a"}, {.label = "image/class/label", .label_base = -1}), "label_base is -1");
}

TEST(ShardingByFile, EveryFileBelongsToOnePart) {
  const TempDir dir;
  for (int i = 0; i < 5; ++i) write_records(dir / ("a-" + std::to_string(i)), 10 * i, i + 1);
  write_text(dir / "schema.json", R"({"columns":{"name":{"type":"string","rank":0}}})");
  std::multiset<std::string> names;
  for (std::int64_t part = 0; part < 2; ++part) {
    const Dataset data = Examples(
        {dir / "a-*"}, {.schema = dir / "schema.json", .record_files = {.file_shards = 2, .file_shard = part}});
    expect_rules(data, part == 0 ? 1 + 3 + 5 : 2 + 4);
    for (const Row& row : rows_of(data)) names.insert(text_of(row, "name"));
  }
  EXPECT_EQ(names.size(), 15u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 15u);

  // The files of other shards are not opened.
  write_text(dir / "a-1", "no records");
  const TFRecordOptions even{.label_base = LabelBase::one, .record_files = {.file_shards = 2, .file_shard = 0}};
  EXPECT_EQ(TFRecord(dir / "a-*", even).size(), 9);
  EXPECT_ERROR(
      TFRecord(dir / "a-*", {.label_base = LabelBase::one, .record_files = {.file_shards = 2, .file_shard = 1}}).size(),
      "a-1");
}

TEST(ShardingByFile, APartCannotGoOnAsAnother) {
  const TempDir dir;
  for (int i = 0; i < 4; ++i) write_records(dir / ("a-" + std::to_string(i)), 10 * i, 4 + 2 * (i % 2));
  const auto part_of = [&](std::int64_t parts, std::int64_t part) {
    return TFRecord(dir / "a-*",
                    {.label_base = LabelBase::one, .record_files = {.file_shards = parts, .file_shard = part}})
        .shuffle()
        .batch(2);
  };
  Iterator it(part_of(2, 0), {.pull = true});
  it.next();
  EXPECT_ERROR(Iterator(part_of(4, 0), {.start = it.state()}), "belongs to another data graph");
  EXPECT_ERROR(Iterator(part_of(2, 1), {.start = it.state()}), "was saved with 8 records, the source has 12");
  // Rows of all files, divided by shard, resume under any number of ranks.
  EXPECT_EQ(TFRecord(dir / "a-*").shuffle().shard(2, 0).batch(2).size(), 5);
  EXPECT_ERROR(part_of(5, 0).size(), "4 files cannot be shared out to 5 file_shards");
  EXPECT_ERROR(part_of(2, 2), "file_shard is 2, it must be below file_shards, which is 2");
  EXPECT_ERROR(TFRecord(dir / "a-*", {.record_files = {.file_shards = 2}}), "label_base auto looks at all files");
  EXPECT_ERROR(Examples({dir / "a-*"}, {.columns = {"x"}, .record_files = {.file_shards = 2}}),
               "[example] without a schema the types are those of the first record, which only one part has");
}

TEST(InflateLimit, BoundsTheMemoryAndNotTheFiles) {
  const TempDir dir;
  write_records(dir / "a-0", 0, 3, Compression::gzip);
  write_records(dir / "a-1", 3, 3, Compression::zlib);
  write_records(dir / "a-2", 6, 3);
  std::set<std::uint64_t> digests;
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{100}, std::int64_t{1} << 30}) {
    const Dataset data = Examples({dir / "a-*"}, {.columns = {"name"}, .record_files = {.inflate_limit = limit}});
    EXPECT_EQ(data.size(), 9);
    Iterator it(data.shuffle().batch(2, {.pad = true}), {.workers = 3, .epochs = 2});
    digests.insert(digest(it));
  }
  EXPECT_EQ(digests.size(), 1U);
}

TEST(RecordSources, TarAndPackedFilesGiveBackTheRecordsOfInception) {
  REQUIRE_PACK();
  const TempDir dir;
  const Dataset records = TFRecord(pack() + "/tfrecord/inception-rounaksalim/validation-*", {.num_classes = 6});
  const std::vector<Row> rows = rows_of(records);
  ASSERT_EQ(rows.size(), 125u);
  std::filesystem::create_directories(dir.path());
  TarWriter tar(dir / "a.tar");
  PackedWriter packed(dir / "a.ridge", {.columns = {{"image", DType::bytes, {}}, {"label", DType::i32, {}}},
                                        .class_names = {"a", "b", "c", "d", "e", "f"}});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string image = text_of(rows[i], "image");
    const auto label = static_cast<std::int32_t>(number_of(rows[i], "label"));
    const std::string key = "s/" + std::to_string(1000 + i);
    tar.add(key + ".jpg", image);
    tar.add(key + ".cls", std::to_string(label) + "\n");
    const PackedValue values[] = {{.bytes = {reinterpret_cast<const std::uint8_t*>(image.data()), image.size()}},
                                  {.bytes = {reinterpret_cast<const std::uint8_t*>(&label), sizeof label}}};
    packed.add(values);
  }
  tar.finish();
  packed.finish();
  const Dataset from_tar = Tar({dir / "a.tar"}, {.num_classes = 6});
  const Dataset from_packed = Packed({dir / "a.ridge"});
  const std::uint64_t expected = digest(rows, {"image", "label"});
  EXPECT_EQ(digest(rows_of(from_tar), {"image", "label"}), expected);
  EXPECT_EQ(digest(rows_of(from_packed), {"image", "label"}), expected);
  EXPECT_EQ(text_of(rows_of(from_tar)[3], "key"), "s/1003");
  EXPECT_EQ(from_packed.class_names().size(), 6u);
  EXPECT_EQ(from_packed.class_indexing()[5], (std::pair<std::string, std::int64_t>{"f", 5}));
  for (const Dataset& source : {records, from_tar, from_packed}) expect_rules(source, 125);
}

TEST(RecordSources, TarAndPackedFaultsAreTheirRows) {
  const TempDir dir;
  TarWriter tar(dir / "a.tar");
  for (const char* name : {"0.jpg", "0.cls", "1.jpg", "1.cls", "2.cls", "3.jpg"})
    tar.add(name, name == std::string("1.cls") ? "x" : "1");
  tar.finish();
  const auto error = [&](TarOptions options, int good) {
    return run_error(Tar({dir / "a.tar"}, std::move(options)), good);
  };
  const std::string place = "[tar] " + (dir / "a.tar") + ": sample ";
  EXPECT_EQ(error({}, 1),
            place +
                "1 ('1') at byte 2048: field 'cls' holds 'x', which is no class (class_names= tells the names "
                "of classes by label)");
  EXPECT_EQ(
      error({.label = ""}, 2),
      place +
          "2 ('2') at byte 4096: none of its fields is an image (looked for jpg, jpeg, jfif, jpe, png, webp, bmp, "
          "dib; it has cls)");
  EXPECT_EQ(error({.image = {}, .label = "", .fields = {"cls"}}, 3),
            place + "3 ('3') at byte 5120 has no field 'cls' (it has: jpg)");
  EXPECT_EQ(error({.num_classes = 1}, 0), place + "0 ('0') at byte 0: field 'cls' holds '1', which is no class of 1");
  const auto make = [&] { return Tar({dir / "a.tar"}); };
  expect_fingerprint_follows(make, [&] { std::filesystem::resize_file(dir / "a.tar", 1 << 15); });

  PackedWriter packed(dir / "a.ridge",
                      {.columns = {{"n", DType::i64, {}}, {"t", DType::u8, Shape{-1, 2}}}, .class_names = {}});
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::vector<std::uint8_t> t(static_cast<std::size_t>(2 * i), static_cast<std::uint8_t>(i));
    const std::int64_t extents[] = {i, 2};
    const PackedValue values[] = {{.bytes = {reinterpret_cast<const std::uint8_t*>(&i), sizeof i}},
                                  {.bytes = t, .extents = extents}};
    packed.add(values);
  }
  packed.finish();
  const Dataset data = Packed({dir / "a.ridge"}, {"t", "n"});
  expect_rules(data, 5);
  EXPECT_EQ(rows_of(data)[4].at("t").shape(), (Shape{4, 2}));
  EXPECT_EQ(number_of(rows_of(data)[4], "n"), 4);
  EXPECT_ERROR(Packed({dir / "a.ridge"}, {"m"}), "no column 'm': did you mean 'n'?");
  EXPECT_ERROR(Packed({dir / "a.ridge"}, {"n", "n"}), "the column 'n' is wanted twice");
  std::string bytes = read_file(dir / "a.ridge");
  const auto at = static_cast<std::size_t>(PackedFile(dir / "a.ridge").offset(2));
  bytes[at] ^= 1;
  write_text(dir / "b.ridge", bytes);
  const std::string fault = run_error(Packed({dir / "b.ridge"}), 2);
  EXPECT_TRUE(fault.starts_with("[packed] " + (dir / "b.ridge") + ": row 2 at byte " + std::to_string(at))) << fault;
}

TEST(RecordSources, ARowThatWasNeverPackedIsABadSample) {
  const TempDir dir;
  std::filesystem::create_directories(dir.path());
  PackedWriter writer(dir / "a.ridge", {.columns = {{"n", DType::i64, {}}}, .class_names = {}});
  for (const std::int64_t i : {0, 1, 3, 4}) {
    const PackedValue values[] = {{.bytes = {reinterpret_cast<const std::uint8_t*>(&i), sizeof i}}};
    writer.add(static_cast<std::size_t>(i), values);
  }
  writer.finish(5, PackedWriter::Missing::allowed);
  const Dataset data = Packed({dir / "a.ridge"});
  EXPECT_EQ(run_error(data, 2), "[packed] " + (dir / "a.ridge") + ": row 2 was never written");
  EXPECT_EQ(source_of(data.graph().output()).origin(2), "[packed] " + (dir / "a.ridge") + ": row 2");
  for (const BadSamplePolicy policy : {BadSamplePolicy::skip, BadSamplePolicy::replace}) {
    Iterator it(data.batch(5), {.pull = true, .bad_samples = {.policy = policy}});
    const auto batch = it.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(it.bad_samples(), 1);
    EXPECT_EQ(batch->mask().at(2), policy == BadSamplePolicy::skip ? 0 : 1);
    EXPECT_EQ(batch->column("n").at(3), 3);
  }
}

// The values of MindSpore's golden/tfrecord_files_basic.npz.
TEST(RecordSources, AllTypesOfMindSporeArriveInBatches) {
  REQUIRE_PACK();
  const std::string folder = pack() + "/tfrecord/mindspore-alltypes";
  const Dataset data = Examples({folder + "/test.data"}, {.schema = folder + "/datasetSchema.json"});
  expect_rules(data, 12);
  Iterator it(data.batch(12), {.pull = true});
  const auto batch = it.next();
  ASSERT_EQ(batch->columns().size(), 9u);  // and the mask
  const auto ends = [](std::int64_t i, std::int64_t low, std::int64_t high) {
    return i == 0 ? low : i == 11 ? high : i;
  };
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(batch->column("col_sint16").at(i)), ends(i, -32768, 32767));
    EXPECT_EQ(static_cast<std::int64_t>(batch->column("col_sint32").at(i)), ends(i, INT32_MIN, INT32_MAX));
    EXPECT_EQ(batch->column("col_sint64").data<std::int64_t>()[i], ends(i, INT64_MIN, INT64_MAX));
    EXPECT_EQ(batch->column("col_2d").data<std::int64_t>()[4 * i + 3], 4 * i + 3);
    EXPECT_EQ(batch->column("col_binary").data<std::uint8_t>()[i], 'a' + i);
  }
  EXPECT_EQ(Examples({folder + "/test.data"}, {.schema = folder + "/datasetSchema5Rows.json"}).size(), 5);
  EXPECT_EQ(
      Examples({folder + "/test.data", folder + "/test2.data"}, {.schema = folder + "/datasetSchemaNoRow.json"}).size(),
      24);
}

TEST(RecordSources, ImagesOfMindSporeDecodeUnderTheirOwnKeys) {
  REQUIRE_PACK();
  const std::string folder = pack() + "/tfrecord/mindspore-3-images";
  const Dataset data = Examples({folder + "/train-0000-of-0001.data"}, {.label = "label"});
  ASSERT_EQ(data.size(), 3);
  EXPECT_EQ(find_column(data.columns(), "image")->dtype, DType::bytes);
  Iterator it(data.map(Resize({16, 16})).batch(3), {.workers = 2});
  EXPECT_EQ(it.next()->image().shape(), (Shape{3, 16, 16, 3}));
  const Dataset typed = Examples({folder + "/train-0000-of-0001.data"}, {.schema = folder + "/datasetSchema.json"});
  const std::vector<Row> rows = rows_of(data), bytes = rows_of(typed);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bytes[i].at("image").shape()[0], static_cast<std::int64_t>(text_of(rows[i], "image").size()));
    EXPECT_EQ(number_of(bytes[i], "label"), number_of(rows[i], "label"));
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
