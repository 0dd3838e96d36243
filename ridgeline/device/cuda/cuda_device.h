// ridgeline/device/cuda/cuda_device.h
//
// One card as a device of programs: its memory, a stream for each purpose, events, captured graphs as recordings, and
// the kernels of kernel_table.h. Owned by the session; memory, events and recordings must not outlive it. One thread at
// a time may use a stream; any thread may use allocation and events.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ridgeline/device/cuda/comm/agreement.h"
#include "ridgeline/device/cuda/comm/host_failure.h"
#include "ridgeline/device/cuda/driver/memory.h"
#include "ridgeline/device/cuda/driver/modules.h"
#include "ridgeline/device/cuda/driver/streams.h"
#include "ridgeline/device/device.h"

namespace ridgeline::cuda {

struct KernelRow;
class CardExchanges;
class DeviceStream;
class Libraries;

struct CudaDeviceOptions {
  std::string name = "cuda";
  KernelPromise promise;
  std::span<const KernelImage> images;  // of our kernels; must stay valid
  bool tune = false;                    // execution plans of NVIDIA's libraries are chosen by time
  ExchangeOptions exchanges;            // with other ranks
};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<Context> context, CudaDeviceOptions options);
  ~CudaDevice() override;

  std::string_view name() const override { return options_.name; }
  std::string architecture() const override;
  bool host_memory() const override { return false; }
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override;
  std::unique_ptr<DeviceMemory> allocate_pinned(std::size_t bytes) override;
  // What is now free on the card, plus what this device has allocated.
  std::size_t memory_limit() const override;

  Stream& stream_for(StreamPurpose purpose) override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Event> make_timed_event() override;
  std::unique_ptr<Recording> record(FunctionRef<void()> body) override;
  bool records() const override { return true; }

  std::vector<KernelEntry> kernels(std::string_view op) const override;
  std::unique_ptr<Kernel> collective(const CollectiveRequest& request) override;
  std::unique_ptr<Kernel> conversion(const ValueType&, const Layout&, const Layout&) override { return nullptr; }
  KernelPromise promise() const override { return options_.promise; }
  FusionLimits fusion_limits() const override;
  DeviceRates rates() const override;
  MeasuredRates measured_rates() override;

  // For the device's streams and kernels.
  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  // The function of one of our kernels; all are loaded when the device is made, so that a capture loads none.
  FunctionHandle function(const KernelRow& row) const { return functions_.at(&row); }
  // cuDNN and cuBLASLt for this card, opened at the first call; an Error if one is missing. Called by the thread that
  // compiles programs.
  Libraries& libraries();
  // The function of a text (loop/), which is compiled, or read from the user's cache, at the first request.
  FunctionHandle loop_function(const std::string& name, const std::string& text);
  // Whether bytes of the host are in pinned memory of this device.
  bool is_pinned(const void* address, std::size_t bytes) const;
  bool recording() const { return recording_; }
  // Failures of exchanges: reported by the next wait, query of an event, or replay.
  HostFailure& host_failure() { return host_failure_; }

 private:
  class Memory;
  class Pinned;
  std::shared_ptr<Context> context_;
  CudaDeviceOptions options_;
  Kernels kernels_;
  std::unordered_map<const KernelRow*, FunctionHandle> functions_;
  mutable std::mutex mutex_;
  std::map<const char*, std::size_t> pinned_;
  std::size_t held_ = 0;  // bytes of device memory
  bool recording_ = false;
  HostFailure host_failure_;
  std::unique_ptr<CardExchanges> exchanges_;
  std::unique_ptr<Libraries> libraries_;
  std::map<std::string, std::unique_ptr<Module>> loops_;  // by the names of their kernels
  std::array<std::unique_ptr<DeviceStream>, 3> streams_;  // by purpose; last member, since they use all of the above
  std::unique_ptr<CudaEvent> base_;                       // reference of timed events, and when it was reached
  std::chrono::steady_clock::time_point base_time_;
};

}  // namespace ridgeline::cuda
