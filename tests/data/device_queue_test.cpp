// The queue between a dataset and its consumer: send, stop, continue.
#include "ridgeline/data/runtime/device_queue.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

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
  queue.receive();
  queue.receive();
  EXPECT_ERROR(queue.receive(), "is stopped and empty: call resume()");
  EXPECT_EQ(queue.sent(), sent);  // places that became free stay free
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

TEST(DeviceQueue, ASecondSendIsAnErrorWithTheLine) {
  DeviceQueue queue(rows_in_memory(10).batch(2), {.workers = 1});
  queue.send();
  const auto again = [&] { queue.send(); };
  EXPECT_ERROR(again(), "send() was called before: it starts the queue once, and resume() goes on behind stop() (" +
                            std::string(__FILE__) + ":" + std::to_string(__LINE__ - 2) + ")");
  EXPECT_TRUE(queue.receive().has_value()) << "the queue goes on";
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

TEST(DeviceQueue, WaitsForABatchThatIsStillHeld) {
  // Three slots, two in the queue: the receiver holds the old batch while it takes the new one.
  DeviceQueue queue(rows_in_memory(60).batch(2), {.workers = 1, .slots = 3});
  queue.send();
  std::optional<Batch> batch;
  for (std::uint64_t i = 0; i < 30; ++i) {
    batch = queue.receive();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->index(), i);
    if (i < 28) wait_until([&] { return queue.waiting() == 2; });
  }
  EXPECT_FALSE(queue.receive());
}

TEST(DeviceQueue, HoldingEverySlotIsAnErrorThatReleasingMends) {
  DeviceQueue queue(rows_in_memory(60).batch(2), {.workers = 2, .slots = 4});
  queue.send();
  std::vector<Batch> held;
  for (int i = 0; i < 4; ++i) held.push_back(std::move(*queue.receive()));
  EXPECT_ERROR(queue.receive(), "all 4 batch slots are held: release a Batch");
  queue.stop();  // the sender waits for a slot
  queue.resume();
  held.erase(held.begin());
  EXPECT_EQ(queue.receive()->index(), 4u);
}

TEST(DeviceQueue, EndsWhileItsSenderWaits) {
  std::vector<Batch> held;
  {
    DeviceQueue queue(rows_in_memory(60).batch(2), {.workers = 2, .slots = 3});
    queue.send();
    for (int i = 0; i < 3; ++i) held.push_back(std::move(*queue.receive()));
  }
  EXPECT_EQ(held[2].index(), 2u);
  static std::atomic<int> calls{0};
  register_function("counts its calls", [](const Tensor& x) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return x.clone();
  });
  constexpr int kBatch = 10'000;
  {
    DeviceQueue queue(rows_in_memory(2 * kBatch).map_columns({"label"}, {Function("counts its calls")}).batch(kBatch),
                      {.workers = 1});
    queue.send();
    wait_until([&] { return calls > 0; });
  }
  EXPECT_LT(calls, kBatch) << "the batch was made to its end";
}

}  // namespace
}  // namespace ridgeline::data::testing
