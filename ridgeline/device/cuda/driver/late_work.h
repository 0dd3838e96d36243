// ridgeline/device/cuda/driver/late_work.h
//
// Streams of work for the recording driver. Work waits until somebody waits for it; who touches the bytes of work on
// another stream must come behind it, by an event or by a wait of the host. What a stream gets while it is captured
// becomes nodes of a graph. Not thread-safe: the driver's lock is held.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/device/cuda/driver/work_graph.h"

namespace ridgeline::cuda {

// What was known to be in front, stream by stream: so many pieces of its work.
class Clock {
 public:
  bool knows(std::size_t stream, std::uint64_t count) const { return stream < at_.size() && at_[stream] >= count; }
  void reach(std::size_t stream, std::uint64_t count);
  void join(const Clock& other);

 private:
  std::vector<std::uint64_t> at_;
};

struct CapturedWork {
  std::vector<WorkNode> nodes;
  std::string problem;  // what ended it
};

class LateWork {
 public:
  using Id = std::uint64_t;

  struct Stream {
    std::size_t index = 0;
    std::uint64_t count = 0;  // pieces of work so far
    Clock clock;
    std::vector<Id> tail;  // what the next piece comes behind
    // While it is captured: the graph, and the nodes that the next one comes behind.
    std::shared_ptr<CapturedWork> capture;
    std::vector<std::size_t> nodes;
    bool origin = false;
  };
  // A point in a stream, as an event keeps it.
  struct Point {
    Clock clock;
    std::vector<Id> tail;
    std::shared_ptr<CapturedWork> capture;
    std::vector<std::size_t> nodes;
  };

  // `fault` as RecordingOptions::work_fault.
  explicit LateWork(std::function<Result(std::string_view)> fault) : fault_(std::move(fault)) {}

  Stream make_stream() { return {.index = streams_++}; }
  // Gives a stream work. False, and why in problem(), where work on another stream touches its bytes unordered.
  bool give(Stream& stream, WorkNode work);
  static Point point(const Stream& stream) { return {stream.clock, stream.tail, stream.capture, stream.nodes}; }
  // What the stream gets from now on comes behind the point; a stream that is not captured joins a captured point's
  // capture. False where the one is of another capture, or of none.
  bool wait(Stream& stream, const Point& point);

  // Does what a point comes behind; the host has waited for it.
  void finish(const Point& point);
  void finish_all();
  bool finished(const Point& point) const;
  // Does one piece of what is in front of a point, if there is one.
  void advance(const Point& point);

  // The nodes of a captured graph, in an order that its edges allow.
  void run_graph(const std::vector<WorkNode>& nodes, const std::vector<std::size_t>& order);

  Result sticky() const { return sticky_; }
  void fail(Result code, const std::string& problem);
  const std::string& problem() const { return problem_; }
  void set_problem(const std::string& problem) { problem_ = problem; }
  std::size_t works() const { return works_; }

 private:
  struct Recent {
    std::size_t stream;
    std::uint64_t count;
    std::string name;
    std::vector<TouchedRange> touches;
  };
  std::vector<Id> pending_before(const std::vector<Id>& tail) const;
  void run(const WorkNode& node);
  void host_knows(const Clock& clock);

  std::function<Result(std::string_view)> fault_;
  std::size_t streams_ = 0;
  Id next_ = 1;
  std::map<Id, WorkNode> pending_;  // `after` of these nodes holds ids
  std::vector<Recent> recent_;      // work that the host has not waited for
  Clock host_;
  std::size_t works_ = 0;
  Result sticky_ = result::kSuccess;
  std::string problem_;
};

}  // namespace ridgeline::cuda
