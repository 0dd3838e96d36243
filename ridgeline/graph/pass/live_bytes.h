// ridgeline/graph/pass/live_bytes.h
//
// How many bytes of intermediate values are alive when each op of a graph runs, in the order of the graph: what the
// memory plan will need, except workspaces, conversions and gaps. Views share memory; the next version of a parameter
// replaces the old one in place; a pointwise result reuses the memory of an operand that is not read later.
#pragma once

#include <algorithm>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// What is alive when each node of a graph runs. The graph must not change while this is used.
class LiveValues {
 public:
  explicit LiveValues(const Graph& graph);

  std::size_t peak() const { return peak_; }
  int fullest() const { return fullest_; }  // the first node at which most bytes are alive
  int fullest_moments() const { return static_cast<int>(std::count(live_.begin(), live_.end(), peak_)); }
  std::size_t live(int node) const { return live_[static_cast<std::size_t>(node)]; }
  // The largest live() of the nodes between first and last, without these two.
  std::size_t most(int first, int last) const;
  // Planned memory of its own; 0 for arguments, casts that the store keeps, views and next versions.
  std::size_t bytes(ValueId id) const { return bytes_[at(id)]; }
  // The value whose memory this one shares; itself if it is not a view.
  ValueId root(ValueId id) const { return root_[at(id)]; }
  bool viewed(ValueId id) const { return viewed_[at(id)]; }
  // The nodes that read it, ascending; a return or an update counts as node number nodes.size().
  const std::vector<int>& readers(ValueId id) const { return readers_[at(id)]; }
  // The last node that reads its memory.
  int last(ValueId id) const { return last_[at(id)]; }
  // True for an argument whose next version an op in front of `node` makes, and for its casts.
  bool overwritten_before(ValueId id, int node) const { return overwritten_[at(id)] < node; }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  void count(const Graph& graph, const std::vector<int>& made);

  std::vector<std::size_t> bytes_;
  std::vector<ValueId> root_;
  std::vector<bool> viewed_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> last_;
  std::vector<int> overwritten_;
  std::vector<std::size_t> live_;
  std::size_t peak_ = 0;
  int fullest_ = 0;
};

}  // namespace ridgeline
