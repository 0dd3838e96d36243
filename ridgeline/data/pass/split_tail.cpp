#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/pass/tail.h"
#include "ridgeline/data/transform/made_by_passes.h"

namespace ridgeline::data {
namespace {

// A new map for graphs without one, so that raw batches always have the column flip.
Node& add_map(DataGraph& graph) {
  const Node* batch = batch_node(graph);
  const std::string below = batch ? batch->inputs[0] : graph.output().id;
  Node map{.id = "map_of_split_tail",
           .op = node_name::kMap,
           .inputs = {below},
           .args = {{"columns", Texts{kImageColumn}}},
           .operations = {},
           .name = "",
           .hints = {},
           .source = nullptr};
  if (batch) graph.node(batch->id).inputs = {map.id};
  for (std::string& output : graph.outputs) {
    if (output == below) output = map.id;
  }
  const auto position =
      std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.id == below; }) + 1;
  return *graph.nodes.insert(position, std::move(map));
}

}  // namespace

DataGraph split_tail(DataGraph graph) {
  Node* map = last_map(graph);
  if (!map) map = &add_map(graph);
  Tail tail = cut_tail(graph);
  // Samples are mixed as they will be seen: then the flip stays in the workers.
  if (const Node* batch = batch_node(graph); batch && !batch->operations.empty() && tail.flip) {
    map->operations.push_back(*std::move(tail.flip));
    tail.flip.reset();
  }
  // Checked before draw_flip requires pixels, whose error would not say why.
  const Schema schema = schemas_of(graph).at(map->id);
  if (const Column* image = find_column(schema, kImageColumn);
      image && image->dtype != DType::u8 && image->dtype != DType::bytes) {
    throw Error("raw images need Normalize and RandomHorizontalFlip at the end of the transforms; " +
                to_string(schema) + " is left");
  }
  Transform draw = DrawFlip(tail.flip ? arg<double>(tail.flip->args, "p") : 0);
  if (tail.flip) draw.name = tail.flip->name;  // the same stream: the same flips as in the workers
  map->operations.push_back(std::move(draw));
  return resolve_schema(std::move(graph));  // draw_flip needs pixels, which perhaps nothing before it did
}

}  // namespace ridgeline::data
