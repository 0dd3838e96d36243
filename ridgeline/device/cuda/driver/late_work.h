// ridgeline/device/cuda/driver/late_work.h
//
// Streams of work for the recording driver. Work is run as late as possible: when something waits for it. Work that
// touches the same bytes as work on another stream must be ordered after it, by an event or by a wait of the host. Work
// given to a stream during a capture becomes nodes of a graph. Not thread-safe: the driver's lock is held.
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

// What is known to come before: for each stream, the number of its first pieces of work.
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
    std::vector<Id> tail;  // the work after which the next piece must come
    // While it is captured: the graph, and the nodes after which the next one must come.
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
  // Gives work to a stream. False, with the reason in problem(), if unordered work on another stream touches its bytes.
  bool give(Stream& stream, WorkNode work);
  static Point point(const Stream& stream) { return {stream.clock, stream.tail, stream.capture, stream.nodes}; }
  // Later work of the stream comes after the point; a stream that is not captured joins a captured point's capture.
  // False if the stream is in another capture, or only the stream is captured.
  bool wait(Stream& stream, const Point& point);

  // Runs all work before a point, for which the host has waited.
  void finish(const Point& point);
  void finish_all();
  bool finished(const Point& point) const;
  // Runs one piece of the work before a point, if there is any.
  void advance(const Point& point);

  // Runs the nodes of a captured graph, in an order that its edges allow.
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
  std::vector<Recent> recent_;      // work for which the host has not waited
  Clock host_;
  std::size_t works_ = 0;
  Result sticky_ = result::kSuccess;
  std::string problem_;
};

}  // namespace ridgeline::cuda
