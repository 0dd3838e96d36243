#include <utility>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {

DataGraph fuse_resize(DataGraph graph) {
  for (Node& node : graph.nodes) {
    std::vector<Transform> fused;
    for (Transform& operation : node.operations) {
      if (operation.op == "write" && !fused.empty() && transform_entry(fused.back().op).ends_in_resize) {
        Transform resize = std::exchange(fused.back(), {"resize_write", {}, ""});
        fused.back().operations = {std::move(resize), std::move(operation)};
      } else {
        fused.push_back(std::move(operation));
      }
    }
    node.operations = std::move(fused);
  }
  return graph;
}

}  // namespace ridgeline::data
