#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {

DataGraph validate(DataGraph graph) {
  for (Node& node : graph.nodes) complete(node);
  check_structure(graph);
  return graph;
}

}  // namespace ridgeline::data
