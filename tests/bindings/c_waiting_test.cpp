// The C interface while it waits, and with callers compiled with another version of its header.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bindings/c/ridgeline_data.h"
#include "ridgeline/data/ir/generators.h"
#include "ridgeline/data/source/generator.h"

namespace ridgeline::data {
namespace {

#define EXPECT_OK(call) EXPECT_EQ(call, RIDGELINE_OK) << ridgeline_last_error()

// A program compiled with another header than the library's.
TEST(COptions, OfAnotherSizeAreFilledAsFarAsBothGo) {
  struct Guarded {
    ridgeline_options options;
    unsigned char behind[64];
  } guarded;
  const std::size_t least = offsetof(ridgeline_options, memory_user) + sizeof(void*);
  for (const std::size_t size : {least, sizeof(ridgeline_options), sizeof guarded}) {
    std::memset(&guarded, 0xa5, sizeof guarded);
    EXPECT_EQ(ridgeline_options_init_sized(&guarded.options, size), RIDGELINE_OK);
    const std::size_t filled = std::min(size, sizeof(ridgeline_options));
    EXPECT_EQ(guarded.options.struct_size, filled);
    EXPECT_EQ(guarded.options.epochs, 1);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&guarded);
    for (std::size_t i = filled; i < sizeof guarded; ++i) EXPECT_EQ(bytes[i], 0xa5) << i << " of " << size;
  }
  EXPECT_EQ(ridgeline_options_init_sized(&guarded.options, least - 1), RIDGELINE_USAGE);
  EXPECT_NE(std::string(ridgeline_last_error()).find("the first header's had"), std::string::npos);
}

// While one thread waits for a batch that never comes, other threads can call, and a wait with a timeout ends.
// Otherwise this test hangs.
TEST(CWaiting, AThreadThatWaitsForABatchHoldsUpNobody) {
  std::atomic<bool> go{false};
  register_generator("blocked", {.schema = {{"n", DType::i64, Shape{}}}, .rows = 4, .row = [&](std::int64_t i) {
                                   while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                   Tensor n(DType::i64, Shape{});
                                   n.data<std::int64_t>()[0] = i;
                                   return std::vector<Tensor>{n};
                                 }});
  ridgeline_dataset* dataset = nullptr;
  ridgeline_iterator* it = nullptr;
  EXPECT_OK(ridgeline_dataset_from_json(FromGenerator("blocked").batch(2).to_json().c_str(), &dataset));
  EXPECT_OK(ridgeline_iterator_create(dataset, nullptr, &it));
  const auto take_one = [&] {
    ridgeline_batch* batch = nullptr;
    EXPECT_OK(ridgeline_iterator_next(it, -1, &batch));
    EXPECT_OK(ridgeline_batch_free(batch));
  };
  std::thread waiting(take_one);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (int i = 0; i < 3; ++i) {
    char state[1024];
    EXPECT_OK(ridgeline_iterator_state(it, state, sizeof state, nullptr));
  }
  ridgeline_batch* batch = nullptr;
  EXPECT_EQ(ridgeline_iterator_next(it, 150, &batch), RIDGELINE_TIMEOUT);
  go = true;
  waiting.join();
  take_one();
  EXPECT_OK(ridgeline_iterator_free(it));
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

}  // namespace
}  // namespace ridgeline::data
