// ridgeline/compile/lower/plan.h
//
// What compilation hands to the executor: buffers with their place in memory, and launches in order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/device/device.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

enum class BufferHome {
  arena,    // planned memory of the program, shared over time
  store,    // a parameter or state of the store, `name`
  derived,  // a form of a stored value, kept until the value changes (parameter_store.h)
  kept,     // the program's own: made of stored values (constant_values.h), or what ranks exchange in place
  input,    // memory of the caller, `name`
};

struct Buffer {
  BufferHome home = BufferHome::arena;
  std::string name;
  Device* device = nullptr;
  Layout layout;
  ValueType type;
  std::size_t bytes = 0;
  std::size_t offset = 0;  // in the arena, of what is no part; where a buffer lies: places.h
  bool scratch = false;
  // The buffer in whose memory it lies, which is no part itself: an exchanged block, or what is no longer needed.
  int within = -1;
  std::size_t within_offset = 0;  // where in that
};

enum class LaunchKind {
  kernel,
  copy,   // buffer to buffer, same layout, possibly between devices
  start,  // begins an exchange: the kernel (if any) packs, then `exchange` runs on the second stream
  done,   // waits for it; its operands are what the exchange reads and writes meanwhile
};

struct Launch {
  LaunchKind kind = LaunchKind::kernel;
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<Kernel> exchange;           // of a start
  std::shared_ptr<comm::Communicator> ranks;  // that it exchanges with
  int event = -1;                             // of a start and its done: which of the plan's events
  int shared = -1;                            // of a start: the buffer that all its ranks see; -1: none
  Device* device = nullptr;
  std::vector<int> inputs;  // buffers
  std::vector<int> outputs;
  int scratch = -1;
  int node = -1;                  // of the graph; the launch serves it
  bool converts = false;          // a change of layout in front of the node, not the node itself
  bool constant = false;          // reads stored values alone: skipped while these have not changed
  int derives = -1;               // the derived buffer that it helps to make: skipped while that is up to date
  std::vector<int> writes_forms;  // those of its outputs that are derived buffers of a parameter it updates: they hold
                                  // the new version
  bool beside = false;            // of an op that runs beside others (side_by_side.h)
  std::vector<int> waits_for;     // launches in other lanes of its section
};

// Launches first to last - 1, which run side by side: by lane, each in order (lanes.h).
struct Section {
  int first, last;
  std::vector<std::vector<int>> lanes;
};

struct Plan {
  Graph graph;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<int> buffer_of_value;      // of the graph; -1 where none
  std::vector<int> buffer_of_return;     // of the graph: arena memory in plain rows
  std::vector<std::size_t> arena_bytes;  // a device each, in the order of `devices`
  std::vector<Device*> devices;
  std::vector<Section> sections;              // in order
  int events = 0;                             // exchanges that are in flight at some time
  int lane_team = 1;                          // threads of a lane's team
  std::vector<std::string> constant_sources;  // stored values of which constant launches are made
  std::vector<std::string> warnings;          // what makes the program slow: a line each
  std::string kernel_plan;                    // hash of what was chosen by time; empty: all kernels by their order
  std::string ranks_plan;                     // how ranks divide the step, for the log; empty: the data alone
};

}  // namespace ridgeline
