#include "ridgeline/graph/pass/annotate.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/pass/follows_batch.h"
#include "ridgeline/graph/pass/pipeline_plan.h"

namespace ridgeline {
namespace {

bool has_weights(const Node& node) { return node.op == "dense" || node.op == "conv2d"; }

}  // namespace

Graph annotate(Graph step, const std::string& name, const std::vector<Annotation>& annotations) {
  if (annotations.empty()) return step;
  const std::vector<bool> backward = backward_nodes(step), follows = follows_batch(step);
  const auto forward = [&](std::size_t n) {
    const ValueId result = step.nodes[n].outputs[0];
    return !backward[n] && follows[static_cast<std::size_t>(result)];
  };
  for (const Annotation& annotation : annotations) {
    bool found = false;
    for (std::size_t n = 0; n < step.nodes.size(); ++n) {
      Node& node = step.nodes[n];
      const bool itself = node.name == annotation.layer;
      const bool within = node.name.starts_with(annotation.layer + "/") && (name != kShard || has_weights(node));
      if (!forward(n) || !(itself || within)) continue;
      node.attributes.set(name, annotation.value);
      found = true;
    }
    if (found) continue;
    std::vector<std::string> layers;
    std::string list;
    for (std::size_t n = 0; n < step.nodes.size(); ++n) {
      if (!forward(n) || !has_weights(step.nodes[n])) continue;
      layers.push_back(step.nodes[n].name.substr(0, step.nodes[n].name.rfind('/')));
      list += (list.empty() ? "" : ", ") + layers.back();
    }
    throw Error("the step has no layer '" + annotation.layer + "'" + did_you_mean(annotation.layer, layers) +
                    " (layers with weights: " + list + ")",
                ErrorKind::usage);
  }
  return step;
}

}  // namespace ridgeline
