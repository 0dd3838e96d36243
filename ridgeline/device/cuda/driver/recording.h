// ridgeline/device/cuda/driver/recording.h
//
// A driver for machines without a card. It runs the host versions of kernels on memory whose addresses the host cannot
// access, and is stricter than a real one:
// - work is done as late as the host's waits allow, so that results read too early are stale;
//   - two pieces of work on two streams that touch the same bytes must be ordered by events or by a wait of the host;
// - a captured graph has a path between any two nodes that touch the same bytes, and is replayed in the order that
//     differs most from that of its capture;
//   - a thread that calls it must have set the context; what a capture forbids ends it;
// - host addresses are not valid as device addresses, nor is freed memory.
// A problem is the result of the call (CUresult), explained by error_text. A failure inside work is sticky, as on a
// card: every later call returns it. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/driver/driver.h"
#include "ridgeline/device/cuda/driver/host_kernel.h"

namespace ridgeline::cuda {

struct RecordingOptions {
  std::vector<HostKernel> kernels;  // that modules contain, whatever image they are loaded from
  std::string device_name = "recording device";
  int devices = 1;
  int driver_version = 13000;
  int compute_capability = 90;
  std::size_t memory_bytes = std::size_t{8} << 30;
  // The result with which a piece of work ends; 0: it is done.
  std::function<Result(std::string_view work)> work_fault;
};

// Counts of what happened so far.
struct RecordingCounts {
  std::size_t allocations = 0;   // of device and pinned memory
  std::size_t live_objects = 0;  // memory, streams, events, modules, graphs that were not freed
  std::size_t works = 0;         // pieces of work that were done, nodes of graphs included
  std::size_t replays = 0;       // graphs launched
  std::size_t waits = 0;         // calls that made the host wait
};

class RecordingDriver : public Driver {
 public:
  static std::unique_ptr<RecordingDriver> make(RecordingOptions options);
  virtual RecordingCounts counts() const = 0;
  // The nodes of a graph, for tests.
  virtual std::vector<std::string> node_names(GraphHandle graph) const = 0;
};

}  // namespace ridgeline::cuda
