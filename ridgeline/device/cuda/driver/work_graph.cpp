#include "ridgeline/device/cuda/driver/work_graph.h"

#include <queue>

namespace ridgeline::cuda {
namespace {

bool overlap(const TouchedRange& a, const TouchedRange& b) {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

// before[i][j]: node j comes before node i.
std::vector<std::vector<bool>> all_before(const std::vector<WorkNode>& nodes) {
  std::vector<std::vector<bool>> before(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    before[i].resize(i);
    for (std::size_t front : nodes[i].after) {
      before[i][front] = true;
      for (std::size_t j = 0; j < front; ++j) {
        if (before[front][j]) before[i][j] = true;
      }
    }
  }
  return before;
}

}  // namespace

bool conflict(const std::vector<TouchedRange>& a, const std::vector<TouchedRange>& b) {
  for (const TouchedRange& x : a) {
    for (const TouchedRange& y : b) {
      if ((x.touch != Touch::reads || y.touch != Touch::reads) && overlap(x, y)) return true;
    }
  }
  return false;
}

std::optional<std::pair<std::size_t, std::size_t>> unordered_conflict(const std::vector<WorkNode>& nodes) {
  const std::vector<std::vector<bool>> before = all_before(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!before[i][j] && conflict(nodes[i].touches, nodes[j].touches)) return std::pair(j, i);
    }
  }
  return std::nullopt;
}

bool comes_behind(const std::vector<WorkNode>& nodes, std::size_t first, std::size_t last) {
  std::vector<std::size_t> open = {last};
  std::vector<bool> seen(nodes.size());
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (node == first) return true;
    if (node < first || seen[node]) continue;
    seen[node] = true;
    open.insert(open.end(), nodes[node].after.begin(), nodes[node].after.end());
  }
  return false;
}

std::vector<std::size_t> contrary_order(const std::vector<WorkNode>& nodes) {
  std::vector<std::vector<std::size_t>> followers(nodes.size());
  std::vector<std::size_t> waits(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    waits[i] = nodes[i].after.size();
    for (std::size_t front : nodes[i].after) followers[front].push_back(i);
  }
  std::priority_queue<std::size_t> ready;  // the one that was captured last goes first
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (std::size_t follower : followers[node]) {
      if (--waits[follower] == 0) ready.push(follower);
    }
  }
  return order;
}

}  // namespace ridgeline::cuda
