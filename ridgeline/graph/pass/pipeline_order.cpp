#include "ridgeline/graph/pass/pipeline_order.h"

#include <algorithm>

namespace ridgeline {
namespace {

constexpr std::int64_t kForwardTicks = 1, kBackwardTicks = 2;

// What the stage does, in order: forward slots until it has as many in flight as it may, then backward and forward in
// turn. Stage s of S has S - s micro-batches in flight; under gpipe all.
std::vector<PipelineSlot> order_of(const PipelinePlan& plan, std::int64_t stage) {
  const std::int64_t most =
      plan.order == PipelineOrder::gpipe ? plan.micro_batches : std::min(plan.micro_batches, plan.stages - stage);
  std::vector<PipelineSlot> slots;
  std::int64_t forward = 0, backward = 0;
  while (backward < plan.micro_batches) {
    const bool full = forward - backward == most || forward == plan.micro_batches;
    slots.push_back({full, full ? backward++ : forward++});
  }
  return slots;
}

}  // namespace

std::vector<std::vector<PipelineSlot>> pipeline_slots(const PipelinePlan& plan) {
  const auto stages = static_cast<std::size_t>(plan.stages), micro = static_cast<std::size_t>(plan.micro_batches);
  std::vector<std::vector<PipelineSlot>> slots;
  for (std::int64_t s = 0; s < plan.stages; ++s) slots.push_back(order_of(plan, s));
  std::vector<std::vector<std::int64_t>> forward(stages, std::vector<std::int64_t>(micro, -1)), backward = forward;
  std::vector<std::size_t> next(stages, 0);
  std::vector<std::int64_t> free(stages, 0);
  for (std::size_t left = stages * micro * 2; left > 0;) {
    for (std::size_t s = 0; s < stages; ++s) {
      if (next[s] == slots[s].size()) continue;
      PipelineSlot& slot = slots[s][next[s]];
      const auto m = static_cast<std::size_t>(slot.micro_batch);
      // A backward slot of the last stage needs only its own forward slot, which precedes it.
      std::int64_t ready = 0;
      if (!slot.backward && s > 0) ready = forward[s - 1][m];
      if (slot.backward && s + 1 < stages) ready = backward[s + 1][m];
      if (ready < 0) continue;
      slot.begin = std::max(free[s], ready);
      slot.end = slot.begin + (slot.backward ? kBackwardTicks : kForwardTicks);
      free[s] = slot.end;
      (slot.backward ? backward : forward)[s][m] = slot.end;
      ++next[s];
      --left;
    }
  }
  return slots;
}

double pipeline_bubble(const PipelinePlan& plan) {
  std::int64_t end = 0;
  for (const auto& stage : pipeline_slots(plan)) end = std::max(end, stage.back().end);
  const auto busy = static_cast<double>(plan.micro_batches * (kForwardTicks + kBackwardTicks));
  return 1 - busy / static_cast<double>(end);
}

}  // namespace ridgeline
