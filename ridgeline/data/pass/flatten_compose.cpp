#include <iterator>
#include <utility>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

void append_flat(std::vector<Transform> operations, std::vector<Transform>& to) {
  for (Transform& operation : operations) {
    if (transform_entry(operation.op).sequence)
      append_flat(std::move(operation.operations), to);
    else
      to.push_back(std::move(operation));
  }
}

}  // namespace

DataGraph flatten_compose(DataGraph graph) {
  for (Node& node : graph.nodes) {
    std::vector<Transform> flat;
    append_flat(std::move(node.operations), flat);
    node.operations = std::move(flat);
  }
  return graph;
}

}  // namespace ridgeline::data
