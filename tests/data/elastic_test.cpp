// Resuming with another number of ranks: 1, 2 and 4 with the same global batch size, also after a kill.
#include <signal.h>
#include <sys/wait.h>

#include <set>

#include "helpers.h"
#include "ridgeline/core/file.h"

namespace ridgeline::data::testing {
namespace {

constexpr std::int64_t kGlobalBatch = 8;

Dataset rank_of(const std::string& dir, std::int64_t ranks, std::int64_t rank, bool drop) {
  return ImageFolder(dir)
      .shuffle()
      .shard(ranks, rank)
      .map(RandomResizedCrop(12), RandomHorizontalFlip(), Normalize::imagenet())
      .batch(kGlobalBatch / ranks, {.drop_remainder = drop})
      .with_seed(21);
}

// What all ranks together deliver in every step: digests of rows by record.
using GlobalBatch = std::multiset<std::pair<std::uint64_t, std::uint64_t>>;

std::vector<GlobalBatch> run_ranks(const std::string& dir, std::int64_t ranks, bool drop, std::int64_t epochs,
                                   std::optional<IteratorState> start = {},
                                   std::vector<IteratorState>* states = nullptr) {
  std::vector<Iterator> its;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    its.emplace_back(rank_of(dir, ranks, rank, drop),
                     IteratorOptions{.workers = static_cast<int>(1 + rank), .epochs = epochs, .start = start});
  }
  std::vector<GlobalBatch> all;
  while (true) {
    GlobalBatch global;
    std::int64_t ended = 0;
    for (std::size_t rank = 0; rank < its.size(); ++rank) {
      const auto batch = its[rank].next();
      if (!batch) {
        ++ended;
        continue;
      }
      if (rank == 0 && states) states->push_back(batch->state_after());
      const std::size_t row = batch->image().byte_size() / static_cast<std::size_t>(batch->rows());
      for (std::int64_t i = 0; i < batch->samples(); ++i) {
        global.emplace(
            batch->records()[static_cast<std::size_t>(i)],
            hash64({static_cast<const char*>(batch->image().raw()) + static_cast<std::size_t>(i) * row, row}));
      }
    }
    EXPECT_TRUE(ended == 0 || ended == ranks) << "all ranks have the same number of batches";
    if (ended > 0) return all;
    all.push_back(std::move(global));
  }
}

TEST(Elastic, TheRemainderIsTheSameForOneTwoAndFourRanks) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 3, 9);  // 27: the ranks get different numbers of rows
  for (const bool drop : {true, false}) {
    std::vector<IteratorState> states;
    const std::vector<GlobalBatch> whole = run_ranks(folder, 1, drop, 2, {}, &states);
    ASSERT_EQ(whole.size(), drop ? 6u : 8u);
    std::size_t rows = 0;
    for (const GlobalBatch& batch : whole) rows += batch.size();
    EXPECT_EQ(rows, drop ? 48u : 54u);
    for (const std::int64_t ranks : {2, 4}) {
      EXPECT_EQ(run_ranks(folder, ranks, drop, 2), whole) << ranks;
      for (std::size_t k = 0; k + 1 < states.size(); ++k) {
        EXPECT_EQ(run_ranks(folder, ranks, drop, 2, states[k]),
                  std::vector<GlobalBatch>(whole.begin() + static_cast<std::ptrdiff_t>(k) + 1, whole.end()))
            << ranks << " ranks from " << k;
      }
    }
    std::vector<IteratorState> of_four;
    run_ranks(folder, 4, drop, 2, {}, &of_four);
    EXPECT_EQ(of_four, states);
  }
}

TEST(Elastic, AnotherGlobalBatchOrShuffleWithinTheRankIsAnotherRun) {
  const Dataset one = rows_in_memory(40).shuffle().shard(2, 1).batch(4);
  EXPECT_EQ(one.hash(), rows_in_memory(40).shuffle().batch(8).hash());
  EXPECT_EQ(one.hash(), rows_in_memory(40).shuffle().shard(4, 3).batch(2).hash());
  EXPECT_NE(one.hash(), rows_in_memory(40).shuffle().shard(2, 1).batch(8).hash());
  // Mixed samples have partners on their own rank, so other numbers of ranks give other batches.
  const auto mixed = [](std::int64_t ranks) {
    return rows_in_memory(40)
        .shuffle()
        .shard(ranks, 0)
        .map_columns({"label"}, {OneHot(40)})
        .batch(8 / ranks, {.operations = {MixUp()}})
        .hash();
  };
  EXPECT_NE(mixed(1), mixed(2));
  EXPECT_NE(rows_in_memory(40).shard(2, 1).shuffle().batch(4).hash(), rows_in_memory(40).shuffle().batch(8).hash());
  EXPECT_NE(rows_in_memory(40).shard(2, 1).shuffle().batch(4).hash(),
            rows_in_memory(40).shard(4, 1).shuffle().batch(2).hash());
}

TEST(Elastic, ARunThatIsKilledGoesOnFromItsLastSavedState) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 2, 10);
  const Dataset data = rank_of(folder, 1, 0, true);
  Iterator whole(data, {.epochs = 4, .pull = true});
  const std::vector<std::uint64_t> expected = digests(whole);
  for (int victim = 0; victim < 4; ++victim) {
    const std::string state = dir / ("state" + std::to_string(victim));
    const ::pid_t child = ::fork();
    if (child == 0) {
      // Saves after every batch until it is killed.
      Iterator it(data, {.workers = 1 + victim, .epochs = kForever});
      for (int k = 0; it.next(); ++k) {
        it.save(state);
        if (k == 1 + 2 * victim) ::kill(::getpid(), SIGKILL);
      }
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const IteratorState saved = IteratorState::from_json(read_file(state));
    const std::size_t done = saved.epoch * 2 + saved.delivered;
    EXPECT_EQ(done, static_cast<std::size_t>(2 + 2 * victim));
    Iterator rest(data, {.workers = 3, .epochs = 4, .start = saved});
    EXPECT_EQ(digests(rest),
              std::vector<std::uint64_t>(expected.begin() + static_cast<std::ptrdiff_t>(done), expected.end()));
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
