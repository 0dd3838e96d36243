// Samplers: which rows they choose, and that every position can be computed separately.
#include <map>
#include <set>

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

using V = std::vector<std::uint64_t>;

V records(const Dataset& data, std::int64_t epochs = 1) {
  Iterator it(data.batch(1), {.epochs = epochs, .pull = true});
  V all;
  while (const auto batch = it.next()) all.push_back(batch->records()[0]);
  return all;
}

TEST(Samplers, SequentialAndSubsetsTakeWhatTheyName) {
  const Dataset ten = rows_in_memory(10);
  EXPECT_EQ(records(ten.sample(SequentialSampler(3, 4))), (V{3, 4, 5, 6}));
  EXPECT_EQ(records(ten.sample(SequentialSampler(8, 4))), (V{8, 9}));
  EXPECT_EQ(records(ten.sample(SubsetSampler({4, 2, 2}))), (V{4, 2, 2}));
  const V random = records(ten.sample(SubsetRandomSampler({1, 3, 5, 7, 9})), 2);
  EXPECT_EQ(std::set<std::uint64_t>(random.begin(), random.begin() + 5), (std::set<std::uint64_t>{1, 3, 5, 7, 9}));
  EXPECT_NE(V(random.begin(), random.begin() + 5), V(random.begin() + 5, random.end()));
  EXPECT_ERROR(ten.sample(SubsetSampler({10})).size(), "index 10 is outside the 10 rows");
  EXPECT_ERROR(ten.sample(SubsetSampler({-1})), "index -1 is negative");
  EXPECT_ERROR(ten.sample(SequentialSampler(10)).size(), "start is 10, there are 10 rows");
}

TEST(Samplers, RandomWithAndWithoutReplacement) {
  const Dataset data = rows_in_memory(200);
  const V without = records(data.sample(RandomSampler({.count = 150})));
  EXPECT_EQ(std::set<std::uint64_t>(without.begin(), without.end()).size(), 150u);
  const V with = records(data.sample(RandomSampler({.replacement = true, .count = 20000})));
  ASSERT_EQ(with.size(), 20000u);
  std::vector<double> counts(200, 0);
  for (const std::uint64_t r : with) ++counts[r];
  double chi = 0;
  for (const double c : counts) chi += (c - 100) * (c - 100) / 100;
  EXPECT_LT(chi, 199 + 5 * 20);  // mean 199, standard deviation sqrt(2 * 199)
  EXPECT_GT(chi, 199 - 5 * 20);
}

TEST(Samplers, WeightsAreTheProbabilities) {
  const Dataset data = rows_in_memory(4);
  const V with = records(data.sample(WeightedRandomSampler({0, 1, 2, 7}, {.count = 20000})));
  std::map<std::uint64_t, double> counts;
  for (const std::uint64_t r : with) ++counts[r];
  EXPECT_EQ(counts.count(0), 0u);
  EXPECT_NEAR(counts[1], 2000, 5 * 42.4);
  EXPECT_NEAR(counts[2], 4000, 5 * 56.6);
  EXPECT_NEAR(counts[3], 14000, 5 * 64.8);
  // Without replacement: the first draw of each epoch follows the weights, later draws give different rows.
  const V epochs = records(data.sample(WeightedRandomSampler({0, 1, 2, 7}, {.replacement = false})), 4000);
  ASSERT_EQ(epochs.size(), 12000u);
  std::map<std::uint64_t, double> first;
  for (std::size_t i = 0; i < epochs.size(); i += 3) {
    ++first[epochs[i]];
    EXPECT_EQ(std::set<std::uint64_t>(epochs.begin() + static_cast<std::ptrdiff_t>(i),
                                      epochs.begin() + static_cast<std::ptrdiff_t>(i) + 3),
              (std::set<std::uint64_t>{1, 2, 3}));
  }
  EXPECT_NEAR(first[1], 400, 5 * 19);
  EXPECT_NEAR(first[3], 2800, 5 * 29);
}

TEST(Samplers, WeightsAreCheckedAsByMindData) {
  const Dataset data = rows_in_memory(2);
  EXPECT_ERROR(data.sample(WeightedRandomSampler({})), "weights vector must not be empty");
  EXPECT_ERROR(data.sample(WeightedRandomSampler({1, -1})), "weights vector must not contain negative numbers");
  EXPECT_ERROR(data.sample(WeightedRandomSampler({0, 0})), "elements of weights vector must not be all zero");
  EXPECT_ERROR(data.sample(WeightedRandomSampler({1, 1}, {.count = -3})), "count is -3, it must be at least -1");
  EXPECT_ERROR(data.sample(WeightedRandomSampler({1, 1, 1})).size(), "has 3 weights for 2 rows");
}

TEST(Samplers, AboveAShardCountTheBatchesOfEveryRank) {
  const Dataset nine = rows_in_memory(9);  // 5 rows and 4
  const std::vector<double> weights[] = {{1, 1, 1, 1, 1}, {1, 1, 1, 1}};
  for (const std::int64_t rank : {0, 1}) {
    const Dataset part = nine.shard(2, rank);
    for (const bool replacement : {true, false}) {
      const Dataset sampled = part.sample(WeightedRandomSampler(weights[rank], {.replacement = replacement}));
      EXPECT_EQ(sampled.size(), 5 - rank);
      EXPECT_EQ(sampled.batch(2).size(), 3);
      EXPECT_EQ(sampled.batch(2, {.drop_remainder = true}).size(), 2);
      Iterator it(sampled.batch(2), {.pull = true});
      std::int64_t batches = 0, rows = 0;
      for (; const auto batch = it.next(); ++batches) rows += batch->samples();
      EXPECT_EQ(batches, 3);
      EXPECT_EQ(rows, 5 - rank);
    }
    EXPECT_ERROR(part.sample(WeightedRandomSampler(weights[1 - rank])).batch(2).size(), "weights for");
  }
  // The last row of the longer shard, where the others have none.
  EXPECT_EQ(nine.shard(2, 0).sample(SequentialSampler(4)).batch(1, {.drop_remainder = true}).size(), 0);
  EXPECT_EQ(nine.shard(2, 0).sample(SubsetSampler({4})).batch(1, {.drop_remainder = true}).size(), 1);
}

TEST(Samplers, PKTakesKRowsOfPClasses) {
  Tensor labels = Tensor::of<std::int32_t>({5, 7, 5, 9, 7, 5, 9, 9, 9}, Shape{9});
  const Dataset data = InMemory({{"label", labels}});
  EXPECT_EQ(records(data.sample(PKSampler(2, {.shuffle = false}))), (V{0, 2, 1, 4, 3, 6}));
  const V drawn = records(data.sample(PKSampler(3, {.classes = 2})), 50);
  ASSERT_EQ(drawn.size(), 300u);
  std::set<std::int32_t> classes;
  for (std::size_t i = 0; i < drawn.size(); i += 3) {
    const auto label = [&](std::size_t k) { return labels.data<std::int32_t>()[drawn[k]]; };
    EXPECT_EQ(label(i), label(i + 1));
    EXPECT_EQ(label(i), label(i + 2));
    classes.insert(label(i));
  }
  EXPECT_EQ(classes, (std::set<std::int32_t>{5, 7, 9}));
  const V unique = records(data.sample(PKSampler(2, {.replacement = false})), 50);
  for (std::size_t i = 0; i < unique.size(); i += 2) EXPECT_NE(unique[i], unique[i + 1]);
  EXPECT_ERROR(records(data.sample(PKSampler(3, {.replacement = false}))), "class 7 has 2 rows, per_class is 3");
  EXPECT_ERROR(records(data.sample(PKSampler(1, {.classes = 4}))), "classes is 4, the source has 3");
  const Dataset real = InMemory({{"label", Tensor::of<float>({0, 2.7f}, Shape{2})}});
  EXPECT_ERROR(records(real.sample(PKSampler(1))), "the source has no labels to choose by");
  EXPECT_ERROR(real.num_classes(), "the number of classes is not known");
  EXPECT_ERROR(records(data.shuffle().sample(PKSampler(1))), "put it right above one, not above shuffle");
}

TEST(Samplers, DistributedPartsFollowMindDatasRule) {
  const Dataset ten = rows_in_memory(10);
  const auto part = [&](std::int64_t rank, DistributedSamplerOptions options) {
    options.shuffle = false;
    return records(ten.sample(DistributedSampler(4, rank, options)));
  };
  EXPECT_EQ(part(0, {}), (V{0, 4, 8}));
  EXPECT_EQ(part(2, {}), (V{2, 6, 0}));  // wrapped around
  EXPECT_EQ(part(1, {.even = false}), (V{1, 5, 9}));
  EXPECT_EQ(part(2, {.even = false}), (V{2, 6}));
  EXPECT_EQ(part(1, {.count = 2}), (V{1, 5}));
  EXPECT_EQ(part(1, {.offset = 1}), (V{0, 4, 8}));
  EXPECT_EQ(part(0, {.offset = 1, .even = false}), (V{3, 7}));
  std::multiset<std::uint64_t> all;
  for (int rank = 0; rank < 4; ++rank) {
    for (const std::uint64_t r : records(ten.sample(DistributedSampler(4, rank, {.even = false})))) all.insert(r);
  }
  EXPECT_EQ(all, (std::multiset<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_ERROR(ten.sample(DistributedSampler(4, 0, {.offset = 5})), "it should be no more than num_shards: 4");
}

TEST(Samplers, ChainTheLowerOnesRowsFeedTheUpperOne) {
  const Dataset data = rows_in_memory(100);
  EXPECT_EQ(records(data.sample(SequentialSampler(50, 10)).sample(SubsetSampler({9, 0}))), (V{59, 50}));
  const V drawn = records(data.sample(SequentialSampler(10, 5)).sample(WeightedRandomSampler({1, 0, 1, 0, 0})));
  ASSERT_EQ(drawn.size(), 5u);
  for (const std::uint64_t r : drawn) EXPECT_TRUE(r == 10 || r == 12) << r;
}

TEST(BufferShuffle, IsAPermutationThatStaysNear) {
  const Dataset data = rows_in_memory(1000).shuffle({.buffer = 50});
  const V rows = records(data);
  EXPECT_EQ(std::set<std::uint64_t>(rows.begin(), rows.end()).size(), 1000u);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_LE(rows[i], i + 50);
  EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end()));
  const V endless = records(rows_in_memory(10).repeat().shuffle({.buffer = 5}).take(1000));
  EXPECT_EQ(endless.size(), 1000u);
  EXPECT_EQ(records(rows_in_memory(3).shuffle({.buffer = 100})).size(), 3u);
}

// After a restore, every position of every sampler equals that of the uninterrupted run.
TEST(Samplers, EveryOneIsRestorableAtEveryBatch) {
  Tensor labels(DType::i32, Shape{24});
  for (int i = 0; i < 24; ++i) labels.data<std::int32_t>()[i] = i % 4;
  const Dataset source = InMemory({{"label", labels}});
  std::vector<double> weights(24, 1.0);
  weights[3] = 5;
  const std::vector<Dataset> all{
      source.sample(SequentialSampler(2, 20)),
      source.sample(RandomSampler()),
      source.sample(RandomSampler({.replacement = true, .count = 30})),
      source.sample(SubsetSampler({5, 1, 7, 3, 11})),
      source.sample(SubsetRandomSampler({5, 1, 7, 3, 11})),
      source.sample(WeightedRandomSampler(weights)),
      source.sample(WeightedRandomSampler(weights, {.replacement = false, .count = 10})),
      source.sample(PKSampler(3)),
      source.sample(PKSampler(3, {.replacement = false})),
      source.sample(DistributedSampler(3, 1)),
      source.sample(RandomSampler()).sample(SubsetRandomSampler({0, 2, 4, 6})),
      source.shuffle({.buffer = 7}),
      source.shuffle().filter(is_in("label", std::vector<double>{1, 3})),
      source.filter(compare("label", "not_equal", 2)).repeat(2).shuffle(),
      zip({source.shuffle(), source.rename({"label"}, {"other"}).sample(RandomSampler({.replacement = true}))}),
      concat({source.shuffle(), source.sample(PKSampler(2))}),
      mix({source.shuffle(), source.sample(RandomSampler()).take(5).repeat()}, {1, 2}, {.count = 31}),
  };
  for (const Dataset& rows : all) {
    const Dataset data = rows.batch(4);
    Iterator whole(data, {.epochs = 3, .pull = true});
    std::vector<IteratorState> states{whole.state()};
    std::vector<std::uint64_t> digests_of_batches;
    while (const auto batch = whole.next()) {
      digests_of_batches.push_back(digest(batch->label()));
      states.push_back(batch->state_after());
      EXPECT_LT(states.back().to_json().size(), 1024u);
    }
    for (std::size_t k = 0; k + 1 < states.size(); ++k) {
      Iterator rest(data, {.workers = static_cast<int>(1 + k % 3), .epochs = 3, .start = states[k]});
      for (std::size_t i = k; i < digests_of_batches.size(); ++i) {
        const auto batch = rest.next();
        ASSERT_TRUE(batch.has_value());
        ASSERT_EQ(digest(batch->label()), digests_of_batches[i]) << data.to_json() << " from " << k << " at " << i;
      }
      EXPECT_FALSE(rest.next().has_value());
    }
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
