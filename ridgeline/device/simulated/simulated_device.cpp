#include "ridgeline/device/simulated/simulated_device.h"

#include <sys/mman.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/simulated/simulated_kernel.h"
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

// The stream: a queue of closures and the thread that runs them.
class SimulatedDevice::Queue final : public Stream {
 public:
  Queue(Arena& arena, const SimulatedDeviceOptions& options)
      : arena_(arena), options_(options), thread_([this] { work(); }) {}

  ~Queue() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      queue_.clear();
    }
    changed_.notify_all();
    thread_.join();
  }

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
    push([reference = simulated->reference, inputs = std::move(inputs), outputs = std::move(outputs), scratch] {
      reference->run({inputs.data(), outputs.data(), scratch});
    });
  }

  void copy_from_host(void* device, const void* host, std::size_t bytes) override {
    void* to = arena_.translate(device, bytes, "the target of a copy from the host");
    arena_.refuse_device_address(host, "the source of a copy from the host");
    const auto* first = static_cast<const char*>(host);
    push([to, staged = std::vector<char>(first, first + bytes)] {
      if (!staged.empty()) std::memcpy(to, staged.data(), staged.size());
    });
  }

  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    const void* from = arena_.translate(device, bytes, "the source of a copy to the host");
    arena_.refuse_device_address(host, "the target of a copy to the host");
    push([host, from, bytes] {
      if (bytes > 0) std::memcpy(host, from, bytes);
    });
  }

  void synchronize() override {
    if (std::exception_ptr error = drain()) std::rethrow_exception(error);
  }

  // Waits until nothing runs and nothing is queued; leaves an error for the next synchronize().
  void wait() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return queue_.empty() && !running_; });
  }

 private:
  void push(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      if (error_) return;  // what follows an error would read what was not written
      queue_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

  std::exception_ptr drain() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return queue_.empty() && !running_; });
    return std::exchange(error_, nullptr);
  }

  void work() {
    const FlushDenormals flush;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      std::function<void()> task = std::move(queue_.front());
      queue_.pop_front();
      running_ = true;
      lock.unlock();
      std::exception_ptr error;
      try {
        task();
      } catch (...) {
        error = std::current_exception();
      }
      task = nullptr;
      lock.lock();
      running_ = false;
      if (error) {
        error_ = error;
        queue_.clear();
      }
      if (queue_.empty()) idle_.notify_all();
    }
  }

  Arena& arena_;
  const SimulatedDeviceOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  bool running_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

class SimulatedDevice::Memory final : public DeviceMemory {
 public:
  Memory(Arena& arena, Queue& queue, std::size_t bytes)
      : arena_(arena), queue_(queue), bytes_(bytes), address_(arena.reserve(bytes)) {}
  ~Memory() override {
    queue_.wait();
    arena_.release(address_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* address() override { return address_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  Arena& arena_;
  Queue& queue_;
  std::size_t bytes_;
  char* address_;
};

SimulatedDevice::SimulatedDevice(SimulatedDeviceOptions options)
    : options_(std::move(options)),
      arena_(std::make_unique<Arena>()),
      queue_(std::make_unique<Queue>(*arena_, options_)) {
  for (DType dtype : options_.missing_dtypes) missing_mask_ |= 1u << static_cast<unsigned>(dtype);
  simulated_make(missing_mask_);  // checks the set
}

SimulatedDevice::~SimulatedDevice() = default;

std::unique_ptr<DeviceMemory> SimulatedDevice::allocate(std::size_t bytes) {
  return std::make_unique<Memory>(*arena_, *queue_, bytes);
}

Stream& SimulatedDevice::stream() { return *queue_; }

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
