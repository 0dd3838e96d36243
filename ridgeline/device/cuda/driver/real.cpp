#include "ridgeline/device/cuda/driver/real.h"

#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/library.h"

namespace ridgeline::cuda {
namespace {

constexpr unsigned kDefaultStreamFlags = 1;  // CU_STREAM_NON_BLOCKING: the null stream orders nothing
constexpr unsigned kUntimedEvent = 2;        // CU_EVENT_DISABLE_TIMING
constexpr int kThreadLocalCapture = 1;       // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads do as they like

// The functions with their types in cuda.h, in the versions of CUDA 12 and 13.
struct Functions {
  Result (*error_name)(Result, const char**);
  Result (*error_text)(Result, const char**);
  Result (*initialize)(unsigned);
  Result (*driver_version)(int*);
  Result (*device_count)(int*);
  Result (*device_get)(DeviceOrdinal*, int);
  Result (*device_name)(char*, int, DeviceOrdinal);
  Result (*device_uuid)(unsigned char (*)[16], DeviceOrdinal);
  Result (*device_attribute)(int*, int, DeviceOrdinal);
  Result (*device_memory)(std::size_t*, DeviceOrdinal);
  Result (*context_retain)(ContextHandle*, DeviceOrdinal);
  Result (*context_release)(DeviceOrdinal);
  Result (*context_set)(ContextHandle);
  Result (*context_synchronize)();
  Result (*memory_info)(std::size_t*, std::size_t*);
  Result (*allocate)(DeviceAddress*, std::size_t);
  Result (*release)(DeviceAddress);
  Result (*allocate_pinned)(void**, std::size_t, unsigned);
  Result (*release_pinned)(void*);
  Result (*copy_to_device)(DeviceAddress, const void*, std::size_t, StreamHandle);
  Result (*copy_to_host)(void*, DeviceAddress, std::size_t, StreamHandle);
  Result (*copy_on_device)(DeviceAddress, DeviceAddress, std::size_t, StreamHandle);
  Result (*fill_bytes)(DeviceAddress, unsigned char, std::size_t, StreamHandle);
  Result (*stream_create)(StreamHandle*, unsigned, int);
  Result (*stream_destroy)(StreamHandle);
  Result (*stream_synchronize)(StreamHandle);
  Result (*stream_query)(StreamHandle);
  Result (*stream_wait)(StreamHandle, EventHandle, unsigned);
  Result (*stream_host_function)(StreamHandle, void (*)(void*), void*);
  Result (*event_create)(EventHandle*, unsigned);
  Result (*event_destroy)(EventHandle);
  Result (*event_record)(EventHandle, StreamHandle);
  Result (*event_query)(EventHandle);
  Result (*event_synchronize)(EventHandle);
  Result (*event_elapsed)(float*, EventHandle, EventHandle);
  Result (*module_load)(ModuleHandle*, const void*);
  Result (*module_unload)(ModuleHandle);
  Result (*module_function)(FunctionHandle*, ModuleHandle, const char*);
  Result (*function_get)(int*, int, FunctionHandle);
  Result (*function_set)(FunctionHandle, int, int);
  Result (*function_occupancy)(int*, FunctionHandle, int, std::size_t);
  Result (*launch)(FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, StreamHandle,
                   void**, void**);
  Result (*capture_begin)(StreamHandle, int);
  Result (*capture_end)(StreamHandle, GraphHandle*);
  Result (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long);
  Result (*graph_nodes)(GraphHandle, void*, std::size_t*);
  Result (*graph_launch)(GraphExecHandle, StreamHandle);
  Result (*graph_destroy)(GraphHandle);
  Result (*graph_exec_destroy)(GraphExecHandle);
};

// Asks the driver for each function in the version that we know; plain symbols may be older.
class Loader {
 public:
  explicit Loader(const Library& library) : library_(library) {
    get_ = reinterpret_cast<GetAddress>(library.find("cuGetProcAddress_v2"));
  }
  template <class Pointer>
  void operator()(Pointer& pointer, const char* name) const {
    void* found = nullptr;
    int status = 0;
    if (get_ != nullptr && get_(name, &found, 12000, 0, &status) == result::kSuccess && found != nullptr) {
      pointer = reinterpret_cast<Pointer>(found);
      return;
    }
    throw Error("[cuda] " + library_.path() + " has no " + name + ": the driver is too old (CUDA 13 is needed)");
  }

 private:
  using GetAddress = Result (*)(const char*, void**, int, std::uint64_t, int*);
  const Library& library_;
  GetAddress get_;
};

Functions load_functions(const Library& library) {
  const Loader load(library);
  Functions f;
  load(f.error_name, "cuGetErrorName");
  load(f.error_text, "cuGetErrorString");
  load(f.initialize, "cuInit");
  load(f.driver_version, "cuDriverGetVersion");
  load(f.device_count, "cuDeviceGetCount");
  load(f.device_get, "cuDeviceGet");
  load(f.device_name, "cuDeviceGetName");
  load(f.device_uuid, "cuDeviceGetUuid");
  load(f.device_attribute, "cuDeviceGetAttribute");
  load(f.device_memory, "cuDeviceTotalMem");
  load(f.context_retain, "cuDevicePrimaryCtxRetain");
  load(f.context_release, "cuDevicePrimaryCtxRelease");
  load(f.context_set, "cuCtxSetCurrent");
  load(f.context_synchronize, "cuCtxSynchronize");
  load(f.memory_info, "cuMemGetInfo");
  load(f.allocate, "cuMemAlloc");
  load(f.release, "cuMemFree");
  load(f.allocate_pinned, "cuMemHostAlloc");
  load(f.release_pinned, "cuMemFreeHost");
  load(f.copy_to_device, "cuMemcpyHtoDAsync");
  load(f.copy_to_host, "cuMemcpyDtoHAsync");
  load(f.copy_on_device, "cuMemcpyDtoDAsync");
  load(f.fill_bytes, "cuMemsetD8Async");
  load(f.stream_create, "cuStreamCreateWithPriority");
  load(f.stream_destroy, "cuStreamDestroy");
  load(f.stream_synchronize, "cuStreamSynchronize");
  load(f.stream_query, "cuStreamQuery");
  load(f.stream_wait, "cuStreamWaitEvent");
  load(f.stream_host_function, "cuLaunchHostFunc");
  load(f.event_create, "cuEventCreate");
  load(f.event_destroy, "cuEventDestroy");
  load(f.event_record, "cuEventRecord");
  load(f.event_query, "cuEventQuery");
  load(f.event_synchronize, "cuEventSynchronize");
  load(f.event_elapsed, "cuEventElapsedTime");
  load(f.module_load, "cuModuleLoadData");
  load(f.module_unload, "cuModuleUnload");
  load(f.module_function, "cuModuleGetFunction");
  load(f.function_get, "cuFuncGetAttribute");
  load(f.function_set, "cuFuncSetAttribute");
  load(f.function_occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  load(f.launch, "cuLaunchKernel");
  load(f.capture_begin, "cuStreamBeginCapture");
  load(f.capture_end, "cuStreamEndCapture");
  load(f.graph_instantiate, "cuGraphInstantiateWithFlags");
  load(f.graph_nodes, "cuGraphGetNodes");
  load(f.graph_launch, "cuGraphLaunch");
  load(f.graph_destroy, "cuGraphDestroy");
  load(f.graph_exec_destroy, "cuGraphExecDestroy");
  return f;
}

class RealDriver final : public Driver {
 public:
  explicit RealDriver(const Library& library) : origin_(library.path()), f_(load_functions(library)) {}

  std::string_view origin() const override { return origin_; }
  Result error_name(Result code, const char** name) override { return f_.error_name(code, name); }
  Result error_text(Result code, const char** text) override { return f_.error_text(code, text); }

  Result initialize() override { return f_.initialize(0); }
  Result driver_version(int* version) override { return f_.driver_version(version); }
  Result device_count(int* count) override { return f_.device_count(count); }
  Result device_get(DeviceOrdinal* device, int index) override { return f_.device_get(device, index); }
  Result device_name(char* name, int length, DeviceOrdinal device) override {
    return f_.device_name(name, length, device);
  }
  Result device_uuid(unsigned char (*uuid)[16], DeviceOrdinal device) override { return f_.device_uuid(uuid, device); }
  Result device_attribute(int* value, Attribute attribute, DeviceOrdinal device) override {
    return f_.device_attribute(value, static_cast<int>(attribute), device);
  }
  Result device_memory(std::size_t* bytes, DeviceOrdinal device) override { return f_.device_memory(bytes, device); }
  Result context_retain(ContextHandle* context, DeviceOrdinal device) override {
    return f_.context_retain(context, device);
  }
  Result context_release(DeviceOrdinal device) override { return f_.context_release(device); }
  Result context_set(ContextHandle context) override { return f_.context_set(context); }
  Result context_synchronize() override { return f_.context_synchronize(); }
  Result memory_info(std::size_t* free, std::size_t* total) override { return f_.memory_info(free, total); }

  Result allocate(DeviceAddress* address, std::size_t bytes) override { return f_.allocate(address, bytes); }
  Result release(DeviceAddress address) override { return f_.release(address); }
  Result allocate_pinned(void** address, std::size_t bytes) override { return f_.allocate_pinned(address, bytes, 0); }
  Result release_pinned(void* address) override { return f_.release_pinned(address); }

  Result copy_to_device(DeviceAddress to, const void* from, std::size_t bytes, StreamHandle stream) override {
    return f_.copy_to_device(to, from, bytes, stream);
  }
  Result copy_to_host(void* to, DeviceAddress from, std::size_t bytes, StreamHandle stream) override {
    return f_.copy_to_host(to, from, bytes, stream);
  }
  Result copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream) override {
    return f_.copy_on_device(to, from, bytes, stream);
  }
  Result fill_bytes(DeviceAddress to, unsigned char value, std::size_t bytes, StreamHandle stream) override {
    return f_.fill_bytes(to, value, bytes, stream);
  }

  Result stream_create(StreamHandle* stream, int priority) override {
    return f_.stream_create(stream, kDefaultStreamFlags, priority);
  }
  Result stream_destroy(StreamHandle stream) override { return f_.stream_destroy(stream); }
  Result stream_synchronize(StreamHandle stream) override { return f_.stream_synchronize(stream); }
  Result stream_query(StreamHandle stream) override { return f_.stream_query(stream); }
  Result stream_wait(StreamHandle stream, EventHandle event) override { return f_.stream_wait(stream, event, 0); }
  Result stream_host_function(StreamHandle stream, void (*function)(void*), void* argument) override {
    return f_.stream_host_function(stream, function, argument);
  }

  Result event_create(EventHandle* event, bool timed) override {
    return f_.event_create(event, timed ? 0 : kUntimedEvent);
  }
  Result event_destroy(EventHandle event) override { return f_.event_destroy(event); }
  Result event_record(EventHandle event, StreamHandle stream) override { return f_.event_record(event, stream); }
  Result event_query(EventHandle event) override { return f_.event_query(event); }
  Result event_synchronize(EventHandle event) override { return f_.event_synchronize(event); }
  Result event_elapsed(float* milliseconds, EventHandle from, EventHandle to) override {
    return f_.event_elapsed(milliseconds, from, to);
  }

  Result module_load(ModuleHandle* module, std::span<const unsigned char> image) override {
    return f_.module_load(module, image.data());
  }
  Result module_unload(ModuleHandle module) override { return f_.module_unload(module); }
  Result module_function(FunctionHandle* function, ModuleHandle module, const char* name) override {
    return f_.module_function(function, module, name);
  }
  Result function_get(int* value, FunctionAttribute attribute, FunctionHandle function) override {
    return f_.function_get(value, static_cast<int>(attribute), function);
  }
  Result function_set(FunctionHandle function, FunctionAttribute attribute, int value) override {
    return f_.function_set(function, static_cast<int>(attribute), value);
  }
  Result function_occupancy(int* blocks, FunctionHandle function, int threads, std::size_t shared_bytes) override {
    return f_.function_occupancy(blocks, function, threads, shared_bytes);
  }
  Result launch(const Launch& l, StreamHandle stream) override {
    void* parameters[] = {const_cast<void*>(l.parameters)};
    return f_.launch(l.function, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z, l.shared_bytes, stream,
                     parameters, nullptr);
  }
  Result library_call(const LibraryCall& call, StreamHandle stream) override {
    call.enqueue(stream);
    return result::kSuccess;
  }

  Result capture_begin(StreamHandle stream) override { return f_.capture_begin(stream, kThreadLocalCapture); }
  Result capture_end(StreamHandle stream, GraphHandle* graph) override { return f_.capture_end(stream, graph); }
  Result graph_instantiate(GraphExecHandle* executable, GraphHandle graph) override {
    return f_.graph_instantiate(executable, graph, 0);
  }
  Result graph_nodes(std::size_t* count, GraphHandle graph) override { return f_.graph_nodes(graph, nullptr, count); }
  Result graph_launch(GraphExecHandle executable, StreamHandle stream) override {
    return f_.graph_launch(executable, stream);
  }
  Result graph_destroy(GraphHandle graph) override { return f_.graph_destroy(graph); }
  Result graph_exec_destroy(GraphExecHandle executable) override { return f_.graph_exec_destroy(executable); }

 private:
  std::string origin_;
  Functions f_;
};

}  // namespace

std::unique_ptr<Driver> open_driver() { return std::make_unique<RealDriver>(Library::open(LibraryName::driver)); }

}  // namespace ridgeline::cuda
