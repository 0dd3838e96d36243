#include "ridgeline/device/cuda/driver/late_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>

namespace ridgeline::cuda {

void Clock::reach(std::size_t stream, std::uint64_t count) {
  if (stream >= at_.size()) at_.resize(stream + 1);
  at_[stream] = std::max(at_[stream], count);
}

void Clock::join(const Clock& other) {
  for (std::size_t stream = 0; stream < other.at_.size(); ++stream) reach(stream, other.at_[stream]);
}

bool LateWork::give(Stream& stream, WorkNode work) {
  if (stream.capture) {
    work.after = stream.nodes;
    stream.nodes = {stream.capture->nodes.size()};
    stream.capture->nodes.push_back(std::move(work));
    return true;
  }
  stream.clock.join(host_);
  for (const Recent& other : recent_) {
    if (other.stream == stream.index || stream.clock.knows(other.stream, other.count)) continue;
    if (!conflict(other.touches, work.touches)) continue;
    problem_ = fmt::format("'{}' and '{}' on another stream touch the same bytes, and nothing orders them", work.name,
                           other.name);
    return false;
  }
  stream.clock.reach(stream.index, ++stream.count);
  recent_.push_back({stream.index, stream.count, work.name, work.touches});
  work.after.assign(stream.tail.begin(), stream.tail.end());
  stream.tail = {next_};
  pending_.emplace(next_++, std::move(work));
  return true;
}

bool LateWork::wait(Stream& stream, const Point& point) {
  if (point.capture) {
    if (stream.capture && stream.capture != point.capture) return false;
    stream.capture = point.capture;
    stream.nodes.insert(stream.nodes.end(), point.nodes.begin(), point.nodes.end());
    std::sort(stream.nodes.begin(), stream.nodes.end());
    stream.nodes.erase(std::unique(stream.nodes.begin(), stream.nodes.end()), stream.nodes.end());
    return true;
  }
  if (stream.capture) return false;
  stream.clock.join(point.clock);
  for (Id id : point.tail) {
    if (pending_.contains(id)) stream.tail.push_back(id);
  }
  return true;
}

std::vector<LateWork::Id> LateWork::pending_before(const std::vector<Id>& tail) const {
  std::set<Id> found;
  std::vector<Id> open = tail;
  while (!open.empty()) {
    const Id id = open.back();
    open.pop_back();
    const auto at = pending_.find(id);
    if (at == pending_.end() || !found.insert(id).second) continue;
    open.insert(open.end(), at->second.after.begin(), at->second.after.end());
  }
  return {found.begin(), found.end()};  // ascending: what is in front has the smaller id
}

void LateWork::run(const WorkNode& node) {
  if (sticky_ != result::kSuccess) return;  // as on a card: nothing is done any more
  if (fault_) {
    if (const Result code = fault_(node.name); code != result::kSuccess) {
      fail(code, fmt::format("in '{}'", node.name));
      return;
    }
  }
  ++works_;
  try {
    if (node.run) node.run();
  } catch (const std::exception& error) {
    fail(result::kLaunchFailed, fmt::format("in '{}': {}", node.name, error.what()));
  }
}

void LateWork::fail(Result code, const std::string& problem) {
  if (sticky_ != result::kSuccess) return;
  sticky_ = code;
  problem_ = problem;
}

void LateWork::host_knows(const Clock& clock) {
  host_.join(clock);
  std::erase_if(recent_, [&](const Recent& work) { return host_.knows(work.stream, work.count); });
}

void LateWork::finish(const Point& point) {
  for (Id id : pending_before(point.tail)) {
    const WorkNode node = std::move(pending_.at(id));
    pending_.erase(id);
    run(node);
  }
  host_knows(point.clock);
}

void LateWork::finish_all() {
  while (!pending_.empty()) {
    const WorkNode node = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    run(node);
  }
  for (const Recent& work : recent_) host_.reach(work.stream, work.count);
  recent_.clear();
}

bool LateWork::finished(const Point& point) const {
  return std::none_of(point.tail.begin(), point.tail.end(), [&](Id id) { return pending_.contains(id); });
}

void LateWork::advance(const Point& point) {
  const std::vector<Id> before = pending_before(point.tail);
  if (before.empty()) return;
  const WorkNode node = std::move(pending_.at(before.front()));
  pending_.erase(before.front());
  run(node);
}

void LateWork::run_graph(const std::vector<WorkNode>& nodes, const std::vector<std::size_t>& order) {
  for (std::size_t node : order) run(nodes[node]);
}

}  // namespace ridgeline::cuda
