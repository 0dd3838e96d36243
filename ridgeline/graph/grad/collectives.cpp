// Gradients of exchanges: every rank differentiates its own summand of a loss that is the sum over the ranks.
#include "ridgeline/graph/grad/builders.h"

namespace ridgeline {
namespace {

using CollectiveIds = std::vector<ValueId>;

// y = sum of x over the ranks on all of them, so each x contributes to every rank's y. A mean is divided accordingly.
CollectiveIds all_reduce(GradientScope& s, const ForwardOp& op) {
  return {s.apply("all_reduce", {op.dy()}, op.node.attributes)};
}

CollectiveIds reduce(GradientScope& s, const ForwardOp& op) {
  Attributes attributes = op.node.attributes;
  const bool mean = attributes.string("reduction") == "mean";
  attributes.erase("reduction");
  const ValueId dx = s.apply("broadcast", {op.dy()}, attributes);
  if (!mean) return {dx};
  return {s.apply("scale", {dx}, {{"factor", 1.0 / static_cast<double>(attributes.integer("ranks"))}})};
}

CollectiveIds broadcast(GradientScope& s, const ForwardOp& op) {
  return {s.apply("reduce", {op.dy()}, op.node.attributes)};
}

CollectiveIds all_gather(GradientScope& s, const ForwardOp& op) {
  return {s.apply("reduce_scatter", {op.dy()}, op.node.attributes)};
}

CollectiveIds reduce_scatter(GradientScope& s, const ForwardOp& op) {
  Attributes attributes = op.node.attributes;
  const bool mean = attributes.string("reduction") == "mean";
  attributes.erase("reduction");
  const ValueId dx = s.apply("all_gather", {op.dy()}, attributes);
  if (!mean) return {dx};
  return {s.apply("scale", {dx}, {{"factor", 1.0 / static_cast<double>(attributes.integer("ranks"))}})};
}

CollectiveIds all_to_all(GradientScope& s, const ForwardOp& op) {
  return {s.apply("all_to_all", {op.dy()}, op.node.attributes)};
}

}  // namespace

std::vector<GradientRule> collective_gradients() {
  return {{"all_reduce", all_reduce},         {"reduce", reduce},
          {"broadcast", broadcast},           {"all_gather", all_gather},
          {"reduce_scatter", reduce_scatter}, {"all_to_all", all_to_all}};
}

}  // namespace ridgeline
