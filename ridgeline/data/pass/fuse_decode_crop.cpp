#include <algorithm>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// The transform that replaces the first of these operations, or null.
const TransformEntry* fusing(std::span<const Transform> operations) {
  for (const TransformEntry& entry : transform_table()) {
    const std::size_t count = entry.fuses.size();
    if (count > 0 && count <= operations.size() &&
        std::equal(entry.fuses.begin(), entry.fuses.end(), operations.begin(),
                   [](const std::string& op, const Transform& t) { return t.op == op; }))
      return &entry;
  }
  return nullptr;
}

}  // namespace

DataGraph fuse_decode_crop(DataGraph graph) {
  for (Node& node : graph.nodes) {
    std::vector<Transform> fused;
    for (std::span<const Transform> rest = node.operations; !rest.empty();) {
      const TransformEntry* entry = fusing(rest);
      const std::size_t count = entry ? entry->fuses.size() : 1;
      fused.push_back(entry ? entry->fuse(rest.first(count)) : rest.front());
      rest = rest.subspan(count);
    }
    node.operations = std::move(fused);
  }
  return graph;
}

}  // namespace ridgeline::data
