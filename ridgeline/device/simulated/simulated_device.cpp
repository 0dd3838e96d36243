#include "ridgeline/device/simulated/simulated_device.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/device/collective_kernel.h"
#include "ridgeline/device/simulated/arena.h"
#include "ridgeline/device/simulated/recorded_work.h"
#include "ridgeline/device/simulated/simulated_kernel.h"
#include "ridgeline/device/simulated/simulated_stream.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

std::chrono::microseconds microseconds(double seconds) {
  return std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
}

}  // namespace

class SimulatedDevice::Memory final : public DeviceMemory {
 public:
  Memory(SimulatedDevice& device, std::size_t bytes)
      : device_(device), bytes_(bytes), address_(device.arena().reserve(bytes)) {}
  ~Memory() override {
    device_.drain();
    device_.order().forget(address_, bytes_);
    device_.arena().release(address_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* address() override { return address_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  SimulatedDevice& device_;
  std::size_t bytes_;
  char* address_;
};

class SimulatedDevice::Pinned final : public DeviceMemory {
 public:
  Pinned(SimulatedDevice& device, std::size_t bytes)
      : device_(device), bytes_(bytes), memory_(static_cast<char*>(::operator new(bytes, std::align_val_t{64}))) {
    device_.arena().pin(memory_, bytes_);
  }
  ~Pinned() override {
    device_.drain();
    device_.arena().unpin(memory_);
    ::operator delete(memory_, std::align_val_t{64});
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  void* address() override { return memory_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  SimulatedDevice& device_;
  std::size_t bytes_;
  char* memory_;
};

SimulatedDevice::SimulatedDevice(SimulatedDeviceOptions options)
    : options_(std::move(options)),
      arena_(std::make_unique<SimulatedArena>()),
      order_(std::make_unique<AccessOrder>()) {
  for (const StreamPurpose purpose : {StreamPurpose::compute, StreamPurpose::copies, StreamPurpose::exchanges}) {
    const double least = purpose == StreamPurpose::compute ? options_.product_seconds : 0;
    streams_.push_back(std::make_unique<SimulatedStream>(*this, purpose, microseconds(least)));
  }
}

SimulatedDevice::~SimulatedDevice() = default;

void SimulatedDevice::drain() {
  for (const auto& stream : streams_) stream->drain();
}

std::unique_ptr<DeviceMemory> SimulatedDevice::allocate(std::size_t bytes) {
  if (recording_ != nullptr) throw Error("[simulated] allocating memory cannot be recorded");
  return std::make_unique<Memory>(*this, bytes);
}

std::unique_ptr<DeviceMemory> SimulatedDevice::allocate_pinned(std::size_t bytes) {
  if (recording_ != nullptr) throw Error("[simulated] allocating memory cannot be recorded");
  return std::make_unique<Pinned>(*this, bytes);
}

std::size_t SimulatedDevice::memory_limit() const {
  return options_.memory_limit > 0 ? options_.memory_limit : static_cast<std::size_t>(available_memory());
}

Stream& SimulatedDevice::stream_for(StreamPurpose purpose) { return *streams_[static_cast<std::size_t>(purpose)]; }

std::unique_ptr<Event> SimulatedDevice::make_event() {
  return std::make_unique<SimulatedEvent>(*this, *order_, host_waits_);
}

std::unique_ptr<Recording> SimulatedDevice::record(FunctionRef<void()> body) {
  if (!options_.records) return nullptr;
  RIDGELINE_CHECK(recording_ == nullptr, "one recording at a time");
  auto recorded = std::make_unique<RecordedWork>(*this);
  struct End {
    RecordedWork*& recording;
    ~End() { recording = nullptr; }
  } const end{recording_};
  recording_ = recorded.get();
  body();
  recorded->close();
  return recorded;
}

std::unique_ptr<Kernel> SimulatedDevice::collective(const CollectiveRequest& request) {
  auto kernel = std::make_unique<SimulatedKernel>();
  kernel->device = this;
  kernel->reference = make_collective_kernel(request);
  kernel->replays = false;  // it talks to the ranks of the process
  kernel->name = "simulated " + kernel->reference->name;
  kernel->input_bytes.assign(request.bytes.begin(), request.bytes.end());
  kernel->output_bytes = {request.pending_bytes};
  const double seconds =
      options_.link.latency +
      (options_.link.bandwidth > 0 ? static_cast<double>(request.pending_bytes) / options_.link.bandwidth : 0);
  kernel->least_time = microseconds(seconds);
  return kernel;
}

std::vector<KernelEntry> SimulatedDevice::kernels(std::string_view op) const {
  const OpDef* def = find_op(op);
  if (def == nullptr || !def->reference || options_.missing_ops.contains(op)) return {};
  DTypeSet storage;
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    if (!options_.missing_dtypes.contains(dtype)) storage.insert(dtype);
  }
  return {{def->name,
           "simulated",
           Provider::reference,
           make_simulated_kernel,
           storage,
           Arithmetic::f64,
           {Reproducibility::portable, true}}};
}

DeviceRates SimulatedDevice::rates() const {
  return {.f32_flops = 1e11,
          .bf16_flops = 1e11,
          .f16_flops = 1e11,
          .memory_bytes = 1e10,
          .launch_seconds = 1e-6,
          .barrier_seconds = 0};
}

}  // namespace ridgeline
