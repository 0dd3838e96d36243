// ridgeline/compile/lower/first_accepting.h
//
// The fastest kernel of a device that takes an op, by the estimates of the device's list, and why those before it did
// not.
#pragma once

#include <memory>
#include <string>

#include "ridgeline/core/log.h"
#include "ridgeline/device/device.h"
#include "ridgeline/graph/ir/node_error.h"

namespace ridgeline {

struct Accepted {
  std::unique_ptr<Kernel> kernel;  // null: none took it
  Provider provider = Provider::own;
  std::string refusals;  // "name: reason; name: reason"
  std::string by_time;   // the tuner's choice (device/kernel_tuner.h); empty: by the order of the list
  // For messages: the refusals, or that the device has no kernels for the op.
  std::string reasons() const { return refusals.empty() ? "the device does not know the op" : refusals; }
};

// The first kernel that accepts; kernels must keep the device's promise. Every refusal and the choice go to the log's
// component "dispatch".
Accepted first_accepting(const KernelRequest& request, Device& device, Log& log);

// If the device chooses by time (device/kernel_tuner.h), the fastest, with its reason in the same log; else the first.
Accepted best_accepting(const KernelRequest& request, Device& device, Log& log);

// The request for a node with all values in plain rows: used before layouts are chosen.
KernelRequest plain_request(const Graph& graph, const Node& node);

// `merged` is the op `plain` with other ops merged into it. True if the same entry of the kernel table is the first
// that accepts both (for two different ops, which have a table each: entries with the same name). False if either of
// them has no kernel of its own type and would need conversions. If false, the reason goes to the log's component
// "dispatch".
bool keeps_kernel(const Graph& graph, const Node& plain, const Node& merged, Device& device, Log& log);

// The Error for an op without a kernel: "op NAME (OP) (file:line) has no kernel on device D<addition>: reasons".
NodeError no_kernel(const Graph& graph, const Node& node, const Device& device, const Accepted& accepted,
                    const std::string& addition = "");

}  // namespace ridgeline
