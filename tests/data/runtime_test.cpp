// The result of a run does not depend on how it is executed.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/runtime/advice.h"
#include "ridgeline/data/runtime/tuner.h"
#include "ridgeline/data/runtime/worker_pool.h"
#include "ridgeline/data/sample/jpeg_indices.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/normalize.h"

namespace ridgeline::data::testing {
namespace {

Dataset training(const std::string& dir) {
  return ImageFolder(dir)
      .shuffle()
      .map(RandomResizedCrop(24), RandomHorizontalFlip(), Normalize::imagenet())
      .batch(8)
      .with_seed(5);
}

TEST(Runtime, ThreeEpochsAreEqualForEveryNumberOfWorkersAndSlotsAndInPullMode) {
  const TempDir dir;
  const Dataset data = training(write_folders(dir / "train", 3, 9));  // 27 samples: the last batch is incomplete
  Iterator reference(data, {.epochs = 3, .pull = true});
  EXPECT_EQ(reference.workers(), 0);
  const std::uint64_t expected = digest(reference);
  EXPECT_EQ(reference.stats().batches, 12u);
  for (const int workers : {1, 2, 7}) {
    for (const std::int64_t slots : {1, 2, 8}) {
      Iterator it(data, {.workers = workers, .memory_limit = slots * reference.slot_bytes(), .epochs = 3});
      EXPECT_EQ(it.workers(), workers);
      EXPECT_EQ(it.slots(), slots);
      EXPECT_EQ(digest(it), expected) << workers << " workers, " << slots << " slots";
    }
  }
  Iterator other(data, {.epochs = 3, .seed = 6, .pull = true});
  EXPECT_NE(digest(other), expected);
}

// Graphs with every kind of node: workers, slots, and changes of the number of workers must have no effect.
TEST(Runtime, EveryKindOfNodeIsIndependentOfWorkersAndTuning) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 3, 7));
  const Dataset images = folder.map(Resize({10, 9}), RandomHorizontalFlip());
  const Dataset small = rows_in_memory(19).map(Resize({10, 9}));
  const std::vector<Dataset> graphs{
      images.shuffle({.buffer = 6}).batch(4),
      images.filter(is_in("label", std::vector<double>{0, 2})).shuffle().batch(4, {.drop_remainder = true}),
      concat({images.shuffle(), small}).shuffle().batch(5),
      mix({images.shuffle(), small}, {1, 2}, {.count = 40}).batch(6),
      zip({images, small.rename({"image", "label"}, {"other", "number"}).shuffle()}).batch(4),
      folder.map(Resize(12)).batch(4, {.pad = true}),
      folder.bucket("image", {900, 1200}, {2, 3, 4}),
      folder.map(Resize({10, 9})).cache().shuffle().map(RandomHorizontalFlip()).batch(4).shuffle(),
      images.sample(PKSampler(2)).batch(3).repeat(2),
  };
  for (const Dataset& data : graphs) {
    Iterator reference(data, {.epochs = 3, .pull = true});
    const std::uint64_t expected = digest(reference);
    for (const int workers : {1, 2, 7}) {
      for (const bool tuned : {false, true}) {
        Iterator it(data, {.workers = workers, .epochs = 3, .autotune = tuned});
        EXPECT_EQ(digest(it), expected) << data.to_json() << workers << tuned;
      }
    }
    Iterator narrow(data, {.workers = 3, .memory_limit = 2 * reference.slot_bytes() + 60000, .epochs = 3});
    EXPECT_EQ(digest(narrow), expected);
  }
}

TEST(Runtime, IndicesOfJpegsChangeNoPixelWhateverTheirMemory) {
  const TempDir dir;
  const Dataset data = training(write_folders(dir / "train", 3, 9));
  Iterator without(data, {.epochs = 4, .pull = true, .jpeg_index_memory = 0});
  const std::uint64_t expected = digest(without);
  EXPECT_EQ(without.stats().jpeg_indices, 0);
  for (const std::int64_t memory : {1000, 1 << 20}) {
    for (const int workers : {1, 3}) {
      Iterator it(data, {.workers = workers, .epochs = 4, .jpeg_index_memory = memory});
      EXPECT_EQ(digest(it), expected) << memory;
      const RunStats stats = it.stats();
      EXPECT_GT(stats.jpeg_indices, 0);
      EXPECT_GT(stats.jpeg_index_bytes, 0);
      EXPECT_LE(stats.jpeg_index_bytes, memory);
      if (memory == 1000) {
        EXPECT_LT(stats.jpeg_indices, 27);
      } else {
        EXPECT_EQ(stats.jpeg_indices, 27);
      }
    }
  }
  Iterator once(data, {.workers = 1});
  digest(once);
  EXPECT_EQ(once.stats().jpeg_indices, 0);
}

// The indices that a run of three epochs stores, and the digest of its batches.
std::pair<std::int64_t, std::uint64_t> indices_of(const Dataset& data, std::int64_t memory = -1) {
  Iterator it(data, {.workers = 2, .epochs = 3, .jpeg_index_memory = memory});
  const std::uint64_t of_batches = digest(it);
  return {it.stats().jpeg_indices, of_batches};
}

// Both inputs of a join count their records from 0, and so do two columns of a row.
TEST(Runtime, EveryFileHasAnIndexOfItsOwn) {
  const TempDir dir;
  const Dataset one = ImageFolder(write_folders(dir / "one", 2, 4, 1));
  const Dataset other = ImageFolder(write_folders(dir / "other", 1, 7, 50));
  const Dataset joined = concat({one.map(RandomResizedCrop(24)), other.map(RandomResizedCrop(24))}).batch(5);
  EXPECT_EQ(indices_of(joined), (std::pair{std::int64_t{15}, indices_of(joined, 0).second}));
  const Dataset pairs = zip({one, other.rename({"image", "label"}, {"second", "number"})})
                            .map_columns({"image", "second"}, {Resize({9, 9})})
                            .batch(3);
  EXPECT_EQ(indices_of(pairs), (std::pair{std::int64_t{14}, indices_of(pairs, 0).second}));
}

TEST(Runtime, RowsThatACacheKeepsLeaveNoIndices) {
  const TempDir dir;
  const Dataset images = ImageFolder(write_folders(dir / "train", 2, 4)).map(Resize({9, 9}));
  const auto cached = [&](const CacheOptions& options) {
    return indices_of(images.cache(options).map(RandomHorizontalFlip()).batch(3)).first;
  };
  EXPECT_EQ(cached({}), 0);
  EXPECT_EQ(cached({.memory_limit = 0, .directory = dir / "cache"}), 0);
  EXPECT_GT(cached({.memory_limit = 0}), 0) << "made again in every epoch";
}

TEST(Runtime, IndicesAreKeptUpToTheirLimitAndOnlyGrow) {
  const std::vector<std::uint8_t> jpeg = image::encode_jpeg(picture(200, 180, 3), 90);
  image::Decoder decoder;
  image::JpegIndex part, whole;
  decoder.decode_region(jpeg, {0, 0, 60, 180}, nullptr, &part);
  decoder.decode(jpeg, nullptr, &whole);
  ASSERT_GT(whole.known_rows(), part.known_rows());
  JpegIndices indices(static_cast<std::int64_t>(whole.serialize().size()) + 200);
  EXPECT_TRUE(indices.find(0, 7, jpeg).empty());
  indices.keep(0, 7, jpeg, part);
  EXPECT_TRUE(indices.find(1, 7, jpeg).empty()) << "another column";
  EXPECT_EQ(indices.find(0, 7, jpeg), part);
  indices.keep(0, 7, jpeg, whole);
  indices.keep(0, 7, jpeg, part);
  EXPECT_EQ(indices.find(0, 7, jpeg), whole);
  indices.keep(0, 8, jpeg, whole);
  EXPECT_TRUE(indices.find(0, 8, jpeg).empty()) << "no room";
  EXPECT_EQ(indices.count(), 1);
  EXPECT_GE(indices.bytes(), static_cast<std::int64_t>(whole.serialize().size()));
}

TEST(Runtime, TheTunerTakesWorkersAwayAndGivesThemBack) {
  Tuner tuner(true, 4, 8);
  EXPECT_EQ(tuner.slots(), 3);
  double now = 0, waited = 0;
  const auto batches = [&](int n, double wait) {
    for (int i = 0; i < n; ++i) tuner.delivered(now += 1, waited += wait);
  };
  batches(32, 0);  // four windows without waiting
  EXPECT_EQ(tuner.workers(), 3);
  batches(64, 0);
  EXPECT_EQ(tuner.workers(), 1);
  batches(8, 0.5);
  EXPECT_EQ(tuner.workers(), 2);
  EXPECT_EQ(tuner.slots(), 4);
  batches(320, 0);
  EXPECT_EQ(tuner.workers(), 2) << "never again the number that made it wait";
  Tuner off(false, 4, 8);
  EXPECT_EQ(off.slots(), 8);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(off.delivered(i, i));
}

TEST(Runtime, TwoIteratorsShareOnePool) {
  const TempDir dir;
  const Dataset data = training(write_folders(dir / "train", 2, 8));
  Iterator reference(data, {.epochs = 2, .pull = true});
  const std::uint64_t expected = digest(reference);
  const auto pool = std::make_shared<WorkerPool>(3);
  Iterator a(data, {.epochs = 2, .pool = pool}), b(data, {.epochs = 2, .pool = pool});
  EXPECT_EQ(digest(b), expected);
  EXPECT_EQ(digest(a), expected);
}

TEST(Runtime, EpochsFollowEachOtherAndTellTheirPlace) {
  Iterator it(rows_in_memory(5).batch(2), {.workers = 2, .epochs = 2});
  EXPECT_EQ(it.batches_per_epoch(), 3);
  std::vector<std::string> seen;
  while (const auto batch = it.next()) {
    std::string text =
        std::to_string(batch->epoch()) + ":" + std::to_string(batch->index()) + (batch->last_of_epoch() ? "!" : "");
    for (const std::uint64_t r : batch->records()) text += " " + std::to_string(r);
    seen.push_back(text);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"0:0 0 1", "0:1 2 3", "0:2! 4", "1:0 0 1", "1:1 2 3", "1:2! 4"}));
  EXPECT_FALSE(it.next().has_value());
}

TEST(Runtime, TheLastPartialBatchIsPaddedWithZerosAndMasked) {
  Iterator it(rows_in_memory(5).batch(3), {.pull = true});
  {
    const auto full = it.next();
    EXPECT_EQ(full->samples(), 3);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(full->mask().data<std::uint8_t>()[i], 1);
  }
  const auto last = it.next();
  EXPECT_EQ(last->rows(), 3);
  EXPECT_EQ(last->samples(), 2);
  EXPECT_EQ(last->label().data<std::int32_t>()[1], 4);
  EXPECT_EQ(last->mask().data<std::uint8_t>()[1], 1);
  EXPECT_EQ(last->mask().data<std::uint8_t>()[2], 0);
  EXPECT_EQ(last->label().data<std::int32_t>()[2], 0);
  for (int i = 0; i < 72; ++i) EXPECT_EQ(last->image().data<std::uint8_t>()[2 * 72 + i], 0);
  Iterator dropping(rows_in_memory(5).batch(3, {.drop_remainder = true}), {.pull = true});
  EXPECT_TRUE(dropping.next().has_value());
  EXPECT_FALSE(dropping.next().has_value());
}

TEST(Runtime, WithoutPaddingABatchHoldsItsSamplesAndNothingElse) {
  register_function("not the third", [](const Tensor& x) {
    if (x.at(0) == 3) throw Error("the third");
    return x.clone();
  });
  const auto lists = [](std::int64_t i) {
    return std::vector<Tensor>{Tensor::scalar(i),
                               Tensor::of(std::vector<float>(static_cast<std::size_t>(i), 1), Shape{i}),
                               Tensor::strings({"row " + std::to_string(i)})};
  };
  register_generator(
      "lists",
      {.schema = {{"n", DType::i64, Shape{}}, {"list", DType::f32, Shape{kVaries}}, {"text", DType::bytes, Shape{}}},
       .rows = 8,
       .row = lists});
  const Dataset data = FromGenerator("lists").map_columns({"n"}, {Function("not the third")}).batch(3, {.pad = true});
  for (const int workers : {0, 3}) {
    Iterator it(data, {.workers = workers,
                       .epochs = 2,
                       .pad_last = false,
                       .pull = workers == 0,
                       .bad_samples = {.policy = BadSamplePolicy::skip}});
    for (const std::vector<std::int64_t>& expected :
         std::vector<std::vector<std::int64_t>>{{0, 1, 2}, {4, 5}, {6, 7}, {0, 1, 2}, {4, 5}, {6, 7}}) {
      const auto batch = it.next();
      const auto rows = static_cast<std::int64_t>(expected.size());
      EXPECT_EQ(batch->rows(), rows);
      EXPECT_EQ(batch->samples(), rows);
      EXPECT_EQ(batch->records(), (std::vector<std::uint64_t>(expected.begin(), expected.end())));
      for (const Column& column : batch->columns())
        EXPECT_EQ(batch->column(column.name).shape()[0], rows) << column.name;
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t n = expected[static_cast<std::size_t>(i)], width = batch->column("list").shape()[1];
        EXPECT_EQ(batch->column("n").at(i), n);
        EXPECT_EQ(batch->mask().at(i), 1);
        EXPECT_EQ(batch->column("text").string_values()[static_cast<std::size_t>(i)], "row " + std::to_string(n));
        for (std::int64_t x = 0; x < width; ++x) EXPECT_EQ(batch->column("list").at(i * width + x), x < n ? 1 : 0);
      }
    }
    EXPECT_FALSE(it.next().has_value());
  }
}

TEST(Runtime, RawImagesAndTheImageTailGiveTheBitsOfTheWorkers) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 10);
  for (const bool fused : {true, false}) {
    std::vector<std::string> off;
    if (!fused) off = {"fuse_write", "fuse_decode_crop"};
    Iterator floats(training(folder), {.workers = 2, .epochs = 2, .disabled_passes = off});
    Iterator raw(training(folder), {.workers = 3, .epochs = 2, .raw_images = true, .disabled_passes = off});
    const ImageTail tail = raw.image_tail();
    ASSERT_TRUE(tail.normalize);
    EXPECT_TRUE(tail.flip);
    const image::NormalizeTable table({tail.mean[0], tail.mean[1], tail.mean[2]},
                                      {tail.std[0], tail.std[1], tail.std[2]});
    int flipped = 0, kept = 0;
    while (const auto u8 = raw.next()) {
      const auto f32 = floats.next();
      ASSERT_EQ(u8->image().dtype(), DType::u8);
      ASSERT_EQ(f32->image().dtype(), DType::f32);
      EXPECT_FALSE(f32->has("flip"));
      std::vector<float> row(24 * 24 * 3);
      for (std::int64_t i = 0; i < u8->samples(); ++i) {
        const bool flip = u8->flip().data<std::uint8_t>()[i] != 0;
        (flip ? flipped : kept) += 1;
        table.tail({u8->image().data<std::uint8_t>() + i * 24 * 24 * 3, 24, 24, 3, 72}, flip, row.data());
        EXPECT_EQ(std::memcmp(row.data(), f32->image().data<float>() + i * 24 * 24 * 3, row.size() * sizeof(float)), 0);
      }
      EXPECT_EQ(digest(u8->label()), digest(f32->label()));
    }
    EXPECT_FALSE(floats.next().has_value());
    EXPECT_GT(flipped, 8);
    EXPECT_GT(kept, 8);
  }
}

TEST(Runtime, RawImagesWithoutAFlipHaveTheColumnToo) {
  Iterator it(rows_in_memory(4).batch(2), {.raw_images = true});
  EXPECT_EQ(to_string(it.columns()), "image u8[2,4,6,3], label i32[2], flip u8[2], mask u8[2]");
  EXPECT_FALSE(it.image_tail().flip);
  EXPECT_FALSE(it.image_tail().normalize);
  EXPECT_EQ(it.next()->flip().data<std::uint8_t>()[1], 0);
}

TEST(Runtime, EncodedImagesCanBeBatchedAsTheyAre) {
  const TempDir dir;
  Iterator it(ImageFolder(write_folders(dir / "train", 2, 3)).batch(4), {.workers = 2});
  const auto batch = it.next();
  EXPECT_EQ(batch->image().dtype(), DType::bytes);
  for (const std::string& bytes : batch->image().string_values()) EXPECT_EQ(bytes.substr(0, 2), "\xff\xd8");
  const auto last = it.next();
  EXPECT_EQ(last->image().string_values()[3], "");
}

TEST(Runtime, ALentBatchOutlivesItsIterator) {
  std::optional<Batch> batch;
  {
    Iterator it(rows_in_memory(8).shuffle().batch(4), {.workers = 2});
    batch = it.next();
  }
  EXPECT_EQ(batch->label().elements(), 4);
  EXPECT_EQ(static_cast<std::uint64_t>(batch->label().data<std::int32_t>()[2]), batch->records()[2]);
}

TEST(Runtime, LendingAllSlotsIsAnErrorAndNoDeadlock) {
  for (const bool pull : {false, true}) {
    Iterator it(rows_in_memory(100).batch(2), {.workers = 2, .pull = pull});
    std::vector<Batch> kept;
    for (std::int64_t i = 0; i < it.slots(); ++i) kept.push_back(std::move(*it.next()));
    EXPECT_ERROR(it.next(), "batch slots are lent");
    kept.pop_back();
    EXPECT_EQ(it.next()->index(), static_cast<std::uint64_t>(it.slots()));
  }
  EXPECT_ERROR(Iterator(rows_in_memory(100).batch(2), {.memory_limit = 10}), "memory_limit is 10");
}

TEST(Runtime, WaitingForABatchHasALimit) {
  using namespace std::chrono_literals;
  static std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  register_generator("behind a gate",
                     {.schema = {{"x", DType::i32, Shape{}}}, .rows = 2, .row = [open](std::int64_t i) {
                        open.wait();
                        return std::vector{Tensor::scalar(static_cast<std::int32_t>(i))};
                      }});
  const Dataset data = FromGenerator("behind a gate").batch(1);
  Iterator it(data, {.workers = 1, .slots = 1});
  EXPECT_FALSE(it.wait_for(10ms));
  gate.set_value();
  EXPECT_TRUE(it.wait_for(60s));
  {
    const auto batch = it.next();
    EXPECT_TRUE(it.wait_for(60s));  // every slot is lent: next() would throw at once
    EXPECT_ERROR(it.next(), "all 1 batch slots are lent");
  }
  EXPECT_TRUE(it.wait_for(60s));
  EXPECT_TRUE(it.next());
  EXPECT_TRUE(it.wait_for(60s));
  EXPECT_FALSE(it.next());
  EXPECT_TRUE(Iterator(data, {.pull = true}).wait_for(0ms));
}

TEST(Runtime, TheTunerLeavesNoSlotUnusedThatTheConsumerNeeds) {
  Iterator it(rows_in_memory(100).batch(2), {.workers = 2, .autotune = true});
  ASSERT_EQ(it.slots(), 8);
  std::vector<Batch> kept;
  for (std::uint64_t i = 0; i < 8; ++i) {
    // Waits until the workers are idle: they may prepare three batches, as there are slots.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kept.push_back(std::move(*it.next()));
    EXPECT_EQ(kept.back().index(), i);
  }
}

// A limit on address space leaves room for only some stacks; sanitizers need address space themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Runtime, WorkersThatCannotBeStartedAreAnError) {
  const auto start = [] {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto limit = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (rlim_t{256} << 20);
    const rlimit addresses{limit, limit};
    ::setrlimit(RLIMIT_AS, &addresses);
    try {
      const WorkerPool pool(2000);
    } catch (const Error& e) {
      std::fputs(e.what(), stderr);
      std::_Exit(7);
    }
    std::_Exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(start(), ::testing::ExitedWithCode(7), "only [0-9]+ of 2000 threads could be started: ");
}
#endif

TEST(Runtime, SlotMemoryComesFromTheInjectedAllocatorAndGoesBack) {
  struct Counting : BatchAllocator {
    int live = 0, made = 0;
    void* allocate(std::size_t bytes, std::size_t alignment) override {
      ++live, ++made;
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    void release(void* memory) override {
      --live;
      std::free(memory);
    }
  } allocator;
  {
    Iterator it(rows_in_memory(10).batch(2), {.workers = 2, .allocator = &allocator});
    EXPECT_EQ(allocator.made, it.slots());
    while (it.next()) {
    }
    EXPECT_EQ(allocator.made, it.slots());
  }
  EXPECT_EQ(allocator.live, 0);
}

TEST(Runtime, HintsOfTheGraphAreUsedUnlessTheCallerSaysOtherwise) {
  const Dataset plain = rows_in_memory(100).batch(10);
  Iterator reference(plain, {.workers = 1});
  const Dataset data = plain.with_hints({.workers = 3, .memory_limit = 4 * reference.slot_bytes()});
  Iterator hinted(data), told(data, {.workers = 2, .memory_limit = 2 * reference.slot_bytes()});
  EXPECT_EQ(hinted.workers(), 3);
  EXPECT_EQ(hinted.slots(), 4);
  EXPECT_EQ(told.workers(), 2);
  EXPECT_EQ(told.slots(), 2);
  EXPECT_ERROR(rows_in_memory(5).with_hints({.workers = 1}), "call with_hints after batch");
}

TEST(Runtime, BatchesSpanThePassesOfARepeatBelowThem) {
  Iterator it(rows_in_memory(3).repeat().batch(2), {.workers = 2});
  EXPECT_EQ(it.batches_per_epoch(), kForever);
  std::vector<std::uint64_t> seen;
  for (int i = 0; i < 4; ++i) {
    const auto batch = it.next();
    EXPECT_EQ(batch->epoch(), 0u);
    seen.insert(seen.end(), batch->records().begin(), batch->records().end());
  }
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(it.state().delivered, 4u);
}

TEST(Runtime, ATraceShowsTheWorkersAndTheirWork) {
  const TempDir dir;
  Trace trace;
  {
    Iterator it(rows_in_memory(100).batch(10), {.workers = 2, .trace = &trace});
    while (it.next()) {
    }
  }
  trace.write(dir / "trace.json");
  const std::string text = read_file(dir / "trace.json");
  EXPECT_NE(text.find("\"fill\""), std::string::npos);
  EXPECT_NE(text.find("data worker 1"), std::string::npos);
}

TEST(Runtime, StatisticsCountEverySampleOfEveryPart) {
  const TempDir dir;
  Iterator it(training(write_folders(dir / "train", 2, 8)), {.workers = 2, .epochs = 2});
  while (it.next()) {
  }
  const RunStats stats = it.stats();
  ASSERT_EQ(stats.stages.size(), 3u);
  EXPECT_EQ(stats.stages[0].name, "read");
  EXPECT_EQ(stats.stages[1].name, "decode");
  EXPECT_EQ(stats.stages[2].name, "pixels");
  for (const StageStats& stage : stats.stages) {
    EXPECT_EQ(stage.samples, 32u);
    EXPECT_GT(stage.busy_seconds, 0);
    EXPECT_GT(stage.bytes, 0u);
  }
  EXPECT_EQ(stats.stages[2].bytes, 32u * 24 * 24 * 3 * 4);
  EXPECT_EQ(stats.batches, 4u);
}

TEST(Runtime, AdviceNamesTheSlowestPartOnlyWhenTheConsumerStarved) {
  RunStats stats;
  stats.stages = {{"read", 1.0, 100, 1}, {"decode", 6.0, 100, 1}, {"pixels", 1.0, 100, 1}};
  stats.seconds = 10;
  stats.workers = 2;
  stats.consumer_wait_seconds = 0.1;
  EXPECT_EQ(stats.advice(), "");
  stats.consumer_wait_seconds = 4;
  EXPECT_NE(stats.advice().find("waited 40 %"), std::string::npos) << stats.advice();
  EXPECT_NE(stats.advice().find("decode takes 75 %"), std::string::npos) << stats.advice();
  const AdviceWords words{.workers = "--num_workers", .memory = "--batch_memory", .image_size = "--image_size"};
  EXPECT_NE(advice_of(stats, words).find("more data workers (--num_workers) or cores"), std::string::npos);
  stats.worker_wait_seconds = 20;
  EXPECT_NE(advice_of(stats, words).find("more memory for prepared batches (--batch_memory)"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::data::testing
