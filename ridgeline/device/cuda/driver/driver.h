// ridgeline/device/cuda/driver/driver.h
//
// The functions of the CUDA driver that we call, as one table: the real one (real.h, libcuda.so.1), or a recording one
// that runs host versions of kernels on strict memory (recording.h). They return CUresult; all calls go through Calls
// (calls.h), which turns failures into Errors. Any thread that has set the context.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/driver/launch.h"
#include "ridgeline/device/cuda/driver/types.h"

namespace ridgeline::cuda {

// A call of one of NVIDIA's libraries that enqueues work on a stream, described so that it also runs without a card: a
// real driver calls `enqueue`, the recording one runs `host` with addresses that the host can access.
struct LibraryCall {
  std::string name;                   // for messages
  std::vector<TouchedRange> touches;  // all device memory that the work reads or writes, workspace included
  // Enqueues the work on the stream; throws on errors.
  std::function<void(StreamHandle stream)> enqueue;
  // The same work on the host: addresses[i] is where the bytes of touches[i] are.
  std::function<void(std::span<void* const> addresses)> host;
};

class Driver {
 public:
  virtual ~Driver() = default;

  // The file from which it was opened, or "recording driver".
  virtual std::string_view origin() const = 0;
  virtual bool recording() const { return false; }

  virtual Result error_name(Result result, const char** name) = 0;
  virtual Result error_text(Result result, const char** text) = 0;

  virtual Result initialize() = 0;
  virtual Result driver_version(int* version) = 0;  // 13000 is 13.0
  virtual Result device_count(int* count) = 0;
  virtual Result device_get(DeviceOrdinal* device, int index) = 0;
  virtual Result device_name(char* name, int length, DeviceOrdinal device) = 0;
  virtual Result device_uuid(unsigned char (*uuid)[16], DeviceOrdinal device) = 0;
  virtual Result device_attribute(int* value, Attribute attribute, DeviceOrdinal device) = 0;
  virtual Result device_memory(std::size_t* bytes, DeviceOrdinal device) = 0;
  virtual Result context_retain(ContextHandle* context, DeviceOrdinal device) = 0;  // the device's primary one
  virtual Result context_release(DeviceOrdinal device) = 0;
  virtual Result context_set(ContextHandle context) = 0;
  virtual Result context_synchronize() = 0;
  virtual Result memory_info(std::size_t* free, std::size_t* total) = 0;

  virtual Result allocate(DeviceAddress* address, std::size_t bytes) = 0;
  virtual Result release(DeviceAddress address) = 0;
  virtual Result allocate_pinned(void** address, std::size_t bytes) = 0;
  virtual Result release_pinned(void* address) = 0;

  virtual Result copy_to_device(DeviceAddress to, const void* from, std::size_t bytes, StreamHandle stream) = 0;
  virtual Result copy_to_host(void* to, DeviceAddress from, std::size_t bytes, StreamHandle stream) = 0;
  virtual Result copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream) = 0;
  virtual Result fill_bytes(DeviceAddress to, unsigned char value, std::size_t bytes, StreamHandle stream) = 0;

  virtual Result stream_create(StreamHandle* stream, int priority) = 0;
  virtual Result stream_destroy(StreamHandle stream) = 0;
  virtual Result stream_synchronize(StreamHandle stream) = 0;
  virtual Result stream_query(StreamHandle stream) = 0;
  virtual Result stream_wait(StreamHandle stream, EventHandle event) = 0;
  virtual Result stream_host_function(StreamHandle stream, void (*function)(void*), void* argument) = 0;

  virtual Result event_create(EventHandle* event, bool timed) = 0;
  virtual Result event_destroy(EventHandle event) = 0;
  virtual Result event_record(EventHandle event, StreamHandle stream) = 0;
  virtual Result event_query(EventHandle event) = 0;
  virtual Result event_synchronize(EventHandle event) = 0;
  virtual Result event_elapsed(float* milliseconds, EventHandle from, EventHandle to) = 0;

  virtual Result module_load(ModuleHandle* module, std::span<const unsigned char> image) = 0;
  virtual Result module_unload(ModuleHandle module) = 0;
  virtual Result module_function(FunctionHandle* function, ModuleHandle module, const char* name) = 0;
  virtual Result function_get(int* value, FunctionAttribute attribute, FunctionHandle function) = 0;
  virtual Result function_set(FunctionHandle function, FunctionAttribute attribute, int value) = 0;
  virtual Result function_occupancy(int* blocks, FunctionHandle function, int threads, std::size_t shared_bytes) = 0;
  virtual Result launch(const Launch& launch, StreamHandle stream) = 0;
  virtual Result library_call(const LibraryCall& call, StreamHandle stream) = 0;

  virtual Result capture_begin(StreamHandle stream) = 0;
  virtual Result capture_end(StreamHandle stream, GraphHandle* graph) = 0;
  virtual Result graph_instantiate(GraphExecHandle* executable, GraphHandle graph) = 0;
  virtual Result graph_nodes(std::size_t* count, GraphHandle graph) = 0;
  virtual Result graph_launch(GraphExecHandle executable, StreamHandle stream) = 0;
  virtual Result graph_destroy(GraphHandle graph) = 0;
  virtual Result graph_exec_destroy(GraphExecHandle executable) = 0;
};

}  // namespace ridgeline::cuda
