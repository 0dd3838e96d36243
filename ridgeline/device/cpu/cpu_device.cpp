#include "ridgeline/device/cpu/cpu_device.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/kernel_table.h"

namespace ridgeline {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class CpuMemory final : public DeviceMemory {
 public:
  explicit CpuMemory(std::size_t bytes) : bytes_(bytes) {
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : 64;
    const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    address_ = std::aligned_alloc(alignment, rounded);
    if (address_ == nullptr)
      throw Error("not enough memory: " + std::to_string(bytes) + " bytes are wanted for the cpu");
    // Only advice: without huge pages everything works, with more misses of the address cache.
    if (bytes >= kHugePage) madvise(address_, rounded, MADV_HUGEPAGE);
  }
  ~CpuMemory() override { std::free(address_); }
  CpuMemory(const CpuMemory&) = delete;
  CpuMemory& operator=(const CpuMemory&) = delete;

  void* address() override { return address_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_;
};

class CpuStream final : public Stream {
 public:
  void run(Kernel& kernel, const KernelArguments& arguments) override {
    const FlushDenormals flush;
    kernel.run(arguments);
  }
  void copy_from_host(void* device, const void* host, std::size_t bytes) override { std::memmove(device, host, bytes); }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override { std::memmove(host, device, bytes); }
  void synchronize() override {}
};

}  // namespace

CpuDevice::CpuDevice() : CpuDevice(forced_provider()) {}

CpuDevice::CpuDevice(std::optional<Provider> forced) : forced_(forced), stream_(std::make_unique<CpuStream>()) {
  device::active_isa();  // a bad RIDGELINE_ISA is reported here and not in the first kernel
}

std::unique_ptr<DeviceMemory> CpuDevice::allocate(std::size_t bytes) { return std::make_unique<CpuMemory>(bytes); }

std::vector<KernelEntry> CpuDevice::kernels(std::string_view op) const { return cpu_kernels(op, forced_); }

// Convolution, dense and batch norm kernels apply relu to what they have in registers. Loops are bounded by what the
// interpreter keeps in its cache blocks and what a reader can follow.
FusionLimits CpuDevice::fusion_limits() const {
  constexpr DTypeSet kTypes{DType::f32};
  return {.epilogues = {{"conv2d", "relu", kTypes},
                        {"dense", "relu", kTypes},
                        {"batch_norm_train", "relu", kTypes, true},
                        {"batch_norm_eval", "relu", kTypes, true}},
          .norm_gradients = kTypes,
          .updates = kTypes,
          .loop = {.terms = 96,
                   .operands = 24,
                   .inputs = {DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::boolean},
                   .results = {DType::f32},
                   .sums = true}};
}

}  // namespace ridgeline
