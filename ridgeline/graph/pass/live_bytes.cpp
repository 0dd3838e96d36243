#include "ridgeline/graph/pass/live_bytes.h"

#include <algorithm>
#include <limits>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/derived_casts.h"

namespace ridgeline {

LiveValues::LiveValues(const Graph& graph)
    : bytes_(graph.values.size(), 0),
      root_(graph.values.size()),
      viewed_(graph.values.size(), false),
      readers_(graph.values.size()),
      last_(graph.values.size(), -1),
      overwritten_(graph.values.size(), std::numeric_limits<int>::max()) {
  const auto nodes = static_cast<int>(graph.nodes.size());
  std::vector<bool> in_place(graph.values.size(), false);
  std::vector<int> made = producers(graph);
  for (std::size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
  for (const Update& update : graph.updates) {
    const int writer = made[at(update.next)];
    if (writer < 0) continue;
    const Node& node = graph.nodes[static_cast<std::size_t>(writer)];
    // As in `emit`: update and pointwise ops overwrite the operand with the result's index.
    const auto result = static_cast<std::size_t>(std::find(node.outputs.begin(), node.outputs.end(), update.next) -
                                                 node.outputs.begin());
    // Another op keeps the old version, but the pass `schedule` puts what reads it in front of the op.
    overwritten_[at(update.current)] = writer;
    if (result < updated_operands(node) || op_def(node.op).has(kPointwise)) in_place[at(update.next)] = true;
  }
  const std::map<ValueId, ValueId> casts = derived_casts(graph);
  for (const auto& [cast, parameter] : casts) overwritten_[at(cast)] = overwritten_[at(parameter)];
  for (int n = 0; n < nodes; ++n) {
    const Node& node = graph.nodes[static_cast<std::size_t>(n)];
    const bool view = op_def(node.op).has(kView);
    for (ValueId id : node.inputs) {
      if (readers_[at(id)].empty() || readers_[at(id)].back() != n) readers_[at(id)].push_back(n);
    }
    if (view) {
      root_[at(node.outputs[0])] = root_[at(node.inputs[0])];
      viewed_[at(root_[at(node.inputs[0])])] = true;
    }
    for (ValueId id : node.outputs) {
      if (!view && !in_place[at(id)] && !casts.contains(id)) bytes_[at(id)] = graph.value(id).type.bytes();
      last_[at(root_[at(id)])] = std::max(last_[at(root_[at(id)])], n);
    }
    for (ValueId id : node.inputs) last_[at(root_[at(id)])] = n;
  }
  const auto read_last = [&](ValueId id) {
    if (readers_[at(id)].empty() || readers_[at(id)].back() != nodes) readers_[at(id)].push_back(nodes);
    last_[at(root_[at(id)])] = nodes;
  };
  for (const Return& r : graph.returns) read_last(r.value);
  for (const Update& update : graph.updates) read_last(update.next);
  count(graph, made);
}

void LiveValues::count(const Graph& graph, const std::vector<int>& made) {
  const std::size_t nodes = graph.nodes.size();
  live_.assign(nodes + 1, 0);
  for (std::size_t v = 0; v < bytes_.size(); ++v) {
    if (bytes_[v] == 0) continue;
    for (int n = made[v]; n <= std::min(last_[v], static_cast<int>(nodes) - 1); ++n) {
      live_[static_cast<std::size_t>(n)] += bytes_[v];
    }
  }
  for (std::size_t n = 0; n < nodes; ++n) {
    const Node& node = graph.nodes[n];
    if (!op_def(node.op).has(kPointwise)) continue;
    const std::size_t result = bytes_[at(node.outputs[0])];
    const auto ends = [&](ValueId id) {
      const ValueId root = root_[at(id)];
      return bytes_[at(root)] == result && last_[at(root)] == static_cast<int>(n);
    };
    if (result > 0 && std::any_of(node.inputs.begin(), node.inputs.end(), ends)) live_[n] -= result;
  }
  const auto most = std::max_element(live_.begin(), live_.end());
  peak_ = *most;
  fullest_ = static_cast<int>(most - live_.begin());
}

std::size_t LiveValues::most(int first, int last) const {
  std::size_t most = 0;
  for (int n = first + 1; n < last; ++n) most = std::max(most, live_[static_cast<std::size_t>(n)]);
  return most;
}

}  // namespace ridgeline
