#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/pass/tail.h"
#include "ridgeline/data/transform/made_by_passes.h"

namespace ridgeline::data {

DataGraph fuse_write(DataGraph graph) {
  Node* map = last_map(graph);
  if (!map) return graph;
  const Tail tail = cut_tail(graph, true);
  if (!tail.flip && !tail.normalize && !tail.layout) return graph;
  map->operations.push_back(Write(tail.flip, tail.normalize, tail.layout));
  return graph;
}

}  // namespace ridgeline::data
