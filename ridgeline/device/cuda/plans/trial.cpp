#include "ridgeline/device/cuda/plans/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/cuda/driver/memory.h"
#include "ridgeline/device/cuda/driver/streams.h"

namespace ridgeline::cuda {
namespace {

// Pairs of bytes that are numbers between 0.0078 and 1 in absolute value as bf16, as the upper half of an f32, and (as
// f16) below 2: none is a NaN or infinite.
std::vector<std::uint16_t> random_halves(std::size_t count) {
  std::vector<std::uint16_t> halves(count);
  std::uint64_t state = 1;
  for (std::uint16_t& half : halves) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const auto bits = static_cast<std::uint16_t>(state >> 48);
    half = static_cast<std::uint16_t>((bits & 0x83ffu) | 0x3c00u);
  }
  return halves;
}

class TrialCard {
 public:
  explicit TrialCard(std::shared_ptr<Context> context)
      : context_(std::move(context)), stream_(context_), from_(context_, true), to_(context_, true) {}

  double measure(const Trial& trial) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    try {
      std::vector<std::unique_ptr<Memory>> memory;
      std::vector<void*> values;
      for (const std::size_t bytes : trial.bytes) values.push_back(filled(memory, bytes));
      void* const workspace = workspace_of(trial, memory);
      context_->enter();
      const auto run = [&] { trial.run(values.data(), workspace, stream_.handle()); };
      run();
      const double once = timed(run, 1);
      return timed(run, std::clamp(static_cast<int>(5e-3 / std::max(once, 1e-6)), 2, 30)) * 1e3;
    } catch (const std::exception&) {  // the library's, or too little memory: whatever runs is better
      return kInfinite;
    }
  }

  bool keeps_nan(const Trial& trial) {
    try {
      std::vector<std::unique_ptr<Memory>> memory;
      std::vector<void*> values;
      for (std::size_t i = 0; i < trial.bytes.size(); ++i) {
        const std::size_t bytes = std::max<std::size_t>(trial.bytes[i], 16);
        memory.push_back(std::make_unique<Memory>(context_, bytes, "a value of a trial"));
        // All bits set is a NaN of every type.
        stream_.fill(memory.back()->address(), i == trial.result ? 0 : 0xff, bytes);
        values.push_back(pointer(memory.back()->address()));
      }
      void* const workspace = workspace_of(trial, memory);
      context_->enter();
      trial.run(values.data(), workspace, stream_.handle());
      const std::size_t some = std::min<std::size_t>(trial.bytes[trial.result], 1 << 16);
      Tensor result(trial.type, {static_cast<std::int64_t>(some / size_of(trial.type))});
      stream_.copy_to_host(result.raw(), reinterpret_cast<DeviceAddress>(values[trial.result]), result.byte_size());
      stream_.synchronize();
      for (std::int64_t i = 0; i < result.elements(); ++i) {
        if (!std::isnan(result.at(i))) return false;
      }
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  static void* pointer(DeviceAddress address) { return reinterpret_cast<void*>(address); }

  void* filled(std::vector<std::unique_ptr<Memory>>& memory, std::size_t bytes) {
    static const std::vector<std::uint16_t> halves = random_halves(std::size_t{1} << 20);
    memory.push_back(std::make_unique<Memory>(context_, std::max<std::size_t>(bytes, 16), "a value of a trial"));
    const DeviceAddress address = memory.back()->address();
    std::size_t done = std::min(bytes, halves.size() * sizeof(std::uint16_t));
    stream_.copy_to_device(address, halves.data(), done);
    while (done < bytes) {
      const std::size_t more = std::min(done, bytes - done);
      stream_.copy_on_device(address + done, address, more);
      done += more;
    }
    return pointer(address);
  }

  void* workspace_of(const Trial& trial, std::vector<std::unique_ptr<Memory>>& memory) {
    if (trial.workspace_bytes == 0) return nullptr;
    memory.push_back(std::make_unique<Memory>(context_, trial.workspace_bytes, "the workspace of a trial"));
    return pointer(memory.back()->address());
  }

  // Seconds of one run.
  double timed(const std::function<void()>& run, int times) {
    stream_.record(from_);
    for (int i = 0; i < times; ++i) run();
    stream_.record(to_);
    to_.synchronize();
    return to_.seconds_since(from_) / times;
  }

  std::shared_ptr<Context> context_;
  CudaStream stream_;
  CudaEvent from_, to_;
};

}  // namespace

TrialClock card_clock(std::shared_ptr<Context> context) {
  const auto card = std::make_shared<TrialCard>(std::move(context));
  return [card](const Trial& trial) { return card->measure(trial); };
}

NanProbe card_nan_probe(std::shared_ptr<Context> context) {
  const auto card = std::make_shared<TrialCard>(std::move(context));
  return [card](const Trial& trial) { return card->keeps_nan(trial); };
}

}  // namespace ridgeline::cuda
