#include "ridgeline/compile/choose_kernels.h"

#include <variant>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

KernelRequest request_of(const Graph& graph, const Node& node, const LayoutGroups& groups) {
  KernelRequest request{op_def(node.op), node, {}, {}};
  const auto operand = [&](ValueId id, bool free) {
    return KernelOperand{graph.value(id).type, groups.layout(id).value_or(Layout{}), free};
  };
  for (ValueId id : node.inputs) request.inputs.push_back(operand(id, may_choose_layout(node, id, groups)));
  for (ValueId id : node.outputs) request.outputs.push_back(operand(id, false));
  return request;
}

// The first entry that accepts, or null; `refusals` grows by the reason of each that does not.
std::unique_ptr<Kernel> first_accepting(const KernelRequest& request, const Device& device, Log& log,
                                        std::string& refusals) {
  for (const KernelEntry& entry : device.kernels(request.node.op)) {
    KernelChoice choice = entry.make(request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) {
      log.trace("dispatch", request.node.name + ": " + (*kernel)->name);
      return std::move(*kernel);
    }
    const std::string& reason = std::get<Refusal>(choice).reason;
    log.trace("dispatch", request.node.name + ": " + std::string(entry.name) + " refuses: " + reason);
    refusals += (refusals.empty() ? "" : "; ") + std::string(entry.name) + ": " + reason;
  }
  return nullptr;
}

}  // namespace

bool may_choose_layout(const Node& node, ValueId id, const LayoutGroups& groups) {
  return !op_def(node.op).has(kPointwise) && groups.grouped(id) && !groups.layout(id);
}

Choice choose_kernel(const Graph& graph, const Node& node, const LayoutGroups& groups, Session& session,
                     bool soft_placement) {
  const KernelRequest request = request_of(graph, node, groups);
  const std::string wanted(session.device().name());
  std::string refusals;
  if (auto kernel = first_accepting(request, session.device(), session.log(), refusals)) {
    return {&session.device(), std::move(kernel)};
  }
  if (soft_placement && &session.cpu() != &session.device()) {
    const std::string reason = refusals;
    if (auto kernel = first_accepting(request, session.cpu(), session.log(), refusals)) {
      session.log().trace("placement", "op " + node.name + " (" + node.op + ") moved from " + wanted + " to " +
                                           std::string(session.cpu().name()) + ": " + reason);
      return {&session.cpu(), std::move(kernel)};
    }
  }
  const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
  throw Error("op " + node.name + " (" + node.op + ")" + where + " has no kernel on device " + wanted +
              (soft_placement ? "" : " and allow_soft_placement is off") + ": " +
              (refusals.empty() ? "the device does not know the op" : refusals));
}

std::vector<Choice> choose_kernels(const Graph& graph, const LayoutGroups& groups, Session& session,
                                   bool soft_placement, std::vector<Choice> settled) {
  std::vector<Choice> choices = std::move(settled);
  choices.resize(graph.nodes.size());
  // Values that lie in the program's own memory as plain rows: a view of one needs no launch.
  std::vector<bool> plain_rows(graph.values.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    Choice& choice = choices[n];
    if (op_def(node.op).has(kView) && plain_rows[static_cast<std::size_t>(node.inputs[0])]) {
      choice.kernel.reset();
      plain_rows[static_cast<std::size_t>(node.outputs[0])] = true;
      continue;
    }
    if (!choice.kernel) choice = choose_kernel(graph, node, groups, session, soft_placement);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      plain_rows[static_cast<std::size_t>(node.outputs[i])] = choice.output_layout(i).plain();
    }
  }
  return choices;
}

}  // namespace ridgeline
