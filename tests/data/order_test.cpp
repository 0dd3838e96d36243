// Which record is row i of epoch e.
#include <set>

#include "helpers.h"
#include "ridgeline/data/runtime/pipeline.h"

namespace ridgeline::data::testing {
namespace {

// The source records of one epoch in order.
std::vector<std::uint64_t> records(const Dataset& dataset, std::uint64_t epoch, std::int64_t most = -1) {
  const Pipeline pipeline(dataset, {});
  std::vector<std::uint64_t> out;
  const Rows& rows = pipeline.rows();
  Scratch scratch(pipeline.places());
  std::vector<Cell> cells(rows.schema().size());
  for (std::uint64_t i = 0; most >= 0 ? i < static_cast<std::uint64_t>(most) : rows.has({epoch, i}); ++i) {
    scratch.begin();
    out.push_back(rows.run({epoch, i}, {}, cells.data(), scratch).record);
  }
  return out;
}

TEST(Order, ShuffleVisitsEveryRecordOnceInEveryEpoch) {
  for (const std::int64_t n : {1, 2, 3, 100, 70000}) {
    Tensor column = Tensor::zeros(DType::u8, Shape{n});
    const Dataset data = InMemory({{"x", column}}).shuffle();
    for (const std::uint64_t epoch : {0, 1, 7}) {
      const std::vector<std::uint64_t> order = records(data, epoch);
      EXPECT_EQ(std::set<std::uint64_t>(order.begin(), order.end()).size(), static_cast<std::size_t>(n));
      EXPECT_LT(*std::max_element(order.begin(), order.end()), static_cast<std::uint64_t>(n));
    }
  }
}

TEST(Order, DependsOnEpochAndSeedAndOnNothingElse) {
  const Dataset data = rows_in_memory(100).shuffle();
  EXPECT_EQ(records(data, 3), records(data, 3));
  EXPECT_NE(records(data, 3), records(data, 4));
  EXPECT_NE(records(data, 3), records(data.with_seed(1), 3));
  const Dataset own = rows_in_memory(100).shuffle({.seed = 9});
  EXPECT_EQ(records(own, 3), records(own.with_seed(5), 3));
}

TEST(Order, TakeSkipShardAndRepeatArrangeWhatIsBelow) {
  using V = std::vector<std::uint64_t>;
  const Dataset ten = rows_in_memory(10);
  EXPECT_EQ(records(ten.take(3), 0), (V{0, 1, 2}));
  EXPECT_EQ(records(ten.take(-1).skip(7), 0), (V{7, 8, 9}));
  EXPECT_EQ(records(ten.skip(2).take(2), 0), (V{2, 3}));
  EXPECT_EQ(records(ten.shard(3, 0), 0), (V{0, 3, 6, 9}));
  EXPECT_EQ(records(ten.shard(3, 2), 0), (V{2, 5, 8}));
  EXPECT_EQ(records(ten.shard(20, 15), 0), V{});
  EXPECT_EQ(records(ten.take(2).repeat(3), 0), (V{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(records(ten.take(2).repeat(), 0, 5), (V{0, 1, 0, 1, 0}));
  EXPECT_EQ(records(ten.take(3).repeat().skip(2).take(4), 0), (V{2, 0, 1, 2}));
}

TEST(Order, ShardsOfAShuffleAreDisjointAndComplete) {
  const Dataset data = rows_in_memory(103).shuffle();
  std::set<std::uint64_t> seen;
  for (int rank = 0; rank < 4; ++rank) {
    for (const std::uint64_t r : records(data.shard(4, rank), 2)) EXPECT_TRUE(seen.insert(r).second);
  }
  EXPECT_EQ(seen.size(), 103u);
}

TEST(Order, EveryPassOfARepeatIsAnEpochOfItsOwn) {
  const Dataset data = rows_in_memory(50).shuffle();
  const std::vector<std::uint64_t> twice = records(data.repeat(2), 1);
  std::vector<std::uint64_t> passes = records(data, 2);
  const std::vector<std::uint64_t> second = records(data, 3);
  passes.insert(passes.end(), second.begin(), second.end());
  EXPECT_EQ(twice, passes);
}

TEST(Order, ShuffleOfEndlessRowsIsRefused) {
  EXPECT_ERROR(rows_in_memory(5).repeat().shuffle().size(), "put shuffle before repeat");
}

}  // namespace
}  // namespace ridgeline::data::testing
