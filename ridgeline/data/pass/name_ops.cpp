#include "ridgeline/data/ir/names.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {

DataGraph name_ops(DataGraph graph) {
  give_names(graph);
  return graph;
}

}  // namespace ridgeline::data
