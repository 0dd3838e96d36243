#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {
namespace {

bool contains(const Texts& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A source offers to give fewer columns by its argument "columns": a list of names (empty: all), or the columns
// themselves where they are held in memory. Those of manifests are declarations, of which one may name the image file.
bool can_choose(const Node& source) {
  return source.args.contains("columns") && source.op != "csv" && source.op != "json_lines";
}

// Makes it give those of its columns that are in `kept`, in its own order, which is returned.
Texts choose(Node& source, const Texts& kept) {
  Texts wanted;
  for (const Column& column : node_entry(source.op).schema(source, {})) {
    if (contains(kept, column.name)) wanted.push_back(column.name);
  }
  Value& columns = source.args.at("columns");
  Value before = columns;
  if (Tensors* tensors = std::get_if<Tensors>(&columns))
    std::erase_if(*tensors, [&](const NamedTensor& tensor) { return !contains(wanted, tensor.name); });
  else
    columns = wanted;
  // Copies of the graph share what is opened for the old argument.
  if (columns != before) source.source = std::make_shared<SourceHandle>();
  return wanted;
}

// Whether `project` may as well lie below: what makes, changes or tests no column that it drops.
bool can_cross(const Node& project, const Node& below) {
  const Texts& kept = arg<Texts>(project.args, "columns");
  switch (node_entry(below.op).kind) {
    case NodeKind::order: return below.op != "pk_sampler";  // reads labels
    case NodeKind::filter: return contains(kept, arg<std::string>(below.args, "column"));
    case NodeKind::map:
      return std::all_of(columns_of(below).begin(), columns_of(below).end(),
                         [&](const std::string& column) { return contains(kept, column); });
    default: return false;
  }
}

// The source that `project` can be brought down to, or null. Nobody else may read it or what lies between.
Node* reachable_source(DataGraph& graph, const Node& project) {
  for (Node* below = &graph.node(project.inputs[0]);; below = &graph.node(below->inputs[0])) {
    if (readers_of(graph, below->id).size() != 1) return nullptr;
    if (node_entry(below->op).kind == NodeKind::source) return can_choose(*below) ? below : nullptr;
    if (!can_cross(project, *below)) return nullptr;
  }
}

}  // namespace

DataGraph project_source(DataGraph graph) {
  std::vector<std::string> projects;
  for (const Node& node : graph.nodes) {
    if (node.op == "project") projects.push_back(node.id);
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
