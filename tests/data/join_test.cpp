// Nodes with several inputs, and nodes that read rows.
#include <atomic>
#include <map>
#include <set>
#include <stdexcept>

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

Dataset numbers(std::int64_t n, std::int32_t first = 0, const std::string& name = "x") {
  Tensor column(DType::i32, Shape{n});
  for (std::int64_t i = 0; i < n; ++i) column.data<std::int32_t>()[i] = first + static_cast<std::int32_t>(i);
  return InMemory({{name, column}});
}

std::vector<std::int32_t> values(const Dataset& data, const std::string& name = "x", IteratorOptions options = {}) {
  Iterator it(data, std::move(options));
  std::vector<std::int32_t> all;
  while (const auto batch = it.next()) {
    const auto* column = batch->column(name).data<std::int32_t>();
    all.insert(all.end(), column, column + batch->samples());
  }
  return all;
}
using V = std::vector<std::int32_t>;

TEST(Zip, PutsColumnsSideBySideUpToTheShortest) {
  const Dataset data = zip({numbers(5), numbers(7, 10, "y"), numbers(3, 20, "z").repeat()}).batch(2);
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(to_string(data.columns()), "x i32[2], y i32[2], z i32[2], mask u8[2]");
  EXPECT_EQ(values(data), (V{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(data, "y"), (V{10, 11, 12, 13, 14}));
  EXPECT_EQ(values(data, "z"), (V{20, 21, 22, 20, 21}));
  EXPECT_ERROR(zip({numbers(5), numbers(5)}), "two inputs have a column 'x'");
}

TEST(Zip, ANodeWithTwoReadersMakesEachRowOnce) {
  static std::atomic<int> calls{0};
  register_function("count_calls", [](const Tensor& x) {
    ++calls;
    return x.clone();
  });
  const Dataset shared = numbers(20).shuffle().map_columns({"x"}, {Function("count_calls")});
  const Dataset data = zip({shared, shared.rename({"x"}, {"y"})}).batch(4);
  EXPECT_EQ(data.graph().nodes.size(), 6u);  // in_memory, shuffle, map, rename, zip, batch
  EXPECT_EQ(values(data), values(data, "y"));
  EXPECT_EQ(calls, 2 * 20);
}

TEST(Zip, ReadersOfOneNodeMayAskForDifferentRows) {
  register_function("same", [](const Tensor& x) { return x.clone(); });
  const Dataset shared = numbers(20).map_columns({"x"}, {Function("same")});
  const auto named = [](const Dataset& data, const char* name) { return data.rename({"x"}, {name}); };
  const Dataset data =
      zip({named(shared, "a"), named(shared.shuffle(), "b"), named(shared.skip(1), "c"), named(shared, "d")}).batch(4);
  for (const int workers : {1, 3}) {
    EXPECT_EQ(values(data, "a", {.workers = workers, .epochs = 2}), values(numbers(19).batch(4), "x", {.epochs = 2}));
    EXPECT_EQ(values(data, "d", {.workers = workers}), values(numbers(19).batch(4)));
    EXPECT_EQ(values(data, "c", {.workers = workers}), values(numbers(19, 1).batch(4)));
    EXPECT_EQ(values(data, "b", {.workers = workers}), values(shared.shuffle().take(19).batch(4)));
  }
}

TEST(Zip, AShuffledPictureLeavesTheFirstReadersAlone) {
  const TempDir dir;
  const Dataset files = ImageFolder(write_folders(dir / "train", 3, 4));
  const Dataset again = files.map(Resize({9, 8})).rename({"image", "label"}, {"other", "other_label"});
  Iterator alone(files.map(Resize({8, 9})).batch(12), {.pull = true});
  Iterator shuffled(again.shuffle().batch(12), {.pull = true});
  const auto first = alone.next(), second = shuffled.next();
  Iterator both(zip({files.map(Resize({8, 9})), again.shuffle()}).batch(12), {.pull = true});
  const auto batch = both.next();
  for (const char* column : {"image", "label"}) EXPECT_EQ(digest(batch->column(column)), digest(first->column(column)));
  for (const char* column : {"other", "other_label"})
    EXPECT_EQ(digest(batch->column(column)), digest(second->column(column)));
}

TEST(Concat, FollowsOneInputByTheOther) {
  const Dataset data = concat({numbers(3), numbers(2, 10), numbers(4, 20)});
  EXPECT_EQ(values(data.batch(4)), (V{0, 1, 2, 10, 11, 20, 21, 22, 23}));
  EXPECT_EQ(data.size(), 9);
  std::vector<std::int32_t> shuffled = values(data.shuffle().batch(4));
  EXPECT_NE(shuffled, values(data.batch(4)));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, values(data.batch(4)));
  EXPECT_ERROR(concat({numbers(3), numbers(3, 0, "y")}), "its inputs have different columns");
  EXPECT_ERROR(concat({numbers(3).repeat(), numbers(3)}).size(), "put it last");
}

TEST(Concat, RecordsOfItsInputsDrawApart) {
  const Dataset once = rows_in_memory(50);
  const Dataset data = concat({once, rows_in_memory(50)}).map(RandomHorizontalFlip()).batch(100);
  Iterator it(data, {.raw_images = true});
  const auto batch = it.next();
  const auto* flips = batch->flip().data<std::uint8_t>();
  EXPECT_FALSE(std::equal(flips, flips + 50, flips + 50));
  EXPECT_EQ(batch->records()[73], 73u);
}

TEST(Joins, KnowANodeThatWasNotChangedSince) {
  struct Counter : DataCallback {
    void step_begin(const CallbackInfo&) override { ++calls; }
    int calls = 0;
  };
  const auto counter = std::make_shared<Counter>();
  const Dataset base = zip({numbers(6), numbers(6, 10, "y")}).map_columns({"x"}, {TypeCast(DType::i32)});
  const Dataset both =
      zip({base.project({"x"}), base.with_callbacks({counter}).project({"y"}), base.rename({"x", "y"}, {"p", "q"})});
  EXPECT_EQ(both.graph().nodes.size(), 8u);  // two sources, zip, map, project, project, rename, zip
  EXPECT_EQ(values(both.batch(2), "y"), (V{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(counter->calls, 3);

  const Dataset first = numbers(6).take(2).skip(1);
  DataGraph edited = first.graph();
  edited.node("take_1").args["count"] = std::int64_t{4};
  EXPECT_EQ(values(concat({first, Dataset(edited)}).batch(4)), (V{1, 1, 2, 3}));
  EXPECT_EQ(concat({first, Dataset(edited)}).graph().nodes.size(), 6u);  // the source only once
}

TEST(Joins, HaveOneSeed) {
  const Dataset a = numbers(3), b = numbers(3, 5);
  EXPECT_EQ(concat({a.with_seed(7), b}).graph().seed, 7u);
  EXPECT_EQ(concat({a.with_seed(7), b.with_seed(7)}).graph().seed, 7u);
  EXPECT_ERROR(concat({a, b.with_seed(7)}), "[concat] has one seed, 0 of its first input: 7 of another one would be");
  EXPECT_ERROR(mix({a.with_seed(3), b.with_seed(7)}, {1, 1}), "[mix] has one seed, 3 of its first input");
}

TEST(Mix, KeepsTheWeightsInEveryThousandRowsAndGoesOnInTheNextEpoch) {
  const Dataset data = mix({numbers(100), numbers(10, 1000)}, {3, 1}, {.count = 2000});
  const std::vector<std::int32_t> rows = values(data.batch(100));
  ASSERT_EQ(rows.size(), 2000u);
  for (int half = 0; half < 2; ++half) {
    EXPECT_EQ(std::count_if(rows.begin() + half * 1000, rows.begin() + half * 1000 + 1000,
                            [](std::int32_t x) { return x >= 1000; }),
              250);
  }
  V first, second;
  for (const std::int32_t x : rows) (x < 1000 ? first : second).push_back(x);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], static_cast<std::int32_t>(i % 100));
  for (std::size_t i = 0; i < second.size(); ++i) EXPECT_EQ(second[i], static_cast<std::int32_t>(1000 + i % 10));
  EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end()));
  // 1500 rows per epoch: the second epoch begins in the middle of a cycle.
  const Dataset odd = mix({numbers(7), numbers(5, 1000)}, {1, 1}, {.count = 1500});
  const std::vector<std::int32_t> both = values(odd.batch(50), "x", {.epochs = 2});
  V of_first;
  for (const std::int32_t x : both) {
    if (x < 1000) of_first.push_back(x);
  }
  EXPECT_EQ(of_first.size(), 1500u);
  for (std::size_t i = 0; i < of_first.size(); ++i) EXPECT_EQ(of_first[i], static_cast<std::int32_t>(i % 7));
  EXPECT_ERROR(mix({numbers(2), numbers(2)}, {1}), "has 1 weights for 2 inputs");
  EXPECT_ERROR(mix({numbers(2), numbers(2)}, {1, 0}), "is not a positive number");
}

TEST(Filter, LeavesRowsOutWhereverItStands) {
  const Dataset ten = numbers(10);
  EXPECT_EQ(values(ten.filter(compare("x", "less", 4)).batch(3)), (V{0, 1, 2, 3}));
  EXPECT_EQ(values(ten.filter(is_in("x", std::vector<double>{7, 2, 11})).batch(3)), (V{2, 7}));
  EXPECT_EQ(values(ten.filter(is_not_in("x", {0, 1, 2, 3, 4, 5})).skip(1).take(2).batch(3)), (V{7, 8}));
  EXPECT_EQ(values(ten.filter(compare("x", "greater_equal", 8)).repeat(2).batch(3)), (V{8, 9, 8, 9}));
  EXPECT_EQ(values(ten.filter(compare("x", "not_equal", 5)).shard(2, 1).batch(9)), (V{1, 3, 6, 8}));
  EXPECT_EQ(values(concat({ten.filter(compare("x", "less", 2)), numbers(2, 50)}).batch(9)), (V{0, 1, 50, 51}));
  register_predicate("is_odd", [](const Tensor& x) { return static_cast<int>(x.at(0)) % 2 == 1; });
  EXPECT_EQ(values(ten.filter(passes("x", "is_odd")).batch(2)), (V{1, 3, 5, 7, 9}));
  EXPECT_EQ(ten.filter(compare("x", "less", 4)).batch(3).size(), kUnknown);
  std::vector<std::int32_t> shuffled = values(ten.shuffle().filter(passes("x", "is_odd")).shuffle().batch(2));
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, (V{1, 3, 5, 7, 9}));
  EXPECT_ERROR(ten.filter(compare("y", "less", 4)), "there is no column 'y'");
  EXPECT_ERROR(ten.filter(compare("x", "smaller", 4)), "unknown test 'smaller'");
  EXPECT_ERROR(Iterator(ten.filter(passes("x", "is_even")).batch(2)), "no predicate 'is_even' is registered");
  Iterator none(ten.filter(compare("x", "less", -1)).batch(2));
  EXPECT_ERROR(none.next(), "no batch to deliver: epoch 0 has none");
}

TEST(Filter, ARepeatLooksAtEachPassOnce) {
  static std::atomic<int> tests{0};
  register_predicate("counted_even", [](const Tensor& x) { return ++tests, static_cast<int>(x.at(0)) % 2 == 0; });
  const Dataset evens = numbers(10).filter(passes("x", "counted_even"));
  V expected;
  for (int pass = 0; pass < 12; ++pass) expected.insert(expected.end(), {0, 2, 4, 6, 8});
  EXPECT_EQ(values(evens.repeat(12).batch(7), "x", {.pull = true}), expected);
  EXPECT_EQ(tests, 12 * 10);
  Iterator endless(evens.repeat().batch(5), {.pull = true});
  for (int i = 0; i < 12; ++i) EXPECT_EQ(endless.next()->column("x").data<std::int32_t>()[4], 8);
  EXPECT_LE(tests, 2 * 12 * 10 + 10);
  EXPECT_ERROR(Iterator(numbers(10).filter(compare("x", "less", -1)).repeat().batch(2), {.pull = true}).next(),
               "[repeat] its input has no rows");
}

TEST(Filter, WhatThePredicateThrowsIsTheErrorOfItsRow) {
  register_predicate("throws_at_5", [](const Tensor& x) {
    if (x.at(0) == 5) throw std::runtime_error("no five");
    return true;
  });
  register_function("throws_at_6", [](const Tensor& x) {
    if (x.at(0) == 6) throw 6;
    return x.clone();
  });
  // The index of the shuffle is built while rows are prefetched, outside of any row.
  const Dataset data = numbers(100).filter(passes("x", "throws_at_5")).shuffle({.buffer = 100});
  EXPECT_ERROR(values(data.batch(4)), "record 5: predicate 'throws_at_5' threw: no five");
  IteratorOptions skip{.bad_samples = {.policy = BadSamplePolicy::skip}};
  EXPECT_EQ(values(data.batch(100), "x", skip).size(), 100u);
  const Dataset six = numbers(10).map_columns({"x"}, {Function("throws_at_6")}).batch(5);
  Iterator it(six);
  EXPECT_TRUE(it.next());
  EXPECT_ERROR(it.next(), "record 6: function 'throws_at_6' threw: something that is no std::exception (in function)");
  EXPECT_EQ(values(six, "x", {.bad_samples = {.policy = BadSamplePolicy::skip}}).size(), 10u);
}

TEST(Filter, EpochsOfUnknownLengthFollowEachOther) {
  const Dataset data = numbers(10).shuffle().filter(compare("x", "less", 5)).batch(2);
  for (const bool pull : {true, false}) {
    Iterator it(data, {.workers = 3, .epochs = 2, .pull = pull});
    std::vector<std::string> seen;
    while (const auto batch = it.next()) {
      seen.push_back(std::to_string(batch->epoch()) + ":" + std::to_string(batch->index()) +
                     (batch->last_of_epoch() ? "!" : "") + " " + std::to_string(batch->samples()));
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"0:0 2", "0:1 2", "0:2! 1", "1:0 2", "1:1 2", "1:2! 1"}));
  }
}

TEST(Columns, AreChosenAndRenamed) {
  const Dataset data = rows_in_memory(6).map(Resize({3, 3})).rename({"label"}, {"target"}).project({"target"}).batch(4);
  EXPECT_EQ(to_string(data.columns()), "target i32[4], mask u8[4]");
  EXPECT_EQ(values(data, "target"), (V{0, 1, 2, 3, 4, 5}));
  EXPECT_ERROR(rows_in_memory(6).project({"lable"}), "there is no column 'lable': did you mean 'label'?");
  EXPECT_ERROR(rows_in_memory(6).rename({"label"}, {"image"}), "column names must be different");
}

TEST(Batch, PadsRowsOfDifferentShapesToTheLargestOfTheirBatch) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 4)).map(Resize(20));
  const Dataset data = folder.batch(3, {.pad = true});
  EXPECT_EQ(to_string(data.columns()), "image u8[3,?,?,3], label i32[3], mask u8[3]");
  Iterator it(data, {.workers = 2});
  std::uint64_t index = 0;
  while (const auto batch = it.next()) {
    const Shape shape = batch->image().shape();
    std::int64_t height = 0, width = 0;
    for (std::int64_t row = 0; row < batch->samples(); ++row, ++index) {
      const Tensor alone = replay(folder, 0, index).column("image");
      height = std::max(height, alone.shape()[0]);
      width = std::max(width, alone.shape()[1]);
      for (std::int64_t y = 0; y < shape[1]; ++y) {
        for (std::int64_t x = 0; x < shape[2] * 3; ++x) {
          const bool inside = y < alone.shape()[0] && x < alone.shape()[1] * 3;
          const std::uint8_t expected = inside ? alone.data<std::uint8_t>()[y * alone.shape()[1] * 3 + x] : 0;
          ASSERT_EQ(batch->image().data<std::uint8_t>()[((row * shape[1] + y) * shape[2]) * 3 + x], expected);
        }
      }
    }
    EXPECT_EQ(shape, (Shape{3, height, width, 3}));
  }
  EXPECT_EQ(index, 8u);
  Iterator small(data, {.memory_limit = 4000});
  EXPECT_ERROR(small.next(), "padded to");
}

TEST(Bucket, BatchesSamplesOfSimilarLength) {
  std::vector<std::string> texts;
  for (const int n : {1, 9, 2, 3, 12, 1, 4, 10, 5}) texts.emplace_back(static_cast<std::size_t>(n), 'a');
  const Dataset data = InMemory({{"text", Tensor::strings(texts)}}).bucket("text", {4, 9}, {2, 3, 2});
  for (const bool pull : {true, false}) {
    Iterator it(data, {.workers = 2, .epochs = 2, .pull = pull});
    std::vector<std::string> seen;
    while (const auto batch = it.next()) {
      std::string text = std::to_string(batch->rows()) + ":";
      for (std::int64_t i = 0; i < batch->samples(); ++i)
        text += " " + std::to_string(batch->column("text").string_values()[static_cast<std::size_t>(i)].size());
      seen.push_back(text);
    }
    const std::vector<std::string> epoch{"2: 1 2", "2: 9 12", "2: 3 1", "3: 4 5", "2: 10"};
    std::vector<std::string> twice = epoch;
    twice.insert(twice.end(), epoch.begin(), epoch.end());
    EXPECT_EQ(seen, twice);
  }
  EXPECT_EQ(data.batch_size(), 3);
  EXPECT_ERROR(InMemory({{"text", Tensor::strings(texts)}}).bucket("text", {4, 4}, {2, 3, 2}), "boundaries must be");
}

}  // namespace
}  // namespace ridgeline::data::testing
