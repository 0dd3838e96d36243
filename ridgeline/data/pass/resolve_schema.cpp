#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {

DataGraph resolve_schema(DataGraph graph) {
  const std::map<std::string, Schema> schemas = schemas_of(graph);
  for (Node& node : graph.nodes) {
    if (node.inputs.empty()) continue;
    const std::vector<std::string>& columns = columns_of(node);
    for (std::size_t i = 0; i < node.operations.size(); ++i) {
      const auto pixels = [&](const std::string& name) { return needs_pixels(node.operations[i], name); };
      if (std::none_of(columns.begin(), columns.end(), pixels)) continue;
      const Schema before = schema_after(node, schemas.at(node.inputs[0]), i);
      const auto encoded = [&](const std::string& name) {
        return pixels(name) && find_column(before, name)->dtype == DType::bytes;
      };
      const auto count = std::count_if(columns.begin(), columns.end(), encoded);
      if (count == 0) continue;
      if (count < static_cast<std::ptrdiff_t>(columns.size()))
        throw Error("[map] some of its columns are encoded and some are not: decode them in a map of their own");
      Transform decode{decoding_entry().op, {}, ""};
      complete_args(decode.op, decoding_entry().args, decode.args);
      node.operations.insert(node.operations.begin() + static_cast<std::ptrdiff_t>(i), std::move(decode));
    }
  }
  give_names(graph);
  return graph;
}

}  // namespace ridgeline::data
