#include "ridgeline/compile/lower/plan_text.h"

#include <algorithm>

namespace ridgeline {
namespace {

std::string buffer_name(int index) { return "b" + std::to_string(index); }

std::string list(const std::vector<int>& buffers) {
  std::string text;
  for (int b : buffers) text += (text.empty() ? "" : ", ") + buffer_name(b);
  return text;
}

std::string describe(const Buffer& b) {
  std::string text;
  switch (b.home) {
    case BufferHome::arena: text = b.scratch ? "scratch" : "arena"; break;
    case BufferHome::store: text = "store " + b.name + ":"; break;
    case BufferHome::derived: text = "derived " + b.name + ":"; break;
    case BufferHome::kept: text = "kept"; break;
    case BufferHome::input: text = "input " + b.name + ":"; break;
  }
  text += " " + b.type.to_string() + " on " + std::string(b.device->name());
  if (b.within >= 0) text += ", in " + buffer_name(b.within) + " at " + std::to_string(b.within_offset);
  return b.layout.plain() ? text : text + ", " + b.layout.name();
}

std::string describe(const Plan& plan, const Launch& launch) {
  std::string text = launch.derives >= 0 ? "derive " + buffer_name(launch.derives) + ": "
                     : launch.constant   ? "once: "
                                         : "";
  const std::string moves = list(launch.inputs) + " -> " + list(launch.outputs);
  if (launch.kind == LaunchKind::copy) return text + "copy " + moves;
  if (launch.converts || launch.node < 0) {
    text += "convert";
  } else {
    const Node& node = plan.graph.nodes[static_cast<std::size_t>(launch.node)];
    text += node.op + (node.name == node.op ? "" : " \"" + node.name + "\"");
  }
  text += " on " + std::string(launch.device->name()) + ": " + moves;
  return launch.writes_forms.empty() ? text : text + ", forms " + list(launch.writes_forms);
}

// "lane 1, 7 behind 3, 5: " in a section of several lanes; launches are counted from 0.
std::string lane_text(const Plan& plan, int index) {
  for (const Section& section : plan.sections) {
    for (std::size_t lane = 0; lane < section.lanes.size(); ++lane) {
      const std::vector<int>& launches = section.lanes[lane];
      if (std::find(launches.begin(), launches.end(), index) == launches.end()) continue;
      std::string text = "lane " + std::to_string(lane) + ", " + std::to_string(index);
      const std::vector<int>& waits_for = plan.launches[static_cast<std::size_t>(index)].waits_for;
      for (std::size_t i = 0; i < waits_for.size(); ++i)
        text += (i == 0 ? " behind " : ", ") + std::to_string(waits_for[i]);
      return text + ": ";
    }
  }
  return "";
}

std::vector<bool> used_buffers(const Plan& plan) {
  std::vector<bool> used(plan.buffers.size(), false);
  const auto use = [&](int b) { used[static_cast<std::size_t>(b)] = true; };
  for (const Launch& launch : plan.launches) {
    for (int b : launch.inputs) use(b);
    for (int b : launch.outputs) use(b);
    if (launch.scratch >= 0) use(launch.scratch);
  }
  for (int b : plan.buffer_of_return) use(b);
  return used;
}

}  // namespace

std::string buffer_text(const Plan& plan, int buffer) {
  return buffer_name(buffer) + " (" + describe(plan.buffers[static_cast<std::size_t>(buffer)]) + ")";
}

std::string launch_text(const Plan& plan, int launch) {
  return "launch " + std::to_string(launch) + " (" + describe(plan, plan.launches[static_cast<std::size_t>(launch)]) +
         ")";
}

std::string to_text(const Plan& plan) {
  std::string text = "plan @" + plan.graph.name + "\n";
  const std::vector<bool> used = used_buffers(plan);
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (!used[i]) continue;  // its value is written elsewhere
    text += "  " + buffer_name(static_cast<int>(i)) + " = " + describe(plan.buffers[i]) + "\n";
  }
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    text += "  " + lane_text(plan, static_cast<int>(i)) + describe(plan, plan.launches[i]) + "\n";
  }
  for (std::size_t i = 0; i < plan.buffer_of_return.size(); ++i) {
    text += "  return " + buffer_name(plan.buffer_of_return[i]) + " \"" + plan.graph.returns[i].name + "\"\n";
  }
  return text;
}

}  // namespace ridgeline
