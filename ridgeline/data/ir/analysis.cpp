#include "ridgeline/data/ir/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ridgeline/data/ir/count.h"
#include "ridgeline/data/ir/geometry_column.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {
namespace {

NodeKind kind_of(const Node& node) { return node_entry(node.op).kind; }

void check_above_batch(const Node& node) {
  switch (kind_of(node)) {
    case NodeKind::order: return;
    case NodeKind::batch: throw Error(fmt::format("[{}] takes samples, but its input is batched already", node.op));
    case NodeKind::map: throw Error("[map] works on samples: put it before batch");
    default: throw Error(fmt::format("[{}] works on samples: put it before batch", node.op));
  }
}

std::int64_t shard_share(const Node& node, std::int64_t rows, Share share) {
  const auto count = arg<std::int64_t>(node.args, "count");
  return share == Share::fewest ? rows / count : parts_of(rows, count);
}

}  // namespace

void check_structure(const DataGraph& graph) {
  std::set<std::string> above, batched;  // ids that come before, and those of them whose rows are batches
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) {
      if (!above.contains(input)) {
        throw Error(fmt::format("node '{}' of the data graph reads '{}', which is no node before it", node.id, input));
      }
      if (!batched.contains(input)) continue;
      check_above_batch(node);
      batched.insert(node.id);
    }
    if (kind_of(node) == NodeKind::batch) batched.insert(node.id);
    if (!above.insert(node.id).second) throw Error("two nodes of the data graph have the id '" + node.id + "'");
  }
  std::set<std::string> used{graph.output().id};
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!used.contains(node->id)) throw Error("node '" + node->id + "' of the data graph does not lead to its output");
    used.insert(node->inputs.begin(), node->inputs.end());
  }
}

std::vector<const Node*> trunk_of(const DataGraph& graph) {
  std::vector<const Node*> trunk{&graph.output()};
  while (trunk.back()->inputs.size() == 1) {
    const Node& input = graph.node(trunk.back()->inputs[0]);
    if (readers_of(graph, input.id).size() != 1) break;
    trunk.push_back(&input);
  }
  return trunk;
}

std::vector<const Node*> sources_of(const DataGraph& graph) {
  std::vector<const Node*> sources;
  for (const Node& node : graph.nodes) {
    if (kind_of(node) == NodeKind::source) sources.push_back(&node);
  }
  return sources;
}

const Node* batch_node(const DataGraph& graph) {
  for (const Node& node : graph.nodes) {
    if (kind_of(node) == NodeKind::batch) return &node;
  }
  return nullptr;
}

std::vector<const Node*> readers_of(const DataGraph& graph, const std::string& id) {
  std::vector<const Node*> readers;
  for (const Node& node : graph.nodes) {
    if (std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end()) readers.push_back(&node);
  }
  return readers;
}

const std::vector<std::string>& columns_of(const Node& map) {
  static const std::vector<std::string> none;
  return map.op == node_name::kMap ? arg<Texts>(map.args, "columns") : none;
}

bool follows_image(const std::string& column) {
  return column == kBoxesColumn || column == kBoxLabelsColumn || column == kGeometryColumn;
}

bool touches(const Node& map, const std::string& column) {
  const std::vector<std::string>& columns = columns_of(map);
  const auto names = [&](const std::string& name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  return names(column) || (follows_image(column) && names(kImageColumn));
}

Schema schema_after(const Node& node, Schema schema, std::size_t count) {
  const std::vector<std::string>& columns = columns_of(node);
  for (std::size_t i = 0; i < count; ++i) {
    const Transform& operation = node.operations[i];
    const TransformEntry& entry = transform_entry(operation.op);
    for (const std::string& name : columns) {
      const Column* column = find_column(schema, name);
      if (!column)
        throw Error(fmt::format("[{}] there is no column '{}' among {}", operation.op, name, to_string(schema)));
      if (needs_pixels(operation, name) && column->dtype == DType::bytes)
        schema = decoding_entry().schema(operation, std::move(schema), {name});
    }
    schema = entry.schema(operation, std::move(schema), columns);
  }
  return schema;
}

std::map<std::string, Schema> schemas_of(const DataGraph& graph) {
  std::map<std::string, Schema> schemas;
  for (const Node& node : graph.nodes) {
    const NodeEntry& entry = node_entry(node.op);
    std::vector<Schema> inputs;
    for (const std::string& input : node.inputs) inputs.push_back(schemas.at(input));
    Schema schema = entry.schema(node, inputs);
    schemas[node.id] = schema_after(node, std::move(schema), node.operations.size());
  }
  return schemas;
}

Schema schema_of(const DataGraph& graph) { return schemas_of(graph).at(graph.output().id); }

std::map<std::string, std::int64_t> sizes_of(const DataGraph& graph, Share share) {
  std::map<std::string, std::int64_t> sizes;
  for (const Node& node : graph.nodes) {
    std::vector<std::int64_t> inputs;
    for (const std::string& input : node.inputs) inputs.push_back(sizes.at(input));
    if (node.op == node_name::kShard && share != Share::own && inputs[0] >= 0) {
      sizes[node.id] = shard_share(node, inputs[0], share);
    } else if (kind_of(node) == NodeKind::batch && share == Share::own) {
      const bool drop = arg<bool>(node.args, "drop_remainder");
      sizes[node.id] = sizes_of(graph, drop ? Share::fewest : Share::most).at(node.id);
    } else {
      const NodeEntry& entry = node_entry(node.op);
      if (share == Share::own && entry.check_rows) entry.check_rows(node, inputs);
      sizes[node.id] = entry.size(node, inputs);
    }
  }
  return sizes;
}

std::int64_t rows_of(const DataGraph& graph) { return sizes_of(graph).at(graph.output().id); }

}  // namespace ridgeline::data
