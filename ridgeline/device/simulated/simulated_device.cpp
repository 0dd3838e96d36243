#include "ridgeline/device/simulated/simulated_device.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/device/collective_kernel.h"
#include "ridgeline/device/simulated/simulated_kernel.h"
#include "ridgeline/device/work_queue.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// The device's address space: for every block a reserved range, whose addresses are given out and cannot be touched,
// and the bytes behind it. Thread-safe.
class SimulatedDevice::Arena {
 public:
  char* reserve(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    const std::size_t pages = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
    void* range = mmap(nullptr, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* store = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range == MAP_FAILED || store == MAP_FAILED) {
      if (range != MAP_FAILED) munmap(range, pages);
      if (store != MAP_FAILED) munmap(store, pages);
      throw Error("not enough memory: " + std::to_string(bytes) + " bytes are wanted for the simulated device");
    }
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<char*>(range)] = {bytes, pages, static_cast<char*>(store)};
    return static_cast<char*>(range);
  }

  void release(char* address) {
    const std::lock_guard lock(mutex_);
    const auto at = blocks_.find(address);
    munmap(at->second.store, at->second.pages);
    munmap(at->first, at->second.pages);
    blocks_.erase(at);
  }

  // Where the bytes of a device range are; an Error when it does not lie inside one block.
  void* translate(const void* address, std::size_t bytes, const std::string& what) const {
    const auto* wanted = static_cast<const char*>(address);
    const std::lock_guard lock(mutex_);
    auto at = blocks_.upper_bound(const_cast<char*>(wanted));
    if (at != blocks_.begin()) {
      --at;
      const auto offset = static_cast<std::size_t>(wanted - at->first);
      if (offset <= at->second.bytes && bytes <= at->second.bytes - offset) return at->second.store + offset;
      if (offset < at->second.pages) {
        throw Error("[simulated] " + what + " of " + std::to_string(bytes) + " bytes at offset " +
                    std::to_string(offset) + " leaves its block of " + std::to_string(at->second.bytes) + " bytes");
      }
    }
    throw Error("[simulated] " + what + " is not an address of the device (a host address?)");
  }

  void refuse_device_address(const void* address, const std::string& what) const {
    const auto* wanted = static_cast<const char*>(address);
    const std::lock_guard lock(mutex_);
    auto at = blocks_.upper_bound(const_cast<char*>(wanted));
    if (at == blocks_.begin()) return;
    --at;
    if (static_cast<std::size_t>(wanted - at->first) < at->second.pages) {
      throw Error("[simulated] " + what + " is an address of the device, where the host's is meant");
    }
  }

 private:
  struct Block {
    std::size_t bytes;
    std::size_t pages;  // bytes, rounded up to whole pages
    char* store;
  };
  mutable std::mutex mutex_;
  std::map<char*, Block> blocks_;
};

// A stream: checked launches and copies, which a thread runs in order. Over a link, each exchange takes the time that
// the link would need.
class SimulatedDevice::Queue final : public Stream {
 public:
  // `least`: seconds that each launch takes, unless it says itself.
  Queue(Arena& arena, const SimulatedDeviceOptions& options, double least)
      : arena_(arena), options_(options), least_(static_cast<std::int64_t>(least * 1e6)) {}

  void run(Kernel& kernel, const KernelArguments& arguments) override {
    auto* simulated = dynamic_cast<SimulatedKernel*>(&kernel);
    if (simulated == nullptr) throw Error("[simulated] kernel '" + kernel.name + "' was made for another device");
    std::vector<void*> inputs;
    std::vector<void*> outputs;
    for (std::size_t i = 0; i < simulated->input_bytes.size(); ++i) {
      inputs.push_back(arena_.translate(arguments.inputs[i], simulated->input_bytes[i],
                                        "operand " + std::to_string(i) + " of '" + kernel.name + "'"));
    }
    for (std::size_t i = 0; i < simulated->output_bytes.size(); ++i) {
      outputs.push_back(arena_.translate(arguments.outputs[i], simulated->output_bytes[i],
                                         "result " + std::to_string(i) + " of '" + kernel.name + "'"));
    }
    void* scratch = nullptr;
    if (simulated->scratch_bytes > 0) {
      scratch = arena_.translate(arguments.scratch, simulated->scratch_bytes, "scratch of '" + kernel.name + "'");
    }
    if (options_.on_launch) options_.on_launch(kernel.name);
    queue_.push([reference = simulated->reference, inputs = std::move(inputs), outputs = std::move(outputs), scratch,
                 until_then = simulated->product ? least_ : simulated->least_time] {
      const auto begin = std::chrono::steady_clock::now();
      reference->run({inputs.data(), outputs.data(), scratch});
      if (until_then.count() > 0) std::this_thread::sleep_until(begin + until_then);
    });
  }

  void copy_from_host(void* device, const void* host, std::size_t bytes) override {
    void* to = arena_.translate(device, bytes, "the target of a copy from the host");
    arena_.refuse_device_address(host, "the source of a copy from the host");
    const auto* first = static_cast<const char*>(host);
    queue_.push([to, staged = std::vector<char>(first, first + bytes)] {
      if (!staged.empty()) std::memcpy(to, staged.data(), staged.size());
    });
  }

  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    const void* from = arena_.translate(device, bytes, "the source of a copy to the host");
    arena_.refuse_device_address(host, "the target of a copy to the host");
    queue_.push([host, from, bytes] {
      if (bytes > 0) std::memcpy(host, from, bytes);
    });
  }

  void synchronize() override { queue_.synchronize(); }
  void record(Event& event) override { queue_.record(event); }
  void wait(Event& event) override {
    queue_.push([&event] { event.wait(); });
  }

  // Waits until nothing runs and nothing is queued; leaves an error for the next synchronize().
  void drain() { queue_.drain(); }

 private:
  Arena& arena_;
  const SimulatedDeviceOptions& options_;
  std::chrono::microseconds least_;
  WorkQueue queue_;  // last: it uses all of the above
};

class SimulatedDevice::Memory final : public DeviceMemory {
 public:
  Memory(Arena& arena, Queue& queue, Queue& exchanges, std::size_t bytes)
      : arena_(arena), queue_(queue), exchanges_(exchanges), bytes_(bytes), address_(arena.reserve(bytes)) {}
  ~Memory() override {
    queue_.drain();
    exchanges_.drain();
    arena_.release(address_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* address() override { return address_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  Arena& arena_;
  Queue& queue_;
  Queue& exchanges_;
  std::size_t bytes_;
  char* address_;
};

SimulatedDevice::SimulatedDevice(SimulatedDeviceOptions options)
    : options_(std::move(options)),
      arena_(std::make_unique<Arena>()),
      queue_(std::make_unique<Queue>(*arena_, options_, options_.product_seconds)),
      exchanges_(std::make_unique<Queue>(*arena_, options_, 0)) {
  for (DType dtype : options_.missing_dtypes) missing_mask_ |= 1u << static_cast<unsigned>(dtype);
  simulated_make(missing_mask_);  // checks the set
}

SimulatedDevice::~SimulatedDevice() = default;

std::unique_ptr<DeviceMemory> SimulatedDevice::allocate(std::size_t bytes) {
  return std::make_unique<Memory>(*arena_, *queue_, *exchanges_, bytes);
}

Stream& SimulatedDevice::stream() { return *queue_; }

Stream& SimulatedDevice::exchange_stream() { return *exchanges_; }

std::unique_ptr<Kernel> SimulatedDevice::collective(const CollectiveRequest& request) {
  auto kernel = std::make_unique<SimulatedKernel>();
  kernel->reference = make_collective_kernel(request);
  kernel->name = "simulated " + kernel->reference->name;
  kernel->input_bytes.assign(request.bytes.begin(), request.bytes.end());
  kernel->output_bytes = {request.pending_bytes};
  const double seconds =
      options_.link.latency +
      (options_.link.bandwidth > 0 ? static_cast<double>(request.pending_bytes) / options_.link.bandwidth : 0);
  kernel->least_time = std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
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
           simulated_make(missing_mask_),
           storage,
           Arithmetic::f64,
           {Reproducibility::portable, true}}};
}

}  // namespace ridgeline
