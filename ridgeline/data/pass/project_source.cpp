#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

bool contains(const Texts& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Makes it return those of its columns that are in `kept`, in its own order, which is returned.
Texts choose(Node& source, const Texts& kept) {
  const Schema schema = node_entry(source.op).schema(source, {});
  Texts wanted;
  for (const Column& column : schema) {
    if (contains(kept, column.name)) wanted.push_back(column.name);
  }
  if (wanted.size() == schema.size()) return wanted;
  // Copies of the graph share what is opened for the old arguments.
  std::shared_ptr<SourceHandle> handle = node_entry(source.op).handle(&source);
  node_entry(source.op).choose_columns(source, wanted);
  source.source = std::move(handle);
  return wanted;
}

// Whether `project` may be moved below a node, where the columns are `schema`: a node that makes, changes, tests or
// depends on no dropped column.
bool can_cross(const Node& project, const Node& below, const Schema& schema) {
  const Texts& kept = arg<Texts>(project.args, "columns");
  switch (node_entry(below.op).kind) {
    case NodeKind::order: return !node_entry(below.op).reads_label;
    case NodeKind::filter: return contains(kept, arg<std::string>(below.args, "column"));
    case NodeKind::map:
      return std::all_of(schema.begin(), schema.end(), [&](const Column& column) {
        return contains(kept, column.name) || !touches(below, column.name);
      });
    default: return false;
  }
}

// The source that `project` can be brought down to, or null. Nothing else may read it or the nodes between.
Node* reachable_source(DataGraph& graph, const Node& project) {
  const std::map<std::string, Schema> schemas = schemas_of(graph);
  for (Node* below = &graph.node(project.inputs[0]);; below = &graph.node(below->inputs[0])) {
    if (readers_of(graph, below->id).size() != 1) return nullptr;
    if (const NodeEntry& entry = node_entry(below->op); entry.kind == NodeKind::source)
      return entry.choose_columns ? below : nullptr;
    if (below->inputs.size() != 1 || !can_cross(project, *below, schemas.at(below->inputs[0]))) return nullptr;
  }
}

}  // namespace

DataGraph project_source(DataGraph graph) {
  std::vector<std::string> projects;
  for (const Node& node : graph.nodes) {
    if (node.op == node_name::kProject) projects.push_back(node.id);
  }
  for (const std::string& id : projects) {
    Node* source = reachable_source(graph, graph.node(id));
    if (!source) continue;
    const Texts kept = arg<Texts>(graph.node(id).args, "columns");
    // One that changes the order of the columns stays for that.
    if (choose(*source, kept) == kept) remove_node(graph, id);
  }
  return graph;
}

}  // namespace ridgeline::data
