#include "ridgeline/compile/lower/check_memory.h"

#include "ridgeline/compile/lower/memory_report.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/device/device.h"
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

// The memory that must hold it.
struct Room {
  std::size_t bytes;
  std::string whose;
};

Room room_of(const Device& device) {
  if (device.host_memory()) return {device.memory_limit(), "this process may use "};
  return {device.memory_limit(), "device " + std::string(device.name()) + " has "};
}

Room host_room() { return {static_cast<std::size_t>(available_memory()), "this process may use "}; }

std::string refusal(const std::string& what, const Room& room) {
  return "[memory] " + what + "; " + room.whose + text(room.bytes);
}

void check(const MemoryReport& report, const Room& room) {
  if (report.total() <= room.bytes) return;
  throw Error(refusal("the program needs " + needs_text(report), room));
}

void check(const Graph& graph, const Room& room) {
  MemoryReport report;
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    std::size_t& kind = info.kind == ValueKind::param   ? report.parameters
                        : info.kind == ValueKind::state ? report.states
                                                        : report.inputs;
    kind = sum({kind, info.type.bytes()});
  }
  check(report, room);
  const std::size_t arguments = sum({report.parameters, report.states, report.inputs});
  std::vector<bool> in_place(graph.values.size(), false);  // may be written over an argument
  for (const Update& update : graph.updates) in_place[static_cast<std::size_t>(update.next)] = true;
  for (const Node& node : graph.nodes) {
    if (op_def(node.op).has(kView)) continue;
    for (ValueId id : node.outputs) {
      const ValueType& type = graph.value(id).type;
      if (in_place[static_cast<std::size_t>(id)] || sum({arguments, type.bytes()}) <= room.bytes) continue;
      const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
      throw NodeError(refusal("op " + node.name + " (" + node.op + ")" + where + " makes " + type.to_string() + ", " +
                                  text(type.bytes()) + ", beside parameters, states and inputs of " + text(arguments),
                              room),
                      graph.name, node.name);
    }
  }
}

}  // namespace

void check_memory(const Graph& graph, const Device& device) { check(graph, room_of(device)); }
void check_memory(const Graph& graph) { check(graph, host_room()); }
void check_memory(const MemoryReport& report, const Device& device) { check(report, room_of(device)); }

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
