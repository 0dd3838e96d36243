#include <algorithm>
#include <set>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// The walk from a batch down to the maps that make its columns.
class Marker {
 public:
  explicit Marker(DataGraph& graph) : graph_(graph), schemas_(schemas_of(graph)) {}

  // `columns` of the rows of `id` are in the batch unchanged.
  void mark(const std::string& id, const Texts& columns) {
    Node& node = graph_.node(id);
    // A result with several readers is kept for all of them; one may read it twice.
    if (columns.empty() || readers_of(graph_, id).size() > 1 || !marked_.emplace(id, columns).second) return;
    switch (node_entry(node.op).kind) {
      case NodeKind::source:
      case NodeKind::batch: return;
      case NodeKind::map: return mark_map(node, columns);
      case NodeKind::columns: return mark(node.inputs[0], names_below(node, columns));
      case NodeKind::order:
      case NodeKind::filter:
      case NodeKind::cache: return mark(node.inputs[0], columns);
      case NodeKind::join: {
        for (const std::string& input : std::vector<std::string>(node.inputs)) {
          Texts own;
          std::copy_if(columns.begin(), columns.end(), std::back_inserter(own),
                       [&](const std::string& name) { return find_column(schemas_.at(input), name) != nullptr; });
          mark(input, own);
        }
      }
    }
  }

 private:
  void mark_map(Node& map, const Texts& columns) {
    const std::vector<std::string>& made = columns_of(map);
    const Schema& given = schemas_.at(map.inputs[0]);
    Texts below;
    for (const std::string& name : columns) {
      if (std::find(made.begin(), made.end(), name) != made.end())
        map.hints["write_slots"] = 1;
      else if (find_column(given, name))  // else the map adds it: the flips of raw images
        below.push_back(name);
    }
    mark(map.inputs[0], below);
  }

  // project leaves columns out; rename keeps their order.
  Texts names_below(const Node& node, const Texts& columns) const {
    if (node.op == node_name::kProject) return columns;
    const Schema &above = schemas_.at(node.id), &below = schemas_.at(node.inputs[0]);
    Texts names;
    for (const std::string& name : columns)
      names.push_back(below[static_cast<std::size_t>(find_column(above, name) - above.data())].name);
    return names;
  }

  DataGraph& graph_;
  std::map<std::string, Schema> schemas_;
  std::set<std::pair<std::string, Texts>> marked_;
};

}  // namespace

DataGraph write_slots(DataGraph graph) {
  for (Node& node : graph.nodes) node.hints.erase("write_slots");
  const Node* batch = batch_node(graph);
  if (!batch) return graph;
  const Schema rows = schemas_of(graph).at(batch->inputs[0]);
  Texts columns;
  for (const Column& column : rows) {
    const bool varies = std::any_of(column.shape.begin(), column.shape.end(), [](auto n) { return n == kVaries; });
    if (column.dtype != DType::bytes && !varies) columns.push_back(column.name);
  }
  Marker(graph).mark(batch->inputs[0], columns);
  return graph;
}

}  // namespace ridgeline::data
