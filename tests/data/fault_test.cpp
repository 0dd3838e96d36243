// Bad data, and runs that end early.
#include <atomic>

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data::testing {
namespace {

std::string jpeg_text(std::uint64_t seed) {
  const std::vector<std::uint8_t> bytes = image::encode_jpeg(picture(40, 50, seed), 90);
  return {bytes.begin(), bytes.end()};
}

// Ten records with labels 1..10; the callback may change each before it is written.
std::string write_records(const std::string& path, const std::function<void(int, ExampleBuilder&)>& change = nullptr) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  TFRecordWriter writer(path);
  for (int i = 0; i < 10; ++i) {
    ExampleBuilder example;
    example.bytes("image/encoded", jpeg_text(static_cast<std::uint64_t>(i))).int64s("image/class/label", i + 1);
    if (change) change(i, example);
    writer.write(example.serialize());
  }
  writer.close();
  return path;
}

Dataset small(const Dataset& source) { return source.map(Resize({8, 8})).batch(2); }

// The message of the first error of a run, and how many batches came before it.
std::pair<std::string, int> run_to_error(const Dataset& data, IteratorOptions options) {
  Iterator it(data, std::move(options));
  int batches = 0;
  const std::string first = error_of([&] {
    while (it.next()) ++batches;
  });
  EXPECT_EQ(error_of([&] { it.next(); }), first) << "the error stays where it is";
  return {first, batches};
}

TEST(Faults, ACorruptJpegIsTheErrorOfItsOwnRecordInOrder) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 10);
  const std::string bad = folder + "/class_a/105.jpg";
  std::string bytes = read_file(bad);
  bytes.resize(bytes.size() / 2);
  write_bytes(bad, bytes.data(), bytes.size());
  const std::string expected = run_to_error(small(ImageFolder(folder)), {.pull = true}).first;
  EXPECT_NE(expected.find("[image_folder] " + bad + ": [jpeg]"), std::string::npos) << expected;
  EXPECT_NE(expected.find("(in decode)"), std::string::npos) << expected;
  for (const int workers : {1, 2, 7}) {
    const auto [message, batches] = run_to_error(small(ImageFolder(folder)), {.workers = workers});
    EXPECT_EQ(message, expected);
    EXPECT_EQ(batches, 2);  // record 5 is in the third batch
  }
}

TEST(Faults, TheFirstOfSeveralBadRecordsIsReported) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 1, 16);
  for (const char* name : {"103", "104", "112"}) write_bytes(folder + "/class_a/" + name + ".jpg", "no", 2);
  for (const int workers : {2, 7}) {
    const auto [message, batches] =
        run_to_error(ImageFolder(folder).map(Resize({8, 8})).batch(16), {.workers = workers});
    EXPECT_NE(message.find("/103.jpg: "), std::string::npos) << message;
    EXPECT_EQ(batches, 0);
  }
}

TEST(Faults, AWrongExtensionIsDecidedByContent) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 1, 1);
  const std::string as_jpg = read_file(folder + "/class_a/100.jpg");
  write_bytes(folder + "/class_a/101.png", as_jpg.data(), as_jpg.size());
  Iterator it(small(ImageFolder(folder)), {.pull = true});
  const auto batch = it.next();
  EXPECT_EQ(std::memcmp(batch->image().raw(), batch->image().data<std::uint8_t>() + 192, 192), 0);
}

TEST(Faults, FoldersWithoutClassesOrImagesAreNamed) {
  const TempDir dir;
  EXPECT_ERROR(ImageFolder(dir / "absent").size(), "no such directory: " + (dir / "absent"));
  std::filesystem::create_directories(dir / "empty");
  EXPECT_ERROR(ImageFolder(dir / "empty").size(), "no class folders in " + (dir / "empty"));
  write_folders(dir / "train", 1, 1);
  write_bytes(dir / "train/class_b/notes.txt", "x", 1);
  EXPECT_ERROR(ImageFolder(dir / "train").size(), "no images in class folder " + (dir / "train/class_b") +
                                                      " (looked for .jpg, .jpeg, .jfif, .jpe, .png, .webp");
  write_bytes(dir / "file", "x", 1);
  EXPECT_ERROR(ImageFolder(dir / "file").size(), "not a directory");
}

TEST(Faults, ATruncatedTFRecordNamesFileRecordAndByte) {
  const TempDir dir;
  const std::string path = write_records(dir / "train-0");
  const std::uint64_t offset = TFRecordFile(path).offset(9);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  EXPECT_ERROR(TFRecord(path).size(), path + ": record 9 at byte " + std::to_string(offset));
}

TEST(Faults, AFlippedByteNamesFileRecordAndByte) {
  const TempDir dir;
  const std::string path = write_records(dir / "train-0");
  const std::uint64_t offset = TFRecordFile(path).offset(4);
  std::string bytes = read_file(path);
  bytes[offset + 600] ^= 0x10;
  write_bytes(path, bytes.data(), bytes.size());
  const auto [message, batches] = run_to_error(small(TFRecord(path, {.label_base = LabelBase::one})), {.workers = 3});
  EXPECT_NE(message.find(path + ": record 4 at byte " + std::to_string(offset)), std::string::npos) << message;
  EXPECT_EQ(batches, 2);
}

TEST(Faults, LabelsOutsideTheClassesNameTheirRecord) {
  const TempDir dir;
  const std::string path = write_records(dir / "train-0");
  const auto message = [&](TFRecordOptions options) {
    return run_to_error(small(TFRecord(path, options)), {.workers = 2}).first;
  };
  EXPECT_NE(message({.num_classes = 9}).find(path + ": record 9 at byte"), std::string::npos)
      << message({.num_classes = 9});
  EXPECT_NE(message({.num_classes = 9}).find("label 9 (stored as 10, label base 1) is outside the 9 classes"),
            std::string::npos);
  EXPECT_EQ(message({.num_classes = 10}), "");
  const std::string zero =
      write_records(dir / "zero-0", [](int i, ExampleBuilder& e) { e.int64s("image/class/label", i); });
  EXPECT_EQ(TFRecord(zero).label_base(), 0);
  EXPECT_NE(run_to_error(small(TFRecord(zero, {.label_base = LabelBase::one})), {.pull = true})
                .first.find("label 0 is below the label base 1"),
            std::string::npos);
}

TEST(Faults, MissingAndMistypedKeysNameRecordAndKey) {
  const TempDir dir;
  const std::string other = dir / "other-0";
  {
    TFRecordWriter writer(other);
    writer.write(ExampleBuilder().bytes("picture", jpeg_text(1)).int64s("class", 1).serialize());
    writer.close();
  }
  EXPECT_ERROR(TFRecord(other).label_base(),
               "record 0 at byte 0: no key 'image/class/label'; its keys are class, picture");
  EXPECT_ERROR(replay(TFRecord(other, {.label_base = LabelBase::zero}), 0, 0), "no key 'image/encoded'");
  const std::string typed = write_records(dir / "typed-0", [](int i, ExampleBuilder& e) {
    if (i == 3) e.floats("image/class/label", {1.0f});
  });
  EXPECT_ERROR(replay(TFRecord(typed, {.label_base = LabelBase::one}), 0, 3), "record 3 at byte");
  const std::string boxes =
      write_records(dir / "boxes-0", [](int, ExampleBuilder& e) { e.floats("image/object/bbox/ymin", {0.1f}); });
  EXPECT_ERROR(replay(TFRecord(boxes, {.label_base = LabelBase::one}), 0, 0), "have different lengths: 1, 0, 0, 0");
}

TEST(Faults, BoundingBoxesSteerTheCrop) {
  const TempDir dir;
  const auto box = [](int, ExampleBuilder& e) {
    e.floats("image/object/bbox/ymin", {0.9f}).floats("image/object/bbox/xmin", {0.9f});
    e.floats("image/object/bbox/ymax", {1.0f}).floats("image/object/bbox/xmax", {1.0f});
  };
  const std::string with = write_records(dir / "with-0", box), without = write_records(dir / "without-0");
  const auto crops = [](const std::string& path, double covered) {
    Iterator it(
        TFRecord(path).map(RandomResizedCrop(8, {.scale = {0.05, 0.3}, .min_object_covered = covered})).batch(10),
        {.pull = true});
    return digest(it);
  };
  EXPECT_NE(crops(with, 0.5), crops(without, 0.5));
  EXPECT_EQ(crops(with, 0.0), crops(without, 0.0));
}

TEST(Faults, AWorkersErrorDoesNotKeepTheIteratorFromEnding) {
  static std::atomic<bool> failed{false};
  register_function("fails at the last row", [](const Tensor& x) {
    if (x.at(0) != 7) return x.clone();
    failed = true;
    throw Error("seven");
  });
  const int before = threads_now();
  {
    const Iterator it(rows_in_memory(8).map_columns({"label"}, {Function("fails at the last row")}).batch(2),
                      {.workers = 3});
    wait_until([&] { return failed.load(); });
  }  // nobody has requested the batch of that row
  EXPECT_EQ(threads_now(), before) << "workers are left";
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(Faults, AThousandStartsAndStopsMidEpochLeaveNoThreadAndNoMemory) {
  const TempDir dir;
  const Dataset data = ImageFolder(write_folders(dir / "train", 2, 10))
                           .shuffle()
                           .map(RandomResizedCrop(16), RandomHorizontalFlip())
                           .batch(2);
  const int before = threads_now();
  std::int64_t memory = 0;
  for (int i = 0; i < 1000; ++i) {
    if (i == 200) memory = resident_bytes();  // the allocator's caches have settled
    Iterator it(data, {.workers = 1 + i % 4, .epochs = kForever});
    for (int k = 0; k < i % 5; ++k) ASSERT_TRUE(it.next().has_value());
  }
  EXPECT_EQ(threads_now(), before);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Sanitizers delay the reuse of freed memory; the address sanitizer reports leaks itself.
  EXPECT_LT(resident_bytes() - memory, std::int64_t{16} << 20);
#else
  (void)memory;
#endif
}

// An iterator that is destroyed completes neither the current batch nor later ones.
TEST(Faults, StoppingFromAnyStateMakesNoFurtherRow) {
  static std::atomic<int> rows{0};
  register_function("counts its rows", [](const Tensor& x) {
    ++rows;
    return x.clone();
  });
  constexpr int kBatch = 10, kSlots = 4, kWorkers = 4;
  const Dataset data =
      rows_in_memory(1000).shuffle().map_columns({"label"}, {Function("counts its rows")}).batch(kBatch);
  const auto start = [&] {
    rows = 0;
    return std::make_unique<Iterator>(data, IteratorOptions{.workers = kWorkers, .slots = kSlots, .epochs = kForever});
  };
  start().reset();  // at once
  EXPECT_LE(rows, kSlots * kBatch);

  auto it = start();  // with a lent batch, whose slot outlives the iterator
  std::optional<Batch> lent = it->next();
  it.reset();
  EXPECT_LE(rows, (kSlots + 1) * kBatch);
  EXPECT_EQ(lent->index(), 0u);

  it = start();  // with all slots full
  wait_until([&] { return rows == kSlots * kBatch; });
  it.reset();
  EXPECT_EQ(rows, kSlots * kBatch);
}

}  // namespace
}  // namespace ridgeline::data::testing
