#include "ridgeline/data/pass/tail.h"

#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {
namespace {

// Whether the node reads what the tail of a map below it changes: a filter at finished images, or anything at boxes,
// which a flip must have turned already.
bool reads_tail(const Node& node) {
  if (node.op == node_name::kFilter) {
    const std::string& column = arg<std::string>(node.args, "column");
    return column == kImageColumn || follows_image(column);
  }
  const std::vector<std::string>& columns = columns_of(node);
  return std::any_of(columns.begin(), columns.end(), follows_image);
}

// The maps of the image, from the batch down to the origin of the pixels: order nodes, filters by other columns and
// maps of other columns may be between them.
std::vector<std::string> image_maps(const DataGraph& graph) {
  std::vector<std::string> maps;
  for (const Node* node : trunk_of(graph)) {
    const NodeKind kind = node_entry(node->op).kind;
    if (reads_tail(*node)) break;
    if (kind == NodeKind::map) {
      const std::vector<std::string>& columns = columns_of(*node);
      if (columns == std::vector<std::string>{kImageColumn}) maps.push_back(node->id);
      if (columns.size() > 1 && std::find(columns.begin(), columns.end(), kImageColumn) != columns.end()) break;
    } else if (kind != NodeKind::order && kind != NodeKind::filter && kind != NodeKind::batch) {
      break;
    }
  }
  return maps;
}

}  // namespace

Node* last_map(DataGraph& graph) {
  const std::vector<std::string> maps = image_maps(graph);
  return maps.empty() ? nullptr : &graph.node(maps.front());
}

Tail cut_tail(DataGraph& graph, bool layout_too) {
  Tail tail;
  for (const std::string& id : image_maps(graph)) {
    std::vector<Transform>& operations = graph.node(id).operations;
    while (!operations.empty()) {
      Transform& last = operations.back();
      const TailPart part = transform_entry(last.op).tail;
      std::optional<Transform>* place = part == TailPart::flip        ? &tail.flip
                                        : part == TailPart::normalize ? &tail.normalize
                                                                      : nullptr;
      if (part == TailPart::layout && layout_too && !tail.flip && !tail.normalize) place = &tail.layout;
      if (!place || place->has_value()) return tail;
      *place = std::move(last);
      operations.pop_back();
    }
  }
  return tail;
}

}  // namespace ridgeline::data
