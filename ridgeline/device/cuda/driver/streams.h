// ridgeline/device/cuda/driver/streams.h
//
// Streams of a card, events, and graphs that are captured from them. Each owns its handle and keeps the context alive.
// One thread at a time may use a stream.
#pragma once

#include <memory>
#include <string_view>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/device/cuda/driver/context.h"

namespace ridgeline::cuda {

class CudaEvent {
 public:
  explicit CudaEvent(std::shared_ptr<Context> context, bool timed = false);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  EventHandle handle() const { return handle_; }
  void synchronize();
  bool reached();
  // Seconds since `from`; both must be timed and reached.
  double seconds_since(const CudaEvent& from);

 private:
  std::shared_ptr<Context> context_;
  EventHandle handle_ = nullptr;
};

class CudaStream {
 public:
  // Streams with a lower number go first if a card has no room for all; 0 is the default, -1 goes before it.
  explicit CudaStream(std::shared_ptr<Context> context, int priority = 0);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  StreamHandle handle() const { return handle_; }
  Context& context() { return *context_; }

  void copy_to_device(DeviceAddress to, const void* from, std::size_t bytes);
  void copy_to_host(void* to, DeviceAddress from, std::size_t bytes);
  void copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes);
  void fill(DeviceAddress to, unsigned char value, std::size_t bytes);
  void launch(const Launch& launch);
  void library_call(const LibraryCall& call);
  // Calls the function on a thread of the driver when the work so far is done; later work waits. It must not call the
  // driver, nor throw.
  void host_function(void (*function)(void*), void* argument);
  void record(CudaEvent& event);
  void wait(CudaEvent& event);
  void synchronize();

 private:
  std::shared_ptr<Context> context_;
  StreamHandle handle_ = nullptr;
};

// The work that `body` gives to a stream, and to others that are ordered with it, as one launch.
class CapturedGraph {
 public:
  CapturedGraph(CudaStream& stream, FunctionRef<void()> body);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void launch(CudaStream& stream);
  std::size_t nodes() const { return nodes_; }
  GraphHandle handle() const { return graph_; }

 private:
  void release() noexcept;
  Context& context_;
  GraphHandle graph_ = nullptr;
  GraphExecHandle executable_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace ridgeline::cuda
