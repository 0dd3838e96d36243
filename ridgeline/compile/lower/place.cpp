#include "ridgeline/compile/lower/place.h"

#include "ridgeline/compile/lower/first_accepting.h"
#include "ridgeline/core/error.h"

namespace ridgeline {

Placement place(const Graph& graph, const Target& target, const NameSet& fused) {
  Placement placement;
  placement.devices.assign(graph.nodes.size(), &target.device);
  if (&target.device == &target.cpu) return placement;
  const std::vector<int> producer = producers(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (op_def(node.op).has(kView) || op_def(node.op).has(kDone)) {
      // A view of another op's result needs no kernel; nor does waiting for an exchange.
      const int from = producer[static_cast<std::size_t>(node.inputs[0])];
      if (from >= 0) {
        placement.devices[n] = placement.devices[static_cast<std::size_t>(from)];
        continue;
      }
    }
    const Accepted accepted = first_accepting(plain_request(graph, node), target.device, target.log);
    if (accepted.kernel) continue;
    if (fused.contains(node.name)) {
      placement.refused.push_back(node.name);
      continue;
    }
    if (!target.soft_placement)
      throw no_kernel(graph, node, target.device, accepted, " and allow_soft_placement is off");
    target.log.trace("placement", "op " + node.name + " (" + node.op + ") moved from " +
                                      std::string(target.device.name()) + " to " + std::string(target.cpu.name()) +
                                      ": " + accepted.reasons());
    placement.devices[n] = &target.cpu;
    placement.moved.push_back(node.name);
  }
  return placement;
}

}  // namespace ridgeline
