// ridgeline/device/cuda/driver/recording_streams.h
//
// Inside of the recording driver: streams, events, captures and graphs.
#pragma once

#include "ridgeline/device/cuda/driver/recording_memory.h"

namespace ridgeline::cuda::recorded {

// The union of what nodes touch: adjacent ranges of the same kind are merged.
inline std::vector<TouchedRange> all_touches(const std::vector<WorkNode>& nodes) {
  std::vector<TouchedRange> all;
  for (const WorkNode& node : nodes) all.insert(all.end(), node.touches.begin(), node.touches.end());
  std::sort(all.begin(), all.end(), [](const TouchedRange& a, const TouchedRange& b) {
    const bool a_reads = a.touch == Touch::reads, b_reads = b.touch == Touch::reads;
    return a_reads != b_reads ? a_reads : a.address < b.address;
  });
  std::vector<TouchedRange> merged;
  for (const TouchedRange& range : all) {
    const bool same = !merged.empty() && (merged.back().touch == Touch::reads) == (range.touch == Touch::reads) &&
                      range.address <= merged.back().address + merged.back().bytes;
    if (!same) {
      merged.push_back({range.address, range.bytes, range.touch == Touch::reads ? Touch::reads : Touch::updates});
      continue;
    }
    const DeviceAddress end = std::max(merged.back().address + merged.back().bytes, range.address + range.bytes);
    merged.back().bytes = end - merged.back().address;
  }
  return merged;
}
class RecordingStreams : public RecordingMemory {
 public:
  using RecordingMemory::RecordingMemory;

  Result stream_create(StreamHandle* stream, int) override {
    const Guard guard(*this, "a new stream");
    if (guard.code != 0) return guard.code;
    *stream = streams_.add(std::make_shared<LateWork::Stream>(work_.make_stream()));
    return result::kSuccess;
  }
  Result stream_destroy(StreamHandle stream) override {
    const Guard guard(*this, {}, true);
    if (guard.code != 0) return guard.code;
    return streams_.remove(stream) ? result::kSuccess : bad_handle("stream");
  }
  Result stream_synchronize(StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    if (s->capture) return end_capture(*s, "a wait of the host");
    ++counts_.waits;
    work_.finish(LateWork::point(*s));
    return work_.sticky();
  }
  Result stream_query(StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    if (s->capture) return end_capture(*s, "a query of the host");
    return reached(LateWork::point(*s));
  }
  Result stream_wait(StreamHandle stream, EventHandle event) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    const EventState* e = events_.find(event);
    if (s == nullptr) return bad_handle("stream");
    if (e == nullptr) return bad_handle("event");
    if (!e->recorded) return result::kSuccess;
    if (work_.wait(*s, e->point)) return result::kSuccess;
    if (s->capture) s->capture->problem = "a wait for an event that was recorded outside of the capture";
    return problem(result::kCaptureIsolation, "an event of another capture, or of none");
  }
  Result stream_host_function(StreamHandle stream, void (*function)(void*), void* argument) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    return give(*s, {.name = "host function", .run = [=] { function(argument); }});
  }

  Result event_create(EventHandle* event, bool timed) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    auto state = std::make_shared<EventState>();
    state->timed = timed;
    *event = events_.add(std::move(state));
    return result::kSuccess;
  }
  Result event_destroy(EventHandle event) override {
    const Guard guard(*this, {}, true);
    if (guard.code != 0) return guard.code;
    return events_.remove(event) ? result::kSuccess : bad_handle("event");
  }
  Result event_record(EventHandle event, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    const std::shared_ptr<EventState> e = events_.share(event);
    if (s == nullptr) return bad_handle("stream");
    if (e == nullptr) return bad_handle("event");
    if (e->timed && !s->capture) {
      const Result code = give(*s, {.name = "event", .run = [e] { e->when = std::chrono::steady_clock::now(); }});
      if (code != result::kSuccess) return code;
    }
    e->recorded = true;
    e->point = LateWork::point(*s);
    return result::kSuccess;
  }
  Result event_query(EventHandle event) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    const EventState* e = events_.find(event);
    if (e == nullptr) return bad_handle("event");
    if (e->point.capture) return problem(result::kCaptureUnsupported, "the event was recorded in a capture");
    return reached(e->point);
  }
  Result event_synchronize(EventHandle event) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    const EventState* e = events_.find(event);
    if (e == nullptr) return bad_handle("event");
    if (e->point.capture) return problem(result::kCaptureUnsupported, "the event was recorded in a capture");
    ++counts_.waits;
    work_.finish(e->point);
    return work_.sticky();
  }
  Result event_elapsed(float* milliseconds, EventHandle from, EventHandle to) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    const EventState* a = events_.find(from);
    const EventState* b = events_.find(to);
    if (a == nullptr || b == nullptr) return bad_handle("event");
    if (!a->timed || !b->timed || !a->recorded || !b->recorded)
      return problem(result::kInvalidHandle, "an event that is not timed, or was not recorded");
    if (!work_.finished(a->point) || !work_.finished(b->point)) return result::kNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(b->when - a->when).count();
    return result::kSuccess;
  }

  Result capture_begin(StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    if (s->capture) return problem(result::kCaptureUnsupported, "the stream is captured already");
    s->capture = std::make_shared<CapturedWork>();
    s->nodes.clear();
    s->origin = true;
    capturing_[std::this_thread::get_id()] = s->capture;
    return result::kSuccess;
  }
  Result capture_end(StreamHandle stream, GraphHandle* graph) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    if (!s->capture || !s->origin)
      return problem(result::kCaptureUnsupported, "the stream's capture did not begin here");
    const std::shared_ptr<CapturedWork> capture = s->capture;
    const std::vector<std::size_t> tail = s->nodes;
    const bool joined = leave(capture, tail);
    capturing_.erase(std::this_thread::get_id());
    *graph = nullptr;
    if (!capture->problem.empty()) return problem(result::kCaptureInvalidated, capture->problem);
    if (!joined) return problem(result::kCaptureUnjoined, "a stream of the capture is not waited for at its end");
    if (const auto pair = unordered_conflict(capture->nodes)) {
      return problem(result::kInvalidValue,
                     fmt::format("nodes {} '{}' and {} '{}' touch the same bytes, and nothing orders them", pair->first,
                                 capture->nodes[pair->first].name, pair->second, capture->nodes[pair->second].name));
    }
    auto state = std::make_shared<GraphState>();
    state->nodes = std::move(capture->nodes);
    *graph = graphs_.add(std::move(state));
    return result::kSuccess;
  }
  Result graph_instantiate(GraphExecHandle* executable, GraphHandle graph) override {
    const Guard guard(*this, "a new graph");
    if (guard.code != 0) return guard.code;
    const GraphState* g = graphs_.find(graph);
    if (g == nullptr) return bad_handle("graph");
    auto state = std::make_shared<GraphState>(*g);
    state->order = contrary_order(state->nodes);
    state->touches = all_touches(state->nodes);
    *executable = executables_.add(std::move(state));
    return result::kSuccess;
  }
  Result graph_nodes(std::size_t* count, GraphHandle graph) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    const GraphState* g = graphs_.find(graph);
    if (g == nullptr) return bad_handle("graph");
    *count = g->nodes.size();
    return result::kSuccess;
  }
  Result graph_launch(GraphExecHandle executable, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    const std::shared_ptr<GraphState> g = executables_.share(executable);
    if (s == nullptr) return bad_handle("stream");
    if (g == nullptr) return bad_handle("graph");
    if (s->capture) return end_capture(*s, "a graph inside of a capture");
    ++counts_.replays;
    return give(*s,
                {.name = "graph", .touches = g->touches, .run = [this, g] { work_.run_graph(g->nodes, g->order); }});
  }
  Result graph_destroy(GraphHandle graph) override {
    const Guard guard(*this, {}, true);
    if (guard.code != 0) return guard.code;
    return graphs_.remove(graph) ? result::kSuccess : bad_handle("graph");
  }
  Result graph_exec_destroy(GraphExecHandle executable) override {
    const Guard guard(*this, {}, true);
    if (guard.code != 0) return guard.code;
    return executables_.remove(executable) ? result::kSuccess : bad_handle("graph");
  }

 private:
  // Ends the capture for all its streams; returns whether all of their nodes come before `tail`.
  bool leave(const std::shared_ptr<CapturedWork>& capture, const std::vector<std::size_t>& tail) {
    bool joined = true;
    streams_.each([&](LateWork::Stream& stream) {
      if (stream.capture != capture) return;
      for (std::size_t node : stream.nodes) {
        joined = joined && std::any_of(tail.begin(), tail.end(),
                                       [&](std::size_t last) { return comes_behind(capture->nodes, node, last); });
      }
      stream.capture = nullptr;
      stream.nodes.clear();
      stream.origin = false;
    });
    return joined;
  }
};

}  // namespace ridgeline::cuda::recorded
