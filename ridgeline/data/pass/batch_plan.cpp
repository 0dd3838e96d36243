#include "ridgeline/data/pass/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment; }

// 0: the value without the hint.
std::int64_t hint_or(const Node& node, const char* name, std::int64_t otherwise) {
  const auto found = node.hints.find(name);
  return found == node.hints.end() || found->second == 0 ? otherwise : found->second;
}

}  // namespace

SlotLayout slot_layout(const Schema& columns, std::int64_t rows) {
  // So that a few batches can be counted, too.
  constexpr std::size_t kMostBytes = std::numeric_limits<std::int64_t>::max() / 16;
  SlotLayout layout;
  for (const Column& column : columns) {
    SlotColumn place{.offset = layout.bytes};
    const auto times = [&](std::size_t bytes, std::int64_t extent) {
      const auto factor = static_cast<std::size_t>(std::max<std::int64_t>(0, extent));
      if (bytes > 0 && factor > kMostBytes / bytes)
        throw Error(fmt::format("a batch of {} rows has more bytes than can be counted: {}", rows, to_string(columns)));
      return bytes * factor;
    };
    std::size_t bytes = size_of(column.dtype);
    for (int d = 1; d < column.shape.rank(); ++d) {
      place.padded |= column.shape[d] == kVaries;
      bytes = times(bytes, column.shape[d]);
    }
    place.row_bytes = place.padded ? 0 : bytes;
    layout.bytes = times(1, static_cast<std::int64_t>(layout.bytes + aligned(times(place.row_bytes, rows))));
    layout.columns.push_back(place);
  }
  layout.bytes = std::max(layout.bytes, kSlotAlignment);
  return layout;
}

std::int64_t batch_capacity(const Node& batch) {
  if (batch.op == node_name::kBatch) return arg<std::int64_t>(batch.args, "size");
  const Integers& sizes = arg<Integers>(batch.args, "sizes");
  return *std::max_element(sizes.begin(), sizes.end());
}

BatchPlan plan_of(const Node& batch) {
  return {.memory_limit = hint_or(batch, "memory_limit", kDefaultMemory),
          .slots = hint_or(batch, "slots", kLeastSlots),
          .workers = static_cast<int>(hint_or(batch, "workers", 1)),
          .rows_at_once = hint_or(batch, "rows_at_once", 1)};
}

}  // namespace ridgeline::data
