#include "ridgeline/data/ir/names.h"

#include <set>

namespace ridgeline::data {
namespace {

// Names in use, and the next free one for an op. Operations come before those that they hold.
class Names {
 public:
  void take(const std::string& name) { taken_.insert(name); }
  void take(const std::vector<Transform>& operations) {
    for (const Transform& operation : operations) {
      take(operation.name);
      take(operation.operations);
    }
  }
  void give(const std::string& op, std::string& name) {
    if (!name.empty()) return;
    name = op;
    for (int k = 1; taken_.contains(name); ++k) name = op + "_" + std::to_string(k);
    taken_.insert(name);
  }
  void give(std::vector<Transform>& operations) {
    for (Transform& operation : operations) {
      give(operation.op, operation.name);
      give(operation.operations);
    }
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace

void give_names(DataGraph& graph) {
  Names names;
  for (const Node& node : graph.nodes) {
    names.take(node.name);
    names.take(node.operations);
  }
  for (Node& node : graph.nodes) {
    names.give(node.op, node.name);
    names.give(node.operations);
  }
}

}  // namespace ridgeline::data
