#include "ridgeline/device/simulated/simulated_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "kernel_testing.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/simulated/simulated_kernel.h"

namespace ridgeline {
namespace {

const Problem kAdd{"reduce_sum", {random_tensor({6, 5}, 1)}, {{"axes", std::vector<std::int64_t>{0}}}};

std::unique_ptr<Kernel> make(Device& device, const Problem& problem) {
  const Node node = problem.node();
  KernelRequest request = problem.request(node);
  request.device = &device;
  KernelChoice choice = device.kernels(problem.op).front().make(request);
  if (const auto* refusal = std::get_if<Refusal>(&choice)) {
    ADD_FAILURE() << refusal->reason;
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<Kernel>>(choice));
}

template <class F>
std::string error_of(F&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A kernel that waits until the test releases it, then may throw.
struct Gate : Kernel {
  std::atomic<bool>& open;
  bool fails;
  Gate(std::atomic<bool>& gate, bool failing) : open(gate), fails(failing) {}
  void run(const KernelArguments&) override {
    while (!open) std::this_thread::yield();
    if (fails) throw Error("the gate is broken");
  }
};

std::unique_ptr<SimulatedKernel> gate(const Device& device, std::atomic<bool>& open, bool fails = false) {
  auto kernel = std::make_unique<SimulatedKernel>();
  kernel->name = "gate";
  kernel->device = &device;
  kernel->reference = std::make_shared<Gate>(open, fails);
  return kernel;
}

TEST(SimulatedDevice, RunsAKernelOnItsOwnMemoryAndBringsTheResultBack) {
  SimulatedDevice device;
  EXPECT_FALSE(device.host_memory());
  const auto x = device.allocate(kAdd.inputs[0].byte_size());
  const auto y = device.allocate(5 * sizeof(float));
  const auto kernel = make(device, kAdd);
  void* inputs[] = {x->address()};
  void* outputs[] = {y->address()};
  Tensor result(DType::f32, {5});
  device.stream().copy_from_host(x->address(), kAdd.inputs[0].raw(), kAdd.inputs[0].byte_size());
  device.stream().run(*kernel, {inputs, outputs, nullptr});
  device.stream().copy_to_host(result.raw(), y->address(), result.byte_size());
  device.stream().synchronize();
  EXPECT_TRUE(same_bits(result, kAdd.reference()[0]));
}

TEST(SimulatedDevice, TheStreamRunsBehindInTheOrderGiven) {
  SimulatedDevice device;
  std::atomic<bool> open = false;
  const auto wait = gate(device, open);
  const auto memory = device.allocate(sizeof(int));
  device.stream().run(*wait, {nullptr, nullptr, nullptr});
  // The copies wait for the gate; the source of the first one may change immediately.
  int value = 1;
  int seen_first = 0;
  int seen_second = 0;
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.stream().copy_to_host(&seen_first, memory->address(), sizeof value);
  value = 2;
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.stream().copy_to_host(&seen_second, memory->address(), sizeof value);
  value = 3;
  EXPECT_EQ(seen_first, 0);
  open = true;
  device.stream().synchronize();
  EXPECT_EQ(seen_first, 1);
  EXPECT_EQ(seen_second, 2);
}

TEST(SimulatedDevice, HostAddressesAreRefused) {
  SimulatedDevice device;
  const auto memory = device.allocate(64);
  float host[16] = {};
  EXPECT_NE(error_of([&] { device.stream().copy_from_host(host, host, 4); }).find("not an address of the device"),
            std::string::npos);
  EXPECT_NE(error_of([&] { device.stream().copy_to_host(host, host, 4); }).find("not an address of the device"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              device.stream().copy_to_host(memory->address(), memory->address(), 4);
            }).find("where the host's is meant"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              device.stream().copy_from_host(memory->address(), memory->address(), 4);
            }).find("where the host's is meant"),
            std::string::npos);
  const auto kernel = make(device, kAdd);
  const auto x = device.allocate(kAdd.inputs[0].byte_size());
  void* good[] = {x->address()};
  void* bad[] = {host};
  EXPECT_EQ(error_of([&] { device.stream().run(*kernel, {bad, good, nullptr}); }),
            "[simulated] operand 0 of 'simulated reduce_sum' is not an address of the device (a host address?)");
  EXPECT_EQ(error_of([&] { device.stream().run(*kernel, {good, bad, nullptr}); }),
            "[simulated] result 0 of 'simulated reduce_sum' is not an address of the device (a host address?)");
  device.stream().synchronize();
}

TEST(SimulatedDevice, ARangeThatLeavesItsBlockIsRefused) {
  SimulatedDevice device;
  const auto memory = device.allocate(64);
  char host[128] = {};
  EXPECT_EQ(error_of([&] { device.stream().copy_from_host(memory->address(), host, 65); }),
            "[simulated] the target of a copy from the host of 65 bytes at offset 0 leaves its block of 64 bytes");
  device.stream().copy_from_host(static_cast<char*>(memory->address()) + 60, host, 4);
  EXPECT_NE(error_of([&] { device.stream().copy_from_host(static_cast<char*>(memory->address()) + 61, host, 4); }),
            "no error");
}

TEST(SimulatedDevice, MemoryOfAnotherSimulatedDeviceIsNotItsOwn) {
  SimulatedDevice one;
  SimulatedDevice two;
  const auto memory = one.allocate(64);
  int host = 0;
  EXPECT_NE(
      error_of([&] { two.stream().copy_to_host(&host, memory->address(), 4); }).find("not an address of the device"),
      std::string::npos);
}

TEST(SimulatedDevice, AKernelOfAnotherDeviceIsRefused) {
  SimulatedDevice device;
  CpuDevice cpu(std::nullopt);
  const auto kernel = make(cpu, kAdd);
  EXPECT_NE(
      error_of([&] { device.stream().run(*kernel, {nullptr, nullptr, nullptr}); }).find("was made for another device"),
      std::string::npos);
  // Nor may the host run a kernel of the device.
  const auto own = make(device, kAdd);
  EXPECT_NE(error_of([&] { own->run({nullptr, nullptr, nullptr}); }), "no error");
}

TEST(SimulatedDevice, MissingOpsAndTypesAreMissing) {
  SimulatedDeviceOptions options;
  options.missing_ops = {"conv2d"};
  options.missing_dtypes = {DType::i32, DType::f64};
  SimulatedDevice device(options);
  EXPECT_TRUE(device.kernels("conv2d").empty());
  EXPECT_TRUE(device.kernels("no_such_op").empty());
  EXPECT_EQ(device.kernels("reduce_sum").size(), 1u);
  EXPECT_NE(make(device, kAdd), nullptr);
  const Problem labelled{"argmax_accuracy", {random_tensor({4, 3}, 1), random_labels(4, 3, 2)}, {}};
  const Node node = labelled.node();
  KernelRequest request = labelled.request(node);
  request.device = &device;
  const KernelChoice choice = device.kernels("argmax_accuracy").front().make(request);
  ASSERT_TRUE(std::holds_alternative<Refusal>(choice));
  EXPECT_EQ(std::get<Refusal>(choice).reason, "the device has no i32");
}

TEST(SimulatedDevice, AnErrorOfTheWorkArrivesAtSynchronizeAndTheWorkBehindItIsDropped) {
  SimulatedDevice device;
  std::atomic<bool> open = false;
  const auto broken = gate(device, open, true);
  const auto memory = device.allocate(sizeof(int));
  const int value = 7;
  int seen = 0;
  device.stream().run(*broken, {nullptr, nullptr, nullptr});
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.stream().copy_to_host(&seen, memory->address(), sizeof seen);
  open = true;
  EXPECT_EQ(error_of([&] { device.stream().synchronize(); }), "the gate is broken");
  EXPECT_EQ(seen, 0);
  // The stream works again afterwards.
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.stream().copy_to_host(&seen, memory->address(), sizeof seen);
  device.stream().synchronize();
  EXPECT_EQ(seen, 7);
}

TEST(SimulatedDevice, IsDestroyedWithWorkQueued) {
  std::atomic<bool> open = false;
  std::atomic<int> runs = 0;
  std::thread opener;
  {
    SimulatedDevice device;
    const auto wait = gate(device, open);
    struct Count : Kernel {
      std::atomic<int>& runs;
      explicit Count(std::atomic<int>& counter) : runs(counter) {}
      void run(const KernelArguments&) override { ++runs; }
    };
    SimulatedKernel count;
    count.reference = std::make_shared<Count>(runs);
    count.device = &device;
    device.stream().run(*wait, {nullptr, nullptr, nullptr});
    opener = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      open = true;
    });
    for (int i = 0; i < 100; ++i) device.stream().run(count, {nullptr, nullptr, nullptr});
  }
  opener.join();
  EXPECT_EQ(runs, 0) << "queued work is dropped";
}

TEST(SimulatedDevice, FreeingMemoryWaitsForTheWorkThatUsesIt) {
  SimulatedDevice device;
  std::atomic<bool> open = false;
  const auto wait = gate(device, open);
  auto memory = device.allocate(1 << 16);
  const std::vector<char> bytes(1 << 16, 'x');
  std::vector<char> seen(bytes.size());
  device.stream().run(*wait, {nullptr, nullptr, nullptr});
  device.stream().copy_from_host(memory->address(), bytes.data(), bytes.size());
  device.stream().copy_to_host(seen.data(), memory->address(), seen.size());
  std::thread opener([&] { open = true; });
  memory.reset();
  opener.join();
  device.stream().synchronize();
  EXPECT_EQ(seen, bytes);
}

}  // namespace
}  // namespace ridgeline
