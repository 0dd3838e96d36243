#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/pass/tail.h"

namespace ridgeline::data {

DataGraph fuse_write(DataGraph graph) {
  Node* map = last_map(graph);
  if (!map) return graph;
  const Tail tail = cut_tail(graph, true);
  if (!tail.flip && !tail.normalize && !tail.layout) return graph;
  Transform write{
      "write",
      {{"p", 0.0}, {"mean", Reals{}}, {"std", Reals{}}, {"layout", std::string(tail.layout ? "chw" : "hwc")}},
      ""};
  if (tail.layout) write.name = tail.layout->name;
  if (tail.normalize) {
    write.args["mean"] = tail.normalize->args.at("mean");
    write.args["std"] = tail.normalize->args.at("std");
    write.name = tail.normalize->name;
  }
  if (tail.flip) {
    write.args["p"] = tail.flip->args.at("p");
    write.name = tail.flip->name;  // the flip's stream
  }
  map->operations.push_back(std::move(write));
  return graph;
}

}  // namespace ridgeline::data
