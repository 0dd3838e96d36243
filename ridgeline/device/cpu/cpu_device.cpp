#include "ridgeline/device/cpu/cpu_device.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/collective_kernel.h"
#include "ridgeline/device/conversion_kernel.h"
#include "ridgeline/device/cpu/bandwidth.h"
#include "ridgeline/device/cpu/dense/few_rows.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/kernels_version.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/peak.h"
#include "ridgeline/device/cpu/speeds.h"
#include "ridgeline/device/cpu/tiles/peak.h"
#include "ridgeline/device/host_event.h"
#include "ridgeline/device/queued_stream.h"

namespace ridgeline {
namespace {

constexpr std::size_t kPage = std::size_t{4} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Large blocks are pages of their own, fresh from the system, so they are zeros.
class CpuMemory final : public DeviceMemory {
 public:
  explicit CpuMemory(std::size_t bytes) : bytes_(bytes), pages_(bytes >= kHugePage) {
    address_ = pages_ ? map(bytes) : std::aligned_alloc(64, (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64);
    if (address_ == nullptr)
      throw Error("not enough memory: " + std::to_string(bytes) + " bytes are wanted for the cpu");
  }
  ~CpuMemory() override {
    if (pages_)
      ::munmap(address_, rounded(bytes_));
    else
      std::free(address_);
  }
  CpuMemory(const CpuMemory&) = delete;
  CpuMemory& operator=(const CpuMemory&) = delete;

  void* address() override { return address_; }
  std::size_t bytes() const override { return bytes_; }
  bool starts_as_zeros() const override { return pages_; }

 private:
  // The rest after the last full huge page takes small ones: a huge one would leave most of a megabyte unused in each
  // block, 70 MB in a step of ResNet-50.
  static std::size_t rounded(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  // To begin on a huge page, one huge page more is mapped, and the surplus unmapped on both sides.
  static void* map(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
    const std::size_t size = rounded(bytes);
    void* mapped = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    char* begin = static_cast<char*>(mapped);
    const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
    if (before > 0) ::munmap(begin, before);
    if (before < kHugePage) ::munmap(begin + before + size, kHugePage - before);
    // Only advice: without huge pages everything works, with more misses of the address cache.
    ::madvise(begin + before, size, MADV_HUGEPAGE);
    return begin + before;
  }

  void* address_ = nullptr;
  std::size_t bytes_;
  bool pages_;
};

class CpuStream final : public Stream {
 public:
  using Stream::Stream;
  void run(Kernel& kernel, const KernelArguments& arguments) override {
    const FlushDenormals flush;
    kernel.run({arguments.inputs, arguments.outputs, arguments.scratch, this});
  }
  SourceUse copy(const Copy& copy) override {
    std::memmove(copy.to, copy.from, copy.bytes);
    return SourceUse::over;
  }
  void clear(void* device, std::size_t bytes) override {
    parallel_for(static_cast<std::int64_t>(bytes), std::int64_t{1} << 21, [&](std::int64_t begin, std::int64_t end) {
      std::memset(static_cast<char*>(device) + begin, 0, static_cast<std::size_t>(end - begin));
    });
  }
  void synchronize() override {}
  void record(Event& event) override {
    RIDGELINE_CHECK(&event.device() == &device(), "a stream records the events of its own device");
    auto& own = static_cast<HostEvent&>(event);
    own.reach(own.record());
  }
  void wait(Event& event) override { event.wait(); }
};

}  // namespace

CpuDevice::CpuDevice() : CpuDevice(forced_provider()) {}

CpuDevice::CpuDevice(std::optional<Provider> forced) : forced_(forced) {
  streams_[StreamPurpose::compute] = std::make_unique<CpuStream>(*this);
  device::active_isa();  // a bad RIDGELINE_ISA is reported here and not in the first kernel
}

namespace {

void refuse_contradictions(const KernelPromise& promise) {
  if (promise.fp32_compute.empty()) return;
  const auto refuse = [](const std::string& reason) {
    throw Error("fp32_compute is bf16x3, " + reason, ErrorKind::usage);
  };
  if (promise.fp32_compute != kBf16x3) {
    throw Error("fp32_compute is " + std::string(promise.fp32_compute) + ", which the cpu does not know (f32, bf16x3)",
                ErrorKind::usage);
  }
  const device::Isa isa = device::active_isa();
  if (isa != device::Isa::amx) {
    refuse("which needs tile registers (amx): the instruction set in force is " + std::string(device::name_of(isa)));
  }
  if (promise.high_precision) refuse("and high precision is asked for (op_select_implmode): its errors are larger");
  if (promise.bits == Reproducibility::portable)
    refuse("and reproducibility is portable: other machines have no tiles");
}

// Times differ from run to run and from team to team, so the kernels and their bits would, too.
void refuse_to_tune(const KernelPromise& promise, bool forced) {
  if (promise.bits != Reproducibility::fast) {
    throw Error("tune chooses kernels by time, so bits depend on the machine and the team, and reproducibility is " +
                    std::string(name_of(promise.bits)),
                ErrorKind::usage);
  }
  if (forced) throw Error("tune chooses kernels by time, and RIDGELINE_KERNELS forces them", ErrorKind::usage);
}

}  // namespace

CpuDevice::CpuDevice(const KernelPromise& promise, const std::string& tune) : CpuDevice(forced_provider()) {
  refuse_contradictions(promise);
  promise_ = promise;
  if (tune.empty()) return;
  refuse_to_tune(promise, forced_.has_value());
  tuner_.emplace(KernelTuner::file_named(tune), device::processor_name() + ", " +
                                                    std::string(device::name_of(device::active_isa())) +
                                                    (device::fast_bf16_dots() ? ", fast dots" : "") + ", kernels " +
                                                    std::string(kernels_version()) + ", " + device::library_version());
}

std::unique_ptr<DeviceMemory> CpuDevice::allocate(std::size_t bytes) { return std::make_unique<CpuMemory>(bytes); }

std::size_t CpuDevice::memory_limit() const { return static_cast<std::size_t>(available_memory()); }

Stream& CpuDevice::stream_for(StreamPurpose purpose) {
  std::unique_ptr<Stream>& stream = streams_[purpose];
  if (!stream) stream = std::make_unique<QueuedStream>(*this);
  return *stream;
}

std::unique_ptr<Event> CpuDevice::make_event() { return std::make_unique<HostEvent>(*this); }

std::unique_ptr<Kernel> CpuDevice::collective(const CollectiveRequest& request) {
  return make_collective_kernel(request);
}

std::unique_ptr<Kernel> CpuDevice::conversion(const ValueType& type, const Layout& from, const Layout& to) {
  return make_conversion_kernel(type, from, to);
}

std::unique_ptr<Kernel> CpuDevice::cast_conversion(DType from_type, const Layout& from, DType to_type,
                                                   const Layout& to) {
  return make_cast_conversion(from_type, from, to_type, to);
}

// Of one core. Handing work to a team and waiting for it takes tens of microseconds where its threads sleep in between
// (docs/core.md).
DeviceRates CpuDevice::rates() const {
  const bool tiles = device::active_isa() == device::Isa::amx;
  return {.f32_flops = 1e11,
          .bf16_flops = tiles ? 1e12 : device::bf16_products_rate() * 1e11,
          .f16_flops = 1e11,
          .memory_bytes = 1e10,
          .launch_seconds = 1e-6,
          .barrier_seconds = 1e-5};
}

namespace {

MeasuredRates measure(const DeviceRates& estimate) {
  MeasuredRates rates{estimate, estimate};
  const device::MeasuredRate f32 = device::measure_f32_rate();
  const device::MeasuredRate memory = device::measure_memory_rate();
  const bool tiles = device::active_isa() == device::Isa::amx;
  constexpr int kTeams = 1000;
  const device::MeasuredRate teams = device::measure_rate(7, kTeams, [](int) {
    for (int i = 0; i < kTeams; ++i) parallel_team([](int, int) {});
  });
  const auto fill = [&](DeviceRates& to, double device::MeasuredRate::*rate) {
    to.f32_flops = to.bf16_flops = to.f16_flops = f32.*rate * 1e9;
    to.memory_bytes = memory.*rate * 1e9;
    to.barrier_seconds = 1 / (teams.*rate);
  };
  fill(rates.best, &device::MeasuredRate::best);
  fill(rates.usual, &device::MeasuredRate::usual);
  if (tiles || device::fast_bf16_dots()) {
    using device::tiles::Tiles;
    const double bf16 = device::tiles::measure_tile_peak(tiles ? Tiles::amx : Tiles::dots) * 1e9;
    rates.best.bf16_flops = rates.usual.bf16_flops = bf16;
  }
  return rates;
}

}  // namespace

MeasuredRates CpuDevice::measured_rates() {
  const auto [it, is_new] = measured_.try_emplace(compute_threads());
  if (is_new) it->second = measure(rates());
  return it->second;
}

std::string CpuDevice::architecture() const { return std::string(device::name_of(device::active_isa())); }

std::string CpuDevice::describe() {
  std::string isas;
  for (device::Isa isa : device::machine_isas()) isas += (isas.empty() ? "" : ", ") + std::string(device::name_of(isa));
  const std::string further = device::further_instructions();
  return std::to_string(available_cores()) + " cores, instruction sets " + isas +
         " (in use: " + std::string(device::name_of(device::active_isa())) +
         (further.empty() ? "" : "; the processor also has " + further) + ")";
}

bool CpuDevice::fast_bf16() { return device::bf16_products_rate() > 1; }

std::vector<KernelEntry> CpuDevice::kernels(std::string_view op) const { return cpu_kernels(op, forced_); }

namespace {

// Updates of dense weights that compute their gradient; they sum the squares of an L2 penalty as well.
void add_dense_updates(std::vector<FusedForms>& forms, bool own, bool tiles) {
  const auto add = [&](FusedForms taken) {
    for (const char* with : {"", "l2_penalty"}) {
      taken.op = "dense_update";
      taken.with = with;
      forms.push_back(taken);
    }
  };
  if (tiles) add({.op = "", .with = "", .types = {DType::bf16}});
  if (!own) return;
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    add({.op = "", .with = "", .types = {type}, .most_rows = device::most_few_rows(type)});
  add({.op = "",
       .with = "",
       .types = {DType::f32, DType::bf16},
       .most_rows = device::speeds::kMostDenseRows,
       .least_weights = device::speeds::kLeastDenseWeights});
}

}  // namespace

// Convolution, dense and batch norm kernels apply relu (batch norm: or relu6) to what they have in registers, and add
// another value to it: a bf16 one where our tile kernels do. Loops are bounded by what the interpreter keeps in its
// cache blocks and what is still readable.
FusionLimits CpuDevice::fusion_limits() const {
  const DTypeSet types = loop::kLoopStorage;
  const bool own = forced_.value_or(Provider::own) == Provider::own;
  const bool tiles = own && device::active_isa() == device::Isa::amx;
  constexpr DTypeSet kWide{DType::f32}, kNorms{DType::f32, DType::bf16};
  const DTypeSet summands = tiles ? kNorms : kWide;
  std::vector<FusedForms> forms = {{"conv2d", "relu", types},
                                   {"conv2d", "add", summands},
                                   {"dense", "relu", types},
                                   {"dense", "add", summands},
                                   {"batch_norm_train", "relu", kNorms},
                                   {"batch_norm_train", "relu6", kNorms},
                                   {"batch_norm_train", "add", kNorms},
                                   {"batch_norm_eval", "relu", kNorms},
                                   {"batch_norm_eval", "relu6", kNorms},
                                   {"batch_norm_eval", "add", kNorms},
                                   {"batch_norm_bwd", "relu_grad", kNorms},
                                   {"batch_norm_bwd", "relu6_grad", kNorms},
                                   {"update_group", "", kWide}};
  add_dense_updates(forms, own, own && device::bf16_products_rate() > 1);
  return {.forms = std::move(forms),
          // The library normalises training batches and given statistics each in its own way.
          .again = own ? kNorms : DTypeSet(),
          .loop = {.terms = 96,
                   .operands = 24,
                   .inputs = {DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::boolean},
                   .results = loop::kLoopStorage,
                   .sums = true},
          .slow_ops = {{"image_tail", {DType::bf16, DType::f16}, 2.0}}};
}

}  // namespace ridgeline
