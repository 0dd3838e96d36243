#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {

DataGraph resolve_schema(DataGraph graph) {
  const std::map<std::string, Schema> schemas = schemas_of(graph);
  for (Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    for (std::size_t i = 0; i < node.operations.size(); ++i) {
      if (!transform_entry(node.operations[i].op).needs_pixels) continue;
      const Schema before = schema_after(node, schemas.at(node.inputs[0]), i);
      const Column* image = find_column(before, "image");
      if (image && image->dtype == DType::bytes) {
        node.operations.insert(node.operations.begin() + static_cast<std::ptrdiff_t>(i), {"decode", {}, ""});
      }
    }
  }
  give_names(graph);
  return graph;
}

}  // namespace ridgeline::data
