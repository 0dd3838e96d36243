#include "ridgeline/data/pass/image_tail.h"

#include <utility>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {

ImageTail tail_between(const DataGraph& before, const DataGraph& after) {
  ImageTail tail;
  const auto find = [](const DataGraph& graph, const auto& test) -> const Transform* {
    const Transform* found = nullptr;
    for (const Node& node : graph.nodes) {
      for (const Transform& t : node.operations) {
        if (test(transform_entry(t.op))) found = &t;
      }
    }
    return found;
  };
  const auto normalizes = [](const TransformEntry& e) { return e.tail == TailPart::normalize; };
  if (const Transform* normalize = find(before, normalizes); normalize && !find(after, normalizes)) {
    tail.normalize = true;
    tail.mean = arg<Reals>(normalize->args, "mean");
    tail.std = arg<Reals>(normalize->args, "std");
  }
  const Transform* flip = find(after, [](const TransformEntry& e) { return e.adds_flip; });
  tail.flip = arg<double>(flip->args, "p") > 0;
  return tail;
}

ImageTail image_tail_of(DataGraph graph) {
  DataGraph before;
  for (const Pass& pass : passes(true)) {
    if (pass.run == split_tail) before = graph;
    graph = pass.run(std::move(graph));
    if (pass.run == split_tail) break;
  }
  return tail_between(before, graph);
}

}  // namespace ridgeline::data
