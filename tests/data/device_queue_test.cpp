// The queue between a dataset and its consumer: Send, Stop, Continue.
#include "ridgeline/data/runtime/device_queue.h"

#include <chrono>
#include <thread>

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

void wait_until(const std::function<bool()>& done) {
  for (int i = 0; i < 2000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(done());
}

TEST(DeviceQueue, DeliversWhatTheIteratorDoes) {
  const Dataset data = rows_in_memory(23).shuffle().batch(4);
  Iterator reference(data, {.epochs = 2, .pull = true});
  const std::vector<std::uint64_t> expected = digests(reference);
  DeviceQueue queue(data, {.workers = 2, .epochs = 2});
  queue.send();
  std::size_t i = 0;
  while (const auto batch = queue.receive()) {
    std::uint64_t seed = 0;
    for (const Column& column : batch->columns()) seed = digest(batch->column(column.name), seed);
    ASSERT_LT(i, expected.size());
    EXPECT_EQ(seed, expected[i++]);
    EXPECT_EQ(queue.state(), batch->state_after());
  }
  EXPECT_EQ(i, expected.size());
  EXPECT_EQ(queue.sent(), static_cast<std::int64_t>(expected.size()));
}

TEST(DeviceQueue, StopsAndGoesOnWithoutLosingABatch) {
  DeviceQueue queue(rows_in_memory(100).batch(2), {.workers = 2}, {.depth = 3});
  queue.send();
  wait_until([&] { return queue.waiting() == 3; });
  queue.stop();
  const std::int64_t sent = queue.sent();
  EXPECT_EQ(queue.receive()->index(), 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queue.sent(), sent);  // the place that became free stays free
  queue.receive();
  queue.receive();
  EXPECT_ERROR(queue.receive(), "is stopped and empty: call resume()");
  queue.resume();
  for (std::uint64_t i = 3; i < 50; ++i) EXPECT_EQ(queue.receive()->index(), i);
  EXPECT_FALSE(queue.receive().has_value());
}

TEST(DeviceQueue, ThrowsTheDatasErrorAtItsBatch) {
  register_function("fails_on_5", [](const Tensor& x) {
    if (x.at(0) == 5) throw Error("five");
    return x.clone();
  });
  DeviceQueue queue(rows_in_memory(10).map_columns({"label"}, {Function("fails_on_5")}).batch(2), {.workers = 2});
  EXPECT_ERROR(queue.receive(), "call send() first");
  queue.send();
  queue.receive();
  queue.receive();
  EXPECT_ERROR(queue.receive(), "five");
  EXPECT_ERROR(queue.receive(), "five");
  EXPECT_ERROR(DeviceQueue(rows_in_memory(10).batch(2), {}, {.depth = 8}), "depth is 8");
}

TEST(DeviceQueue, ABatchIsAViewOfItsSlotAndOutlivesTheQueue) {
  std::optional<Batch> kept;
  {
    DeviceQueue queue(rows_in_memory(10).batch(5), {.workers = 1});
    queue.send();
    kept = queue.receive();
  }
  EXPECT_EQ(kept->label().data<std::int32_t>()[4], 4);
}

}  // namespace
}  // namespace ridgeline::data::testing
