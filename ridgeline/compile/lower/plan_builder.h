// ridgeline/compile/lower/plan_builder.h
//
// Adds buffers, copies and conversions to a plan: the building blocks of emitting launches.
#pragma once

#include <memory>
#include <utility>

#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/lower/target.h"

namespace ridgeline {

class PlanBuilder {
 protected:
  explicit PlanBuilder(const Target& target) : target_(target) {}

  const ValueInfo& value(ValueId id) const { return plan_.graph.value(id); }
  int& buffer_of(ValueId id) { return plan_.buffer_of_value[static_cast<std::size_t>(id)]; }
  Buffer& buffer(int index) { return plan_.buffers[static_cast<std::size_t>(index)]; }

  // True if kernels of `device` can use the buffer in place.
  bool reachable(int index, const Device* device) {
    const Device* home = buffer(index).device;
    return home == device || (home->host_memory() && device->host_memory());
  }

  int add_buffer(Buffer b) {
    b.bytes = b.layout.bytes(b.type);
    plan_.buffers.push_back(std::move(b));
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

  int add_copy(int from, Device* device, ValueId id) {
    const int to = add_buffer(
        {.name = buffer(from).name, .device = device, .layout = buffer(from).layout, .type = value(id).type});
    Launch launch;
    launch.kind = LaunchKind::copy;
    launch.device = buffer(from).device->host_memory() ? device : buffer(from).device;
    launch.inputs = {from};
    launch.outputs = {to};
    launch.node = node_;
    plan_.launches.push_back(std::move(launch));
    return to;
  }

  // What a device cannot convert itself is converted on the CPU.
  int convert(int from, Layout layout, ValueId id) {
    std::unique_ptr<Kernel> kernel = buffer(from).device->conversion(value(id).type, buffer(from).layout, layout);
    if (!kernel) {
      from = add_copy(from, &target_.cpu, id);
      kernel = target_.cpu.conversion(value(id).type, buffer(from).layout, layout);
    }
    const int to = add_buffer({.name = buffer(from).name,
                               .device = buffer(from).device,
                               .layout = std::move(layout),
                               .type = value(id).type});
    add_conversion(from, to, std::move(kernel));
    return to;
  }

  void add_conversion(int from, int to, std::unique_ptr<Kernel> kernel) {
    Launch launch;
    launch.device = buffer(to).device;
    launch.kernel = std::move(kernel);
    launch.inputs = {from};
    launch.outputs = {to};
    launch.scratch = add_scratch(*launch.kernel, launch.device);
    launch.node = node_;
    launch.converts = true;
    plan_.launches.push_back(std::move(launch));
  }

  // A kernel's workspace, or -1 if it needs none.
  int add_scratch(const Kernel& kernel, Device* device) {
    if (kernel.scratch_bytes == 0) return -1;
    const ValueType bytes{DType::u8, Shape{static_cast<std::int64_t>(kernel.scratch_bytes)}};
    return add_buffer({.device = device, .type = bytes, .scratch = true});
  }

  const Target& target_;
  Plan plan_;
  int node_ = -1;  // for which launches are added
};

}  // namespace ridgeline
