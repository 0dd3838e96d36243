// Filters and buckets read rows on all workers and give the result of one thread.
#include <condition_variable>
#include <mutex>
#include <set>

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

// Calls wait until two of them run at the same time.
class Meeting {
 public:
  void come() {
    std::unique_lock lock(mutex_);
    if (++inside_ >= 2) met_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::minutes(1), [&] { return met_; });
    --inside_;
  }
  // Whether two calls ran at the same time since the last question.
  bool met() {
    const std::lock_guard lock(mutex_);
    return std::exchange(met_, false);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool met_ = false;
};

Meeting& meeting() {
  static Meeting meeting;
  static const bool registered = [] {
    register_predicate("meets", [](const Tensor& x) {
      meeting.come();
      return x.at(0) != 1;
    });
    register_function("meets", [](const Tensor& x) {
      meeting.come();
      return x.clone();
    });
    register_predicate("uneven time", [](const Tensor& x) {
      const auto v = static_cast<int>(x.at(0));
      std::this_thread::sleep_for(std::chrono::microseconds(v % 7 * 20));
      return v % 3 != 0;
    });
    return true;
  }();
  (void)registered;
  return meeting;
}

TEST(RowScan, AFiltersTestsRunOnSeveralWorkersAtOnce) {
  meeting();
  Iterator it(rows_in_memory(40).filter(passes("label", "meets")).batch(4), {.workers = 3});
  while (it.next()) {
  }
  EXPECT_TRUE(meeting().met());
}

TEST(RowScan, ABucketsLengthsAreFoundOnSeveralWorkersAtOnce) {
  meeting();
  const Dataset rows = rows_in_memory(40).map_columns({"label"}, {Function("meets")});
  Iterator it(rows.bucket("image", {3, 5}, {4, 4, 4}), {.workers = 3});
  while (it.next()) {
  }
  EXPECT_TRUE(meeting().met());
}

TEST(RowScan, SamplesDoNotDependOnWhoLooked) {
  meeting();
  const Dataset filtered = rows_in_memory(151).shuffle().filter(passes("label", "uneven time"));
  const Dataset twice = filtered.filter(compare("label", "greater", 11));
  for (const Dataset& data : {filtered.batch(16), twice.batch(16), twice.bucket("image", {3, 5}, {8, 16, 16})}) {
    Iterator pulled(data, {.epochs = 3, .pull = true});
    const std::uint64_t expected = digest(pulled);
    for (const int workers : {1, 2, 7}) {
      Iterator it(data, {.workers = workers, .epochs = 3});
      EXPECT_EQ(digest(it), expected) << workers << " workers";
    }
  }
}

TEST(RowScan, AnEpochEndsWhereItsRowsEnd) {
  meeting();
  for (const std::int64_t n : {1, 2, 63, 64, 65, 129}) {
    Iterator it(rows_in_memory(n).filter(compare("label", "greater_equal", 0)).batch(1), {.workers = 3});
    std::int64_t rows = 0;
    while (it.next()) ++rows;
    EXPECT_EQ(rows, n);
  }
}

TEST(RowScan, ARunThatStopsWhileRowsAreLookedAtEndsSoon) {
  meeting();
  for (int i = 0; i < 20; ++i) {
    Iterator it(rows_in_memory(2000).filter(passes("label", "uneven time")).batch(8), {.workers = 4});
    EXPECT_TRUE(it.next());
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
