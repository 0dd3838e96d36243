#include "ridgeline/device/cuda/driver/streams.h"

#include <fmt/format.h>

namespace ridgeline::cuda {

CudaEvent::CudaEvent(std::shared_ptr<Context> context, bool timed) : context_(std::move(context)) {
  context_->make("cuEventCreate", "", &Driver::event_create, &handle_, timed);
}

CudaEvent::~CudaEvent() { context_->release("cuEventDestroy", &Driver::event_destroy, handle_); }

void CudaEvent::synchronize() { context_->make("cuEventSynchronize", "", &Driver::event_synchronize, handle_); }

bool CudaEvent::reached() {
  context_->enter();
  const Result code = context_->calls().answer("cuEventQuery", &Driver::event_query, handle_);
  if (code == result::kNotReady) return false;
  if (code != result::kSuccess) context_->calls().fail("cuEventQuery", "", code);
  return true;
}

double CudaEvent::seconds_since(const CudaEvent& from) {
  float milliseconds = 0;
  context_->make("cuEventElapsedTime", "", &Driver::event_elapsed, &milliseconds, from.handle_, handle_);
  return milliseconds * 1e-3;
}

CudaStream::CudaStream(std::shared_ptr<Context> context, int priority) : context_(std::move(context)) {
  context_->make("cuStreamCreateWithPriority", "", &Driver::stream_create, &handle_, priority);
}

CudaStream::~CudaStream() { context_->release("cuStreamDestroy", &Driver::stream_destroy, handle_); }

void CudaStream::copy_to_device(DeviceAddress to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  context_->make("cuMemcpyHtoDAsync", fmt::format("{} bytes", bytes), &Driver::copy_to_device, to, from, bytes,
                 handle_);
}

void CudaStream::copy_to_host(void* to, DeviceAddress from, std::size_t bytes) {
  if (bytes == 0) return;
  context_->make("cuMemcpyDtoHAsync", fmt::format("{} bytes", bytes), &Driver::copy_to_host, to, from, bytes, handle_);
}

void CudaStream::copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes) {
  if (bytes == 0) return;
  context_->make("cuMemcpyDtoDAsync", fmt::format("{} bytes", bytes), &Driver::copy_on_device, to, from, bytes,
                 handle_);
}

void CudaStream::fill(DeviceAddress to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  context_->make("cuMemsetD8Async", fmt::format("{} bytes", bytes), &Driver::fill_bytes, to, value, bytes, handle_);
}

void CudaStream::launch(const Launch& launch) {
  context_->make("cuLaunchKernel", launch.name, &Driver::launch, launch, handle_);
}

void CudaStream::library_call(const LibraryCall& call) {
  context_->make("library call", call.name, &Driver::library_call, call, handle_);
}

void CudaStream::host_function(void (*function)(void*), void* argument) {
  context_->make("cuLaunchHostFunc", "", &Driver::stream_host_function, handle_, function, argument);
}

void CudaStream::record(CudaEvent& event) {
  context_->make("cuEventRecord", "", &Driver::event_record, event.handle(), handle_);
}

void CudaStream::wait(CudaEvent& event) {
  context_->make("cuStreamWaitEvent", "", &Driver::stream_wait, handle_, event.handle());
}

void CudaStream::synchronize() { context_->make("cuStreamSynchronize", "", &Driver::stream_synchronize, handle_); }

CapturedGraph::CapturedGraph(CudaStream& stream, FunctionRef<void()> body) : context_(stream.context()) {
  context_.make("cuStreamBeginCapture", "", &Driver::capture_begin, stream.handle());
  try {
    body();
  } catch (...) {  // the stream is of use again, and the error is the first one's
    context_.release("cuStreamEndCapture", &Driver::capture_end, stream.handle(), &graph_);
    release();
    throw;
  }
  try {
    context_.make("cuStreamEndCapture", "", &Driver::capture_end, stream.handle(), &graph_);
    context_.make("cuGraphInstantiate", "", &Driver::graph_instantiate, &executable_, graph_);
    context_.make("cuGraphGetNodes", "", &Driver::graph_nodes, &nodes_, graph_);
  } catch (...) {
    release();
    throw;
  }
}

CapturedGraph::~CapturedGraph() { release(); }

void CapturedGraph::release() noexcept {
  if (executable_ != nullptr) context_.release("cuGraphExecDestroy", &Driver::graph_exec_destroy, executable_);
  if (graph_ != nullptr) context_.release("cuGraphDestroy", &Driver::graph_destroy, graph_);
}

void CapturedGraph::launch(CudaStream& stream) {
  context_.make("cuGraphLaunch", fmt::format("{} nodes", nodes_), &Driver::graph_launch, executable_, stream.handle());
}

}  // namespace ridgeline::cuda
