// ridgeline/compile/lower/plan.h
//
// The plan is what compilation hands to the executor: buffers with their places in memory, and launches in order.
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
  derived,  // a derived form of a stored value, kept until the value changes (parameter_store.h)
  kept,     // the program's own: computed from stored values (constant_values.h), or exchanged by ranks in place
  input,    // memory of the caller, `name`
};

struct Buffer {
  BufferHome home = BufferHome::arena;
  std::string name;
  Device* device = nullptr;
  Layout layout;
  ValueType type;
  std::size_t bytes = 0;
  std::size_t offset = 0;  // in the arena, unless within another buffer; for the place of any buffer see places.h
  bool scratch = false;
  // The outer buffer in whose memory it is: an exchanged block, or a value that is no longer needed. Never nested.
  int within = -1;
  std::size_t within_offset = 0;  // where in that
};

enum class LaunchKind {
  kernel,
  copy,   // buffer to buffer, same layout, possibly between devices
  start,  // begins an exchange: the kernel (if any) packs, then `exchange` runs on the second stream
  done,   // ends it by waiting; its operands are the buffers that the exchange reads and writes
};

struct Launch {
  LaunchKind kind = LaunchKind::kernel;
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<Kernel> exchange;           // of a start
  std::shared_ptr<comm::Communicator> ranks;  // with which it exchanges
  int event = -1;                             // of a start and its done: which of the plan's events
  int shared = -1;                            // of a start: the buffer that all its ranks can access; -1: none
  Device* device = nullptr;
  std::vector<int> inputs;  // buffers
  std::vector<int> outputs;
  int scratch = -1;
  int node = -1;                  // of the graph; the launch serves it
  bool converts = false;          // a change of layout before the node, not the node itself
  bool constant = false;          // depends only on stored values: skipped while these have not changed
  int derives = -1;               // the derived buffer that it helps to make: skipped while that is up to date
  std::vector<int> writes_forms;  // outputs that are derived forms of a parameter that it updates: they hold
                                  // the new version
  bool beside = false;            // of an op that runs side by side with others (side_by_side.h)
  std::vector<int> waits_for;     // launches in other lanes of its section
};

// Launches first to last - 1, which run side by side: for each lane its launches in order (lanes.h).
struct Section {
  int first, last;
  std::vector<std::vector<int>> lanes;
};

struct Plan {
  Graph graph;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<int> buffer_of_value;      // by value of the graph; -1 if there is none
  std::vector<int> buffer_of_return;     // by returned value of the graph: arena memory in plain rows
  std::vector<std::size_t> arena_bytes;  // one for each of `devices`
  std::vector<Device*> devices;
  std::vector<Section> sections;              // in order
  int events = 0;                             // number of exchange events
  int lane_team = 1;                          // threads of a lane's team
  std::vector<std::string> constant_sources;  // stored values on which constant launches depend
  std::vector<std::string> warnings;          // what makes the program slow, one line each
  std::string kernel_plan;                    // hash of the kernels chosen by time; empty: all kernels by their order
  std::string ranks_plan;                     // how ranks divide the step, for the log; empty: only the data
};

}  // namespace ridgeline
