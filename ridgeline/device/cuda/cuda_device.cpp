#include "ridgeline/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/log.h"
#include "ridgeline/device/cuda/comm/card_exchanges.h"
#include "ridgeline/device/cuda/device_stream.h"
#include "ridgeline/device/cuda/loop/cubins.h"
#include "ridgeline/device/cuda/plans/libraries.h"
#include "ridgeline/device/cuda/table/kernel_table.h"

namespace ridgeline::cuda {

class CudaDevice::Memory final : public DeviceMemory {
 public:
  Memory(CudaDevice& device, std::size_t bytes)
      : device_(device), memory_(device.context_, bytes, fmt::format("a block on {}", device.name())) {
    const std::lock_guard lock(device_.mutex_);
    device_.held_ += bytes;
  }
  ~Memory() override {
    const std::lock_guard lock(device_.mutex_);
    device_.held_ -= memory_.bytes();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* address() override { return reinterpret_cast<void*>(memory_.address()); }
  std::size_t bytes() const override { return memory_.bytes(); }

 private:
  CudaDevice& device_;
  cuda::Memory memory_;
};

class CudaDevice::Pinned final : public DeviceMemory {
 public:
  Pinned(CudaDevice& device, std::size_t bytes) : device_(device), memory_(device.context_, bytes) {
    const std::lock_guard lock(device_.mutex_);
    device_.pinned_[static_cast<const char*>(memory_.address())] = bytes;
  }
  ~Pinned() override {
    const std::lock_guard lock(device_.mutex_);
    device_.pinned_.erase(static_cast<const char*>(memory_.address()));
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  void* address() override { return memory_.address(); }
  std::size_t bytes() const override { return memory_.bytes(); }

 private:
  CudaDevice& device_;
  PinnedMemory memory_;
};

CudaDevice::CudaDevice(std::shared_ptr<Context> context, CudaDeviceOptions options)
    : context_(std::move(context)), options_(std::move(options)), kernels_(context_, options_.images) {
  for (const KernelRow* row : kernel_rows()) functions_[row] = kernels_.function(std::string(row->symbol));
}

CudaDevice::~CudaDevice() = default;

std::string CudaDevice::architecture() const { return fmt::format("sm_{}", context_->info().compute_capability); }

std::unique_ptr<DeviceMemory> CudaDevice::allocate(std::size_t bytes) {
  if (recording_) throw Error("[cuda] allocating memory cannot be recorded");
  return std::make_unique<Memory>(*this, bytes);
}

std::unique_ptr<DeviceMemory> CudaDevice::allocate_pinned(std::size_t bytes) {
  if (recording_) throw Error("[cuda] allocating memory cannot be recorded");
  return std::make_unique<Pinned>(*this, bytes);
}

bool CudaDevice::is_pinned(const void* address, std::size_t bytes) const {
  const auto* first = static_cast<const char*>(address);
  const std::lock_guard lock(mutex_);
  auto at = pinned_.upper_bound(first);
  if (at == pinned_.begin()) return false;
  --at;
  return first + bytes <= at->first + at->second;
}

std::size_t CudaDevice::memory_limit() const {
  const std::size_t free = context_->free_bytes();
  const std::lock_guard lock(mutex_);
  return free + held_;
}

Stream& CudaDevice::stream_for(StreamPurpose purpose) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<DeviceStream>& stream = streams_[static_cast<std::size_t>(purpose)];
  // Exchanges have priority: other ranks wait for them.
  if (!stream) stream = std::make_unique<DeviceStream>(*this, purpose == StreamPurpose::exchanges ? -1 : 0);
  return *stream;
}

std::unique_ptr<Event> CudaDevice::make_event() {
  return std::make_unique<DeviceEvent>(*this, false, nullptr, std::chrono::steady_clock::time_point());
}

std::unique_ptr<Event> CudaDevice::make_timed_event() {
  auto& stream = static_cast<DeviceStream&>(stream_for(StreamPurpose::compute)).driver_stream();
  {
    const std::lock_guard lock(mutex_);
    if (!base_) {
      base_ = std::make_unique<CudaEvent>(context_, true);
      // The event is reached between two looks at the host's clock. The earlier one is kept, so that no event seems to
      // be reached later than it was; where the host was busy in between, the pair is taken again.
      for (int tries = 0; tries < 10; ++tries) {
        base_time_ = std::chrono::steady_clock::now();
        stream.record(*base_);
        base_->synchronize();
        if (std::chrono::steady_clock::now() - base_time_ < std::chrono::microseconds(100)) break;
      }
    }
  }
  return std::make_unique<DeviceEvent>(*this, true, base_.get(), base_time_);
}

std::unique_ptr<Recording> CudaDevice::record(FunctionRef<void()> body) {
  RIDGELINE_CHECK(!recording_, "one recording at a time");
  auto& stream = static_cast<DeviceStream&>(stream_for(StreamPurpose::compute));
  struct End {
    bool& recording;
    ~End() { recording = false; }
  } const end{recording_};
  recording_ = true;
  return std::make_unique<DeviceRecording>(*this, stream, body);
}

Libraries& CudaDevice::libraries() {
  if (!libraries_) {
    context_->enter();
    LibrariesOptions options{
        .warn = [name = options_.name](const std::string& line) { Log().warning(fmt::format("[{}] {}", name, line)); }};
    options.keeps_nan = card_nan_probe(context_);
    if (options_.tune) options.clock = card_clock(context_);
    libraries_ = Libraries::open(context_->info().name, context_->info().driver_version, std::move(options));
  }
  return *libraries_;
}

FunctionHandle CudaDevice::loop_function(const std::string& name, const std::string& text) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Module>& module = loops_[name];
  if (!module) {
    // sm_90 has instructions that later cards lack; no others do.
    const std::string target = architecture() == "sm_90" ? "sm_90a" : architecture();
    module = std::make_unique<Module>(context_, name, cubin_of(name, text, target));
  }
  return module->function(name);
}

std::vector<KernelEntry> CudaDevice::kernels(std::string_view op) const {
  return kernel_entries(op, !context_->driver().recording());
}

std::unique_ptr<Kernel> CudaDevice::collective(const CollectiveRequest& request) {
  if (!exchanges_) exchanges_ = std::make_unique<CardExchanges>(*this, options_.exchanges);
  return exchanges_->kernel(request);
}

FusionLimits CudaDevice::fusion_limits() const { return fusion_of_kernels(); }

DeviceRates CudaDevice::rates() const {
  // Orders of magnitude: an A100's, and from sm_90 on an H100's.
  const bool hopper = context_->info().compute_capability >= 90;
  DeviceRates rates{.f32_flops = hopper ? 5e13 : 1.6e13,
                    .bf16_flops = hopper ? 7e14 : 2.5e14,
                    .f16_flops = hopper ? 7e14 : 2.5e14,
                    .memory_bytes = hopper ? 3e12 : 1.4e12,
                    .launch_seconds = 3e-6,
                    .barrier_seconds = 2e-6};
  if (options_.promise.fp32_compute == "tf32") rates.f32_flops = hopper ? 4e14 : 1.2e14;
  return rates;
}

MeasuredRates CudaDevice::measured_rates() { return {rates(), rates()}; }

}  // namespace ridgeline::cuda
