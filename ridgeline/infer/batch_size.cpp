// with_batch_size: the ops are added again over inputs of another first extent, so every rule for shapes is applied
// anew. Some extents are not computed from operands but written in attributes: a table says which. The first extent of
// a value may be a multiple of the number of rows, if it includes other axes.
#include <algorithm>
#include <array>
#include <string_view>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/infer/model.h"

namespace ridgeline::infer {
namespace {

struct ShapeAttribute {
  std::string_view op;
  std::string_view attribute;  // whose first number is a multiple of the number of rows
};
constexpr std::array<ShapeAttribute, 4> kShapeAttributes{
    {{"broadcast_to", "shape"}, {"conv2d_bwd_data", "input"}, {"reshape", "shape"}, {"strided_slice", "size"}}};

Attributes follow(const Node& node, std::int64_t from, std::int64_t to) {
  Attributes attributes = node.attributes;
  for (const ShapeAttribute& row : kShapeAttributes) {
    if (row.op != node.op) continue;
    std::vector<std::int64_t> shape = attributes.integers(row.attribute);
    if (!shape.empty() && shape.front() % from == 0) shape.front() = shape.front() / from * to;
    attributes.set(std::string(row.attribute), shape);
  }
  return attributes;
}

// `multiple`: how many times the number of rows the first extent is; 0: it is independent of it.
ValueType expected(ValueType type, std::int64_t multiple, std::int64_t to) {
  if (multiple > 0) type.shape[0] = multiple * to;
  return type;
}

}  // namespace

std::int64_t batch_size_of(const Graph& graph) {
  std::int64_t rows = -1;
  for (const ValueId id : graph.arguments) {
    const ValueInfo& value = graph.value(id);
    if (value.kind != ValueKind::input) continue;
    const std::int64_t own = value.type.shape.rank() == 0 ? -1 : value.type.shape[0];
    if (own < 1 || (rows >= 0 && own != rows)) {
      throw Error("[model] the input " + value.name + " is " + value.type.to_string() +
                  "; inputs with one first extent, the number of rows, are meant");
    }
    rows = own;
  }
  if (rows < 0) throw Error("[model] the graph " + graph.name + " has no input");
  return rows;
}

Graph with_batch_size(const Graph& graph, std::int64_t rows) {
  const std::int64_t from = batch_size_of(graph);
  if (rows == from) return graph;
  if (!graph.updates.empty()) {
    throw Error("[model] the graph " + graph.name + " updates its parameters by the rows of one step: its number of " +
                "rows is fixed");
  }
  GraphBuilder builder(graph.name);
  std::vector<Value> values(graph.values.size());
  std::vector<std::int64_t> multiples(graph.values.size(), 0);
  const auto at = [](ValueId id) { return static_cast<std::size_t>(id); };
  for (const ValueId id : graph.arguments) {
    const ValueInfo& value = graph.value(id);
    multiples[at(id)] = value.kind == ValueKind::input ? 1 : 0;
    const ValueType type = expected(value.type, multiples[at(id)], rows);
    values[at(id)] = value.kind == ValueKind::input   ? builder.input(value.name, type)
                     : value.kind == ValueKind::param ? builder.param(value.name, type)
                                                      : builder.state(value.name, type);
  }
  for (const Node& node : graph.nodes) {
    const auto refuse = [&] {
      throw Error("[model] " + node.name + " (" + node.op + ") does not follow another number of rows");
    };
    if (node.op == "call") refuse();
    std::vector<Value> inputs;
    bool any = false;
    for (const ValueId id : node.inputs) {
      inputs.push_back(values[at(id)]);
      any = any || multiples[at(id)] > 0;
    }
    const Attributes attributes = any ? follow(node, from, rows) : node.attributes;
    builder.name_next(node.name);
    const std::vector<Value> results =
        builder.apply_all(node.op, inputs, attributes, node.where.empty() ? Location{} : node.where.front());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ValueId id = node.outputs[i];
      const ValueType& before = graph.value(id).type;
      if (any && (before.shape.rank() == 0 || before.shape[0] == 0 || before.shape[0] % from != 0)) refuse();
      multiples[at(id)] = any ? before.shape[0] / from : 0;
      if (results[i].type() != expected(before, multiples[at(id)], rows)) refuse();
      values[at(id)] = results[i];
    }
  }
  for (const Return& returned : graph.returns) builder.returns(returned.name, values[at(returned.value)]);
  return builder.finish();
}

}  // namespace ridgeline::infer
