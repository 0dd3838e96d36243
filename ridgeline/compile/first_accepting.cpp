#include "ridgeline/compile/first_accepting.h"

#include <variant>

#include "ridgeline/device/kernel_tuner.h"

namespace ridgeline {

Accepted first_accepting(const KernelRequest& asked, const Device& device, Log& log) {
  KernelRequest request = asked;
  request.promise = device.promise();
  Accepted accepted;
  for (const KernelEntry& entry : device.kernels(request.node.op)) {
    KernelChoice choice = entry.make(request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) {
      log.trace("dispatch", request.node.name + ": " + (*kernel)->name);
      accepted.kernel = std::move(*kernel);
      accepted.provider = entry.provider;
      return accepted;
    }
    const std::string& reason = std::get<Refusal>(choice).reason;
    log.trace("dispatch", request.node.name + ": " + std::string(entry.name) + " refuses: " + reason);
    accepted.refusals += (accepted.refusals.empty() ? "" : "; ") + std::string(entry.name) + ": " + reason;
  }
  return accepted;
}

Accepted best_accepting(const KernelRequest& asked, Device& device, Log& log) {
  KernelTuner* const tuner = device.tuner();
  if (tuner == nullptr) return first_accepting(asked, device, log);
  KernelRequest request = asked;
  request.promise = device.promise();
  auto fastest = tuner->choose(request, device);
  if (!fastest) return first_accepting(asked, device, log);
  log.trace("dispatch", request.node.name + ": " + fastest->kernel->name + " (" + fastest->reason + ")");
  return {std::move(fastest->kernel), fastest->provider, ""};
}

NodeError no_kernel(const Graph& graph, const Node& node, const Device& device, const Accepted& accepted,
                    const std::string& addition) {
  const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
  return NodeError("op " + node.name + " (" + node.op + ")" + where + " has no kernel on device " +
                       std::string(device.name()) + addition + ": " + accepted.reasons(),
                   graph.name, node.name);
}

}  // namespace ridgeline
