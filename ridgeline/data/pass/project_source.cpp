#include <algorithm>
#include <set>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// The argument by which a source reads fewer columns, a list of names: empty means all. Columns held in memory
// (tensors) cost nothing to leave alone.
const ArgSpec* columns_argument(const Node& source) {
  const NodeEntry& entry = node_entry(source.op);
  if (entry.kind != NodeKind::source) return nullptr;
  for (const ArgSpec& spec : entry.args) {
    if (spec.name == "columns" && spec.type == ArgType::texts) return &spec;
  }
  return nullptr;
}

bool contains(const Texts& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A project can move below what neither makes nor needs a column that it drops.
bool can_cross(const Node& project, const Node& below) {
  const Texts& kept = arg<Texts>(project.args, "columns");
  switch (node_entry(below.op).kind) {
    case NodeKind::order: return below.op != "pk_sampler";
    case NodeKind::filter: return contains(kept, arg<std::string>(below.args, "column"));
    case NodeKind::map:
      return std::all_of(columns_of(below).begin(), columns_of(below).end(),
                         [&](const std::string& column) { return contains(kept, column); });
    default: return false;
  }
}

// The source that `project` can be brought down to, or null: every node between has one reader.
Node* reachable_source(DataGraph& graph, const Node& project) {
  for (Node* below = &graph.node(project.inputs[0]);; below = &graph.node(below->inputs[0])) {
    if (readers_of(graph, below->id).size() != 1) return nullptr;
    if (node_entry(below->op).kind == NodeKind::source) return columns_argument(*below) ? below : nullptr;
    if (!can_cross(project, *below)) return nullptr;
  }
}

bool step(DataGraph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op != "project") continue;
    Node* source = reachable_source(graph, node);
    if (!source) continue;
    Texts& columns = std::get<Texts>(source->args.at("columns"));
    const Texts& kept = arg<Texts>(node.args, "columns");
    Texts wanted;  // in the order of the source, which its reader keeps
    for (const Column& column : node_entry(source->op).schema(*source, {})) {
      if (contains(kept, column.name)) wanted.push_back(column.name);
    }
    if (columns == wanted || wanted.size() < kept.size()) continue;
    columns = wanted;
    // Where the project only leaves out, and changes no order, the source has done its work.
    if (wanted == kept) remove_node(graph, node.id);
    return true;
  }
  return false;
}

}  // namespace

DataGraph project_source(DataGraph graph) {
  while (step(graph)) {
  }
  return graph;
}

}  // namespace ridgeline::data
