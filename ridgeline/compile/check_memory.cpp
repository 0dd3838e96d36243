#include "ridgeline/compile/check_memory.h"

#include "ridgeline/compile/memory_report.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/graph/ir/node_error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

// Each size fits into 63 bits, their sum need not.
std::size_t sum(std::initializer_list<std::size_t> sizes) {
  std::size_t total = 0;
  for (std::size_t size : sizes) {
    if (__builtin_add_overflow(total, size, &total)) return SIZE_MAX;
  }
  return total;
}

std::string text(std::size_t bytes) {
  return bytes > INT64_MAX ? "more than " + byte_text(INT64_MAX) : byte_text(static_cast<std::int64_t>(bytes));
}

std::string refusal(const std::string& what) {
  return "[memory] " + what + "; this process may use " + byte_text(available_memory());
}

}  // namespace

void check_memory(const Graph& graph) {
  MemoryReport report;
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    std::size_t& kind = info.kind == ValueKind::param   ? report.parameters
                        : info.kind == ValueKind::state ? report.states
                                                        : report.inputs;
    kind = sum({kind, info.type.bytes()});
  }
  check_memory(report);
  const std::size_t arguments = sum({report.parameters, report.states, report.inputs});
  const auto most = static_cast<std::size_t>(available_memory());
  std::vector<bool> in_place(graph.values.size(), false);  // may be written over an argument
  for (const Update& update : graph.updates) in_place[static_cast<std::size_t>(update.next)] = true;
  for (const Node& node : graph.nodes) {
    if (op_def(node.op).has(kView)) continue;
    for (ValueId id : node.outputs) {
      const ValueType& type = graph.value(id).type;
      if (in_place[static_cast<std::size_t>(id)] || sum({arguments, type.bytes()}) <= most) continue;
      const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
      throw NodeError(refusal("op " + node.name + " (" + node.op + ")" + where + " makes " + type.to_string() + ", " +
                              text(type.bytes()) + ", beside parameters, states and inputs of " + text(arguments)),
                      graph.name, node.name);
    }
  }
}

void check_memory(const MemoryReport& report) {
  if (report.total() <= static_cast<std::size_t>(available_memory())) return;
  throw Error(refusal("the program needs " + needs_text(report)));
}

std::string needs_text(const MemoryReport& report) {
  std::string parts;
  const auto add = [&](const char* name, std::size_t bytes) {
    if (bytes > 0) parts += (parts.empty() ? "" : ", ") + std::string(name) + " " + text(bytes);
  };
  add("parameters", report.parameters);
  add("states", report.states);
  add("derived forms", report.derived);
  add("inputs", report.inputs);
  add("intermediate values", report.activations_peak);
  return text(report.total()) + " (" + parts + ")";
}

}  // namespace ridgeline
