#include <cstdlib>

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

Dataset training(const std::string& dir) {
  return ImageFolder(dir)
      .shuffle()
      .map(RandomResizedCrop(16), RandomHorizontalFlip(), Normalize::imagenet())
      .batch(4)
      .with_seed(11);
}

TEST(State, ResumesAtEveryBatchWithOtherWorkerCounts) {
  const TempDir dir;
  const Dataset data = training(write_folders(dir / "train", 2, 9));  // 18 samples: 5 batches per epoch
  Iterator whole(data, {.epochs = 3, .pull = true});
  const std::vector<std::uint64_t> expected = digests(whole);
  ASSERT_EQ(expected.size(), 15u);
  Iterator run(data, {.workers = 2, .epochs = 3});
  for (std::size_t k = 0; k <= expected.size(); ++k) {
    const IteratorState state = run.state();
    EXPECT_EQ(state.epoch * 5 + state.delivered, k);
    const std::string text = state.to_json();
    EXPECT_LT(text.size(), 1024u);
    for (const int workers : {1, 7}) {
      Iterator rest(data, {.workers = workers, .epochs = 3, .start = IteratorState::from_json(text)});
      EXPECT_EQ(digests(rest),
                std::vector<std::uint64_t>(expected.begin() + static_cast<std::ptrdiff_t>(k), expected.end()))
          << k;
    }
    const auto batch = run.next();
    if (batch) {
      EXPECT_EQ(batch->state_after(), run.state());
    }
  }
}

TEST(State, RestoreDiscardsWhatIsPreparedAndGoesOnFromTheFile) {
  const TempDir dir;
  const Dataset data = training(write_folders(dir / "train", 2, 9));
  Iterator a(data, {.workers = 2, .epochs = 2});
  a.next();
  a.next();
  a.save(dir / "loader.state");
  const std::uint64_t rest = digest(a);
  Iterator b(data, {.workers = 1, .epochs = 2});
  b.next();
  b.restore(dir / "loader.state");
  EXPECT_EQ(digest(b), rest);
  b.restore(dir / "loader.state");  // also from the end
  EXPECT_EQ(digest(b), rest);
}

TEST(State, TakesTheSavedSeedUnlessTheCallerHasAnother) {
  const Dataset data = rows_in_memory(20).shuffle().batch(4);
  Iterator saved(data, {.seed = 77, .pull = true});
  saved.next();
  const IteratorState state = saved.state();
  const std::uint64_t rest = digest(saved);
  Iterator same(data, {.start = state, .pull = true});
  EXPECT_EQ(digest(same), rest);
  Iterator restored(data, {.pull = true});
  restored.restore(state);
  EXPECT_EQ(digest(restored), rest);
  EXPECT_ERROR(Iterator(data, {.seed = 78, .start = state, .pull = true}),
               "was saved with seed 77, this run has seed 78");
}

// The number of rows that pass depends on the seed, so a position is checked in the run to which it belongs.
TEST(State, OfAnotherSeedIsCheckedAgainstItsOwnEpoch) {
  Tensor column(DType::i32, Shape{400});
  for (int i = 0; i < 400; ++i) column.data<std::int32_t>()[i] = i;
  const Dataset data = InMemory({{"x", column}}).shuffle().take(100).filter(compare("x", "less", 200)).batch(1);
  const auto batches = [&](std::uint64_t seed) {
    Iterator it(data, {.seed = seed, .pull = true});
    std::uint64_t count = 0;
    while (it.next()) ++count;
    return count;
  };
  std::uint64_t longest = 1, shortest = 1;
  for (std::uint64_t seed = 2; seed < 9; ++seed) {
    if (batches(seed) > batches(longest)) longest = seed;
    if (batches(seed) < batches(shortest)) shortest = seed;
  }
  ASSERT_LT(batches(shortest), batches(longest));
  Iterator saved(data, {.seed = longest, .pull = true});
  for (std::uint64_t i = 0; i < batches(shortest) + 1 && i + 1 < batches(longest); ++i) saved.next();
  const IteratorState state = saved.state();
  const Dataset other = data.with_seed(shortest);
  Iterator restored(other, {.pull = true});
  restored.restore(state);
  EXPECT_EQ(digest(restored), digest(saved));
  EXPECT_ERROR(restored.restore(IteratorState{state.graph_hash, shortest, state.records, 0, state.delivered}),
               "an epoch has");
}

TEST(State, ARestoreThatFailsSaysSoAtEveryCall) {
  struct Failing : BatchAllocator {
    bool fails = false;
    void* allocate(std::size_t bytes, std::size_t alignment) override {
      if (fails) throw Error("no pinned memory left");
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    }
    void release(void* memory) override { std::free(memory); }
  } allocator;
  Iterator it(rows_in_memory(20).batch(2), {.workers = 1, .allocator = &allocator});
  it.next();
  const IteratorState state = it.state();
  it.next();
  allocator.fails = true;
  EXPECT_ERROR(it.restore(state), "no pinned memory left");
  EXPECT_EQ(it.state(), state);
  EXPECT_ERROR(it.next(), "no pinned memory left");
  EXPECT_ERROR(it.stats(), "no pinned memory left");
  allocator.fails = false;
  it.restore(state);
  EXPECT_EQ(it.next()->index(), 1u);
}

TEST(State, BracketsWithoutEndAreRefused) {
  std::string text = IteratorState{}.to_json();
  text.replace(text.find("\"data-state\""), 12, std::string(1'000'000, '[') + std::string(1'000'000, ']'));
  EXPECT_ERROR(IteratorState::from_json(text), "[data state] nests deeper than");
}

TEST(State, OfAnotherGraphOrOtherDataIsRefused) {
  Iterator it(rows_in_memory(20).shuffle().batch(4), {.pull = true});
  IteratorState state = it.state();
  EXPECT_ERROR(Iterator(rows_in_memory(20).shuffle().batch(5), {.start = state}), "belongs to another data graph");
  state.records = 19;
  EXPECT_ERROR(it.restore(state), "was saved with 19 records, the source has 20");
  state.records = 20;
  state.delivered = 5;
  EXPECT_ERROR(it.restore(state), "5 batches of the epoch are delivered, an epoch has 5");
  EXPECT_TRUE(it.next().has_value());  // a refused restore changes nothing
}

TEST(State, IsIndependentOfTheFolderTheDataLiesIn) {
  const TempDir dir;
  const Dataset here = training(write_folders(dir / "here", 2, 5)),
                there = training(write_folders(dir / "there", 2, 5));
  EXPECT_EQ(here.hash(), there.hash());
  Iterator a(here, {.pull = true});
  a.next();
  Iterator b(there, {.start = a.state(), .pull = true});
  EXPECT_EQ(digest(a), digest(b));
}

TEST(State, RefusesTextThatItDidNotWrite) {
  const std::string good = IteratorState{0x0123456789abcdefull, 1, 2, 3, 4}.to_json();
  EXPECT_EQ(IteratorState::from_json(good), (IteratorState{0x0123456789abcdefull, 1, 2, 3, 4}));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_ERROR(IteratorState::from_json("{"), "[data state]");
  EXPECT_ERROR(IteratorState::from_json("[1]"), "not an object");
  EXPECT_ERROR(IteratorState::from_json(with("\"version\":1", "\"version\":2")), "version is 2");
  EXPECT_ERROR(IteratorState::from_json(with("\"seed\":1", "\"sead\":1")), "unknown key 'sead'");
  EXPECT_ERROR(IteratorState::from_json(with("\"epoch\":3", "\"epoch\":-3")), "'epoch' is -3");
  EXPECT_ERROR(IteratorState::from_json(with("0123456789abcdef", "0123456789abcdeg")), "16 hexadecimal digits");
}

TEST(Replay, OneSampleAloneEqualsTheRuns) {
  const TempDir dir;
  const Dataset data = training(write_folders(dir / "train", 2, 9)).skip(1);
  for (const bool raw : {false, true}) {
    Iterator it(data, {.workers = 3, .epochs = 3, .raw_images = raw});
    while (const auto batch = it.next()) {
      for (std::int64_t i = 0; i < batch->samples(); ++i) {
        const Sample sample =
            replay(data, batch->epoch(), batch->index() * 4 + static_cast<std::uint64_t>(i), {.raw_images = raw});
        EXPECT_EQ(sample.record, batch->records()[static_cast<std::size_t>(i)]);
        for (const NamedTensor& column : sample.columns) {
          const Tensor& in_batch = batch->column(column.name);
          const std::size_t bytes = column.tensor.byte_size();
          EXPECT_EQ(std::memcmp(column.tensor.raw(),
                                static_cast<const char*>(in_batch.raw()) + static_cast<std::size_t>(i) * bytes, bytes),
                    0);
        }
      }
    }
  }
  EXPECT_NE(replay(data, 0, 0).origin.find("/train/class_"), std::string::npos);
  EXPECT_ERROR(replay(data, 0, 14), "there is no sample 14");
}

}  // namespace
}  // namespace ridgeline::data::testing
