#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

bool follows(const std::vector<Transform>& operations, std::size_t at, std::initializer_list<const char*> ops) {
  for (const char* op : ops) {
    if (at >= operations.size() || operations[at++].op != op) return false;
  }
  return true;
}

}  // namespace

DataGraph fuse_decode_crop(DataGraph graph) {
  for (Node& node : graph.nodes) {
    std::vector<Transform> fused;
    for (std::size_t i = 0; i < node.operations.size();) {
      const std::vector<Transform>& ops = node.operations;
      if (follows(ops, i, {"decode", "random_resized_crop"})) {
        fused.push_back({"decode_random_resized_crop", ops[i + 1].args, ops[i + 1].name});
        i += 2;
      } else if (follows(ops, i, {"decode", "resize", "center_crop"})) {
        fused.push_back({"decode_resize_center_crop",
                         {{"size", ops[i + 2].args.at("size")},
                          {"resize", ops[i + 1].args.at("size")},
                          {"interpolation", ops[i + 1].args.at("interpolation")},
                          {"size_rule", ops[i + 1].args.at("size_rule")}},
                         ops[i + 2].name});
        i += 3;
      } else {
        fused.push_back(ops[i++]);
      }
    }
    node.operations = std::move(fused);
  }
  return graph;
}

}  // namespace ridgeline::data
