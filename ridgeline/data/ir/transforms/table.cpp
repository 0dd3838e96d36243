#include <iterator>

#include "ridgeline/data/ir/transforms/entries.h"

namespace ridgeline::data {

const std::vector<TransformEntry>& transform_table() {
  static const std::vector<TransformEntry> table = [] {
    std::vector<TransformEntry> all;
    for (std::vector<TransformEntry> (*part)() :
         {geometry_entries, warp_entries, colour_entries, random_colour_entries, erase_entries, policy_entries,
          value_entries, nested_entries, box_entries, batch_operation_entries, fused_entries}) {
      std::vector<TransformEntry> entries = part();
      std::move(entries.begin(), entries.end(), std::back_inserter(all));
    }
    return all;
  }();
  return table;
}

}  // namespace ridgeline::data
