#include "ridgeline/data/ir/analysis.h"

#include <algorithm>
#include <set>

#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {

std::vector<const Node*> chain_of(const DataGraph& graph) {
  std::vector<const Node*> chain{&graph.output()};
  std::set<const Node*> seen{chain[0]};
  while (node_entry(chain.back()->op).kind != NodeKind::source) {
    const Node* input = &graph.node(chain.back()->inputs.at(0));
    if (!seen.insert(input).second) throw Error("the data graph has a cycle through '" + input->id + "'");
    chain.push_back(input);
  }
  for (const Node& node : graph.nodes) {
    if (!seen.contains(&node)) throw Error("node '" + node.id + "' of the data graph does not lead to its output");
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

const Node& source_node(const DataGraph& graph) { return *chain_of(graph).front(); }

const Node* batch_node(const DataGraph& graph) {
  for (const Node* node : chain_of(graph)) {
    if (node_entry(node->op).kind == NodeKind::batch) return node;
  }
  return nullptr;
}

Schema schema_after(const Node& map, Schema schema, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Transform& operation = map.operations[i];
    const TransformEntry& entry = transform_entry(operation.op);
    const Column* image = find_column(schema, "image");
    if (entry.needs_pixels && image && image->dtype == DType::bytes)
      schema = transform_entry("decode").schema(operation, schema);
    schema = entry.schema(operation, std::move(schema));
  }
  return schema;
}

std::map<std::string, Schema> schemas_of(const DataGraph& graph) {
  std::map<std::string, Schema> schemas;
  Schema schema;
  bool batched = false;
  for (const Node* node : chain_of(graph)) {
    const NodeEntry& entry = node_entry(node->op);
    if (batched && entry.kind == NodeKind::map) throw Error("[map] works on samples: put it before batch");
    if (batched && entry.kind == NodeKind::batch)
      throw Error("[batch] takes samples, but its input is batched already");
    batched |= entry.kind == NodeKind::batch;
    schema = entry.kind == NodeKind::map ? schema_after(*node, schema, node->operations.size())
                                         : entry.schema(*node, schema);
    schemas[node->id] = schema;
  }
  return schemas;
}

Schema schema_of(const DataGraph& graph) { return schemas_of(graph).at(graph.output().id); }

std::int64_t rows_after(const std::vector<const Node*>& chain, std::size_t count) {
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < count; ++i) rows = node_entry(chain[i]->op).size(*chain[i], rows);
  return rows;
}

std::int64_t rows_of(const DataGraph& graph) {
  const std::vector<const Node*> chain = chain_of(graph);
  return rows_after(chain, chain.size());
}

}  // namespace ridgeline::data
