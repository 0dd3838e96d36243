#include "ridgeline/compile/lower/first_accepting.h"

#include <variant>

#include "ridgeline/device/kernel_tuner.h"
#include "ridgeline/device/ranked_entries.h"

namespace ridgeline {
namespace {

KernelRequest asked_of(Device& device, KernelRequest request) {
  request.promise = device.promise();
  request.device = &device;
  return request;
}

}  // namespace

Accepted first_accepting(const KernelRequest& asked, Device& device, Log& log) {
  const KernelRequest request = asked_of(device, asked);
  Accepted accepted;
  const std::vector<RankedEntry> ranked = ranked_entries(request, device);
  if (log.enabled("dispatch")) log.trace("dispatch", request.node.name + ": estimated " + to_text(ranked));
  for (const auto& [entry, seconds] : ranked) {
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
  const KernelRequest request = asked_of(device, asked);
  auto fastest = tuner->choose(request, device);
  if (!fastest) return first_accepting(asked, device, log);
  log.trace("dispatch", request.node.name + ": " + fastest->kernel->name + " (" + fastest->reason + ")");
  return {std::move(fastest->kernel), fastest->provider, "", std::move(fastest->choice)};
}

KernelRequest plain_request(const Graph& graph, const Node& node) {
  KernelRequest request{op_def(node.op), node, {}, {}};
  for (ValueId id : node.inputs) request.inputs.push_back({graph.value(id).type, {}, false});
  for (ValueId id : node.outputs) request.outputs.push_back({graph.value(id).type, {}, false});
  return request;
}

namespace {

// The name of the first entry that takes the node; "" where it is one between conversions, or there is none.
std::string_view first_entry(const Graph& graph, const Node& node, Device& device) {
  const KernelRequest request = asked_of(device, plain_request(graph, node));
  for (const auto& [entry, seconds] : ranked_entries(request, device)) {
    const KernelChoice choice = entry.make(request);
    const auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice);
    if (kernel != nullptr) return (*kernel)->emulates ? "" : entry.name;
  }
  return "";
}

}  // namespace

bool keeps_kernel(const Graph& graph, const Node& plain, const Node& merged, Device& device, Log& log) {
  const std::string_view after = first_entry(graph, merged, device);
  const std::string_view before = after.empty() ? "" : first_entry(graph, plain, device);
  if (!after.empty() && after == before) return true;
  const auto named = [](std::string_view entry) { return entry.empty() ? "none" : std::string(entry); };
  log.trace("dispatch", plain.name + ": nothing is merged into it: " +
                            (after.empty() ? "no kernel of its type takes what came of it"
                                           : named(before) + " takes it alone, " + named(after) + " what came of it"));
  return false;
}

NodeError no_kernel(const Graph& graph, const Node& node, const Device& device, const Accepted& accepted,
                    const std::string& addition) {
  const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
  return NodeError("op " + node.name + " (" + node.op + ")" + where + " has no kernel on device " +
                       std::string(device.name()) + addition + ": " + accepted.reasons(),
                   graph.name, node.name);
}

}  // namespace ridgeline
