#include "ridgeline/graph/pass/pipeline_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ridgeline {
namespace {

PipelinePlan plan(std::int64_t stages, std::int64_t micro_batches, PipelineOrder order) {
  return {.stages = stages, .micro_batches = micro_batches, .order = order};
}

// The largest number of micro-batches that a stage has run forward and not yet backward.
std::int64_t most_in_flight(const std::vector<PipelineSlot>& slots) {
  std::int64_t now = 0, most = 0;
  for (const PipelineSlot& slot : slots) {
    now += slot.backward ? -1 : 1;
    most = std::max(most, now);
  }
  return most;
}

constexpr PipelineOrder kOrders[] = {PipelineOrder::gpipe, PipelineOrder::one_f_one_b};

TEST(PipelineOrder, EveryStageRunsEveryMicroBatchBehindItsNeighbour) {
  for (const PipelineOrder order : kOrders) {
    for (const auto& [stages, micro] : {std::pair{2, 2}, {2, 5}, {4, 4}, {4, 8}}) {
      const auto slots = pipeline_slots(plan(stages, micro, order));
      const auto find = [&](std::size_t s, bool backward, std::int64_t m) {
        return *std::find_if(slots[s].begin(), slots[s].end(), [&](const PipelineSlot& slot) {
          return slot.backward == backward && slot.micro_batch == m;
        });
      };
      for (std::size_t s = 0; s < slots.size(); ++s) {
        ASSERT_EQ(slots[s].size(), static_cast<std::size_t>(2 * micro));
        for (std::size_t i = 1; i < slots[s].size(); ++i) EXPECT_GE(slots[s][i].begin, slots[s][i - 1].end);
        for (std::int64_t m = 0; m < micro; ++m) {
          EXPECT_GE(find(s, true, m).begin, find(s, false, m).end);
          if (s == 0) continue;
          EXPECT_GE(find(s, false, m).begin, find(s - 1, false, m).end);
          EXPECT_GE(find(s - 1, true, m).begin, find(s, true, m).end);
        }
      }
    }
  }
}

TEST(PipelineOrder, StagesWaitTheShareOfTheFormula) {
  for (const PipelineOrder order : kOrders) {
    for (const auto& [stages, micro] : {std::pair{2, 2}, {2, 8}, {4, 4}, {4, 8}, {8, 32}}) {
      const double formula = (stages - 1.0) / (micro + stages - 1.0);
      EXPECT_NEAR(pipeline_bubble(plan(stages, micro, order)), formula, 1e-12) << stages << " " << micro;
    }
  }
}

TEST(PipelineOrder, InTurnFewerMicroBatchesAreInFlight) {
  const auto all = pipeline_slots(plan(4, 8, PipelineOrder::gpipe));
  const auto in_turn = pipeline_slots(plan(4, 8, PipelineOrder::one_f_one_b));
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(most_in_flight(all[s]), 8);
    EXPECT_EQ(most_in_flight(in_turn[s]), static_cast<std::int64_t>(4 - s));
  }
}

}  // namespace
}  // namespace ridgeline
