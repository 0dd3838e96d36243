// ridgeline/device/cpu/cpu_device.h
//
// The host's own processor: its memory is the host's; its stream runs work immediately, on the calling thread and the
// compute team, with denormals flushed to zero. Owned by the session. Kernels may be made on any thread, and any thread
// may give them to the stream.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ridgeline/device/device.h"
#include "ridgeline/device/kernel_tuner.h"

namespace ridgeline {

class CpuDevice final : public Device {
 public:
  // The kernel provider that RIDGELINE_KERNELS forces, if any. Errors for unknown values of it or of RIDGELINE_ISA.
  CpuDevice();
  // The provider given here, whatever the environment says; nullopt forces none.
  explicit CpuDevice(std::optional<Provider> forced);
  // Kernels must keep `promise`. An Error if fp32_compute bf16x3 is requested and the active instruction set has no
  // tiles, or another request excludes it. `tune`: the file of kernel times that chooses kernels (kernel_tuner.h),
  // "auto" for the user's; empty: by their order.
  explicit CpuDevice(const KernelPromise& promise, const std::string& tune = "");

  // A description of this machine, for people.
  static std::string describe();
  // Whether it multiplies bf16 faster than f32.
  static bool fast_bf16();

  std::string_view name() const override { return "cpu"; }
  std::string architecture() const override;  // the active instruction set
  bool host_memory() const override { return true; }
  // 64-byte aligned, contents undefined; large blocks start on a huge page and ask for more of them.
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override;
  // The same as allocate(), since all of it is host memory.
  std::unique_ptr<DeviceMemory> allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
  std::size_t memory_limit() const override;
  // Streams of copies and exchanges run asynchronously, on threads of their own.
  Stream& stream_for(StreamPurpose purpose) override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Event> make_timed_event() override { return make_event(); }
  std::unique_ptr<Kernel> collective(const CollectiveRequest& request) override;
  std::unique_ptr<Kernel> conversion(const ValueType& type, const Layout& from, const Layout& to) override;
  std::unique_ptr<Kernel> cast_conversion(DType from_type, const Layout& from, DType to_type,
                                          const Layout& to) override;
  bool side_by_side() const override { return true; }
  std::vector<KernelEntry> kernels(std::string_view op) const override;
  FusionLimits fusion_limits() const override;
  KernelPromise promise() const override { return promise_; }
  KernelTuner* tuner() override { return tuner_ ? &*tuner_ : nullptr; }
  DeviceRates rates() const override;
  MeasuredRates measured_rates() override;

 private:
  KernelPromise promise_;
  std::optional<Provider> forced_;
  std::map<StreamPurpose, std::unique_ptr<Stream>> streams_;  // except for compute made on first use
  std::map<int, MeasuredRates> measured_;                     // by threads of the team
  std::optional<KernelTuner> tuner_;
};

}  // namespace ridgeline
