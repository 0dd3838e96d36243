// ridgeline/data/pass/batch_plan.h
//
// Decisions of the last passes about the batches of a run: where columns are in a batch's memory, how many batches are
// prepared at a time, and how many workers make their rows. The decisions are hints of the batch node, so that they can
// be seen in the graph; plan_of() reads them, with defaults for passes that were left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// A column of a batch in its memory.
struct SlotColumn {
  std::size_t offset = 0;
  std::size_t row_bytes = 0;  // of one row; 0 for byte strings and for columns that are padded
  bool padded = false;        // rows differ in shape: collected one by one, joined when all are complete
};

struct SlotLayout {
  std::vector<SlotColumn> columns;
  std::size_t bytes = 0;
};
inline constexpr std::size_t kSlotAlignment = 64;
// Columns one after the other, each aligned. `columns` are a batch's, with the batch extent in front.
SlotLayout slot_layout(const Schema& columns, std::int64_t rows);

// The largest number of rows of a batch of this node.
std::int64_t batch_capacity(const Node& batch);

struct BatchPlan {
  std::int64_t memory_limit = 0;  // bytes of all slots; and of the padded columns of all batches in them
  std::int64_t slots = 0;         // batches that are prepared or lent at one time
  int workers = 0;
  std::int64_t rows_at_once = 0;  // rows that a worker takes at a time
};
// Defaults: enough for one batch in use and one in preparation, however large they are.
inline constexpr std::int64_t kDefaultMemory = std::int64_t{512} << 20, kLeastSlots = 2;
// Without hints: kLeastSlots whatever their size (padded columns up to kDefaultMemory), one worker, one row at a time.
BatchPlan plan_of(const Node& batch);

}  // namespace ridgeline::data
