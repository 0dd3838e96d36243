#include <utility>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/transform/made_by_passes.h"

namespace ridgeline::data {

DataGraph fuse_resize(DataGraph graph) {
  for (Node& node : graph.nodes) {
    std::vector<Transform> fused;
    for (Transform& operation : node.operations) {
      if (transform_entry(operation.op).takes_rows && !fused.empty() &&
          transform_entry(fused.back().op).ends_in_resize) {
        fused.back() = ResizeWrite(std::move(fused.back()), std::move(operation));
      } else {
        fused.push_back(std::move(operation));
      }
    }
    node.operations = std::move(fused);
  }
  return graph;
}

}  // namespace ridgeline::data
