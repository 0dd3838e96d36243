// The smallest possible device: everything that a new device must implement, and nothing else. The host cannot use its
// memory (addresses have an offset), its streams execute immediately, and it records.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/device/collective_kernel.h"
#include "ridgeline/device/device.h"
#include "ridgeline/device/host_event.h"
#include "ridgeline/device/reference_kernel.h"

namespace ridgeline::testing {

// Device addresses are host addresses plus this offset: confusing the two fails.
inline constexpr std::size_t kToyOffset = std::size_t{1} << 50;
inline char* toy_store(const void* address) {
  return const_cast<char*>(static_cast<const char*>(address)) - kToyOffset;
}

class ToyMemory final : public DeviceMemory {
 public:
  ToyMemory(std::size_t bytes, bool pinned)
      : bytes_(bytes), store_(static_cast<char*>(std::aligned_alloc(64, (bytes + 64) / 64 * 64))), pinned_(pinned) {}
  ~ToyMemory() override { std::free(store_); }
  ToyMemory(const ToyMemory&) = delete;
  ToyMemory& operator=(const ToyMemory&) = delete;
  void* address() override { return pinned_ ? store_ : store_ + kToyOffset; }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
  char* store_;
  bool pinned_;
};

// The recorded work in order.
class ToyRecording final : public Recording {
 public:
  void add(std::function<void()> work) { work_.push_back(std::move(work)); }
  void replay() override {
    for (const auto& work : work_) work();
    ++replays();
  }
  static std::int64_t& replays() {
    static std::int64_t count = 0;
    return count;
  }

 private:
  std::vector<std::function<void()>> work_;
};

class ToyStream final : public Stream {
 public:
  ToyStream(Device& device, ToyRecording*& recording) : Stream(device), recording_(recording) {}

  void run(Kernel& kernel, const KernelArguments& arguments) override {
    if (kernel.device != &device()) throw Error("[toy] kernel '" + kernel.name + "' was made for another device");
    kernel.run({arguments.inputs, arguments.outputs, arguments.scratch, this});
  }
  SourceUse copy(const Copy& copy) override {
    void* const to = copy.to_device == nullptr ? copy.to : toy_store(copy.to);
    const void* const from = copy.from_device == nullptr ? copy.from : toy_store(copy.from);
    give([to, from, bytes = copy.bytes] { std::memmove(to, from, bytes); });
    return SourceUse::over;
  }
  void clear(void* device, std::size_t bytes) override {
    give([to = toy_store(device), bytes] { std::memset(to, 0, bytes); });
  }
  void synchronize() override {}
  void record(Event& event) override {
    auto& own = static_cast<HostEvent&>(event);
    if (recording_ == nullptr) own.reach(own.record());
  }
  void wait(Event& event) override {
    if (recording_ == nullptr) event.wait();
  }

  // For kernels: executed now, or when the recording is replayed.
  void give(std::function<void()> work) {
    if (recording_ == nullptr)
      work();
    else
      recording_->add(std::move(work));
  }

 private:
  ToyRecording*& recording_;
};

// Results are first written to separate memory, so they may overlap operands.
class ToyKernel final : public Kernel {
 public:
  ToyKernel(std::unique_ptr<Kernel> reference, std::size_t inputs, std::vector<std::size_t> output_bytes)
      : reference_(std::move(reference)), inputs_(inputs), output_bytes_(std::move(output_bytes)) {
    name = "toy " + reference_->name;
    scratch_bytes = reference_->scratch_bytes;
  }
  void run(const KernelArguments& a) override {
    std::vector<void*> inputs, outputs;
    for (std::size_t i = 0; i < inputs_; ++i) inputs.push_back(toy_store(a.inputs[i]));
    for (std::size_t i = 0; i < output_bytes_.size(); ++i) outputs.push_back(toy_store(a.outputs[i]));
    void* const scratch = scratch_bytes > 0 ? toy_store(a.scratch) : nullptr;
    static_cast<ToyStream*>(a.stream)->give([reference = reference_, bytes = output_bytes_, inputs, outputs, scratch] {
      std::vector<std::vector<char>> results;
      std::vector<void*> to;
      for (const std::size_t size : bytes) results.emplace_back(std::max<std::size_t>(size, 1));
      for (std::vector<char>& result : results) to.push_back(result.data());
      for (std::size_t i = 0; i < bytes.size(); ++i) std::memcpy(to[i], outputs[i], bytes[i]);  // exchanges begin there
      reference->run({inputs.data(), to.data(), scratch});
      for (std::size_t i = 0; i < bytes.size(); ++i) std::memcpy(outputs[i], to[i], bytes[i]);
    });
  }

 private:
  std::shared_ptr<Kernel> reference_;  // a recording may outlive the kernel
  std::size_t inputs_;
  std::vector<std::size_t> output_bytes_;
};

inline KernelChoice make_toy_kernel(const KernelRequest& request) {
  KernelChoice choice = make_reference_kernel(request);
  auto* const reference = std::get_if<std::unique_ptr<Kernel>>(&choice);
  if (reference == nullptr) return choice;
  std::vector<std::size_t> bytes;
  for (const KernelOperand& result : request.outputs) bytes.push_back(result.type.bytes());
  auto kernel = std::make_unique<ToyKernel>(std::move(*reference), request.inputs.size(), bytes);
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    const bool same = i < request.inputs.size() && request.inputs[i].type == request.outputs[i].type;
    kernel->in_place.push_back(same ? static_cast<int>(i) : -1);
  }
  return kernel;
}

class ToyDevice final : public Device {
 public:
  explicit ToyDevice(int ordinal) : name_(ordinal == 0 ? "toy" : "toy:" + std::to_string(ordinal)) {}
  std::string_view name() const override { return name_; }
  std::string architecture() const override { return "blocks"; }
  bool host_memory() const override { return false; }
  std::unique_ptr<DeviceMemory> allocate(std::size_t bytes) override {
    return std::make_unique<ToyMemory>(bytes, false);
  }
  std::unique_ptr<DeviceMemory> allocate_pinned(std::size_t bytes) override {
    return std::make_unique<ToyMemory>(bytes, true);
  }
  std::size_t memory_limit() const override { return static_cast<std::size_t>(available_memory()); }
  Stream& stream_for(StreamPurpose purpose) override { return streams_[static_cast<std::size_t>(purpose)]; }
  std::unique_ptr<Event> make_event() override { return std::make_unique<HostEvent>(*this); }
  std::unique_ptr<Event> make_timed_event() override { return make_event(); }
  bool records() const override { return true; }
  std::unique_ptr<Recording> record(FunctionRef<void()> body) override {
    auto recording = std::make_unique<ToyRecording>();
    const struct End {
      ToyRecording*& recording;
      ~End() { recording = nullptr; }
    } end{recording_};
    recording_ = recording.get();
    body();
    return recording;
  }
  std::vector<KernelEntry> kernels(std::string_view op) const override {
    const OpDef* const def = find_op(op);
    if (def == nullptr || !def->reference) return {};
    KernelEntry entry = reference_entry(*def);
    entry.factory = make_toy_kernel;
    return {entry};
  }
  std::unique_ptr<Kernel> collective(const CollectiveRequest& request) override {
    auto kernel = std::make_unique<ToyKernel>(make_collective_kernel(request), request.operands.size(),
                                              std::vector<std::size_t>{request.pending_bytes});
    kernel->device = this;
    kernel->replays = false;
    return kernel;
  }
  std::unique_ptr<Kernel> conversion(const ValueType&, const Layout&, const Layout&) override { return nullptr; }
  FusionLimits fusion_limits() const override { return reference_fusion_limits(); }
  DeviceRates rates() const override {
    return {.f32_flops = 1e9, .bf16_flops = 1e9, .f16_flops = 1e9, .memory_bytes = 1e9};
  }
  MeasuredRates measured_rates() override { return {rates(), rates()}; }

 private:
  std::string name_;
  ToyRecording* recording_ = nullptr;
  ToyStream streams_[3] = {{*this, recording_}, {*this, recording_}, {*this, recording_}};
};

}  // namespace ridgeline::testing
