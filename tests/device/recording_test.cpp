// What the simulated device checks for real devices: the order of work on several streams, recordings, pinned memory.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/device/simulated/simulated_device.h"
#include "ridgeline/device/simulated/simulated_kernel.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

// y = x + 1 over ints.
struct PlusOne : Kernel {
  void run(const KernelArguments& a) override {
    *static_cast<int*>(a.outputs[0]) = *static_cast<const int*>(a.inputs[0]) + 1;
  }
};

struct Fixture {
  SimulatedDevice device;
  SimulatedKernel plus;
  std::unique_ptr<DeviceMemory> x = device.allocate(sizeof(int)), y = device.allocate(sizeof(int));
  void* from[1] = {x->address()};
  void* to[1] = {y->address()};
  Stream& compute = device.stream();
  Stream& copies = device.stream_for(StreamPurpose::copies);

  Fixture() {
    plus.name = "plus";
    plus.device = &device;
    plus.reference = std::make_shared<PlusOne>();
    plus.input_bytes = plus.output_bytes = {sizeof(int)};
  }
  void add(void* const* inputs, void* const* outputs) { compute.run(plus, {inputs, outputs, nullptr}); }
  void set(int value) {
    compute.copy_from_host(x->address(), &value, sizeof value);
    compute.synchronize();
  }
  int value(DeviceMemory& memory) {
    int value = 0;
    compute.copy_to_host(&value, memory.address(), sizeof value);
    compute.synchronize();
    return value;
  }
};

TEST(StreamOrder, WorkOfTwoStreamsOnTheSameBytesNeedsAnEventBetween) {
  Fixture f;
  const int value = 1;
  f.copies.copy_from_host(f.x->address(), &value, sizeof value);
  EXPECT_EQ(error_of([&] { f.add(f.from, f.to); }),
            "[simulated] 'plus' on the stream of compute touches what a copy from the host writes on the stream of "
            "copies, and nothing orders the two");
  const auto filled = f.device.make_event(), read = f.device.make_event();
  f.copies.record(*filled);
  f.compute.wait(*filled);
  f.add(f.from, f.to);
  EXPECT_EQ(error_of([&] { f.copies.copy_from_host(f.x->address(), &value, sizeof value); }),
            "[simulated] a copy from the host on the stream of copies writes what is read on the stream of compute, "
            "and nothing orders the two");
  f.compute.record(*read);
  f.copies.wait(*read);
  f.copies.copy_from_host(f.x->address(), &value, sizeof value);
  f.copies.synchronize();  // the host has waited, so no event is needed
  f.add(f.from, f.to);
  EXPECT_EQ(f.value(*f.y), 2);
}

TEST(StreamOrder, OtherBytesOfTheSameBlockNeedNone) {
  SimulatedDevice device;
  const auto block = device.allocate(64);
  char* const begin = static_cast<char*>(block->address());
  const char bytes[32] = {};
  device.stream().copy_from_host(begin, bytes, 32);
  device.stream_for(StreamPurpose::copies).copy_from_host(begin + 32, bytes, 32);
  EXPECT_NE(error_of([&] { device.stream_for(StreamPurpose::copies).copy_from_host(begin + 16, bytes, 32); }), "");
}

TEST(Recording, DoesTheSameWorkAgainWithoutItsBeingGiven) {
  Fixture f;
  int given = 0;
  const auto recording = f.device.record([&] {
    ++given;
    f.add(f.from, f.to);
    f.add(f.to, f.from);
  });
  f.set(5);
  EXPECT_EQ(f.value(*f.x), 5) << "nothing is done when it is recorded";
  for (int i = 0; i < 3; ++i) recording->replay();
  EXPECT_EQ(f.value(*f.x), 11);
  EXPECT_EQ(given, 1);
  EXPECT_EQ(f.device.replays(), 3);
}

TEST(Recording, MayForkToOtherStreamsAndJoinsAtItsEnd) {
  Fixture f;
  const auto z = f.device.allocate(sizeof(int));
  const auto forked = f.device.make_event(), joined = f.device.make_event();
  const auto body = [&](bool fork, bool join) {
    return [&, fork, join] {
      f.add(f.from, f.to);
      f.compute.record(*forked);
      if (fork) f.copies.wait(*forked);
      f.copies.copy({z->address(), f.y->address(), sizeof(int), &f.device, &f.device});
      f.copies.record(*joined);
      if (join) f.compute.wait(*joined);
    };
  };
  EXPECT_NE(error_of([&] { f.device.record(body(false, true)); }).find("does not wait for the compute stream"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { f.device.record(body(true, false)); }),
            "[simulated] the recording ends before the compute stream has waited for the others");
  const auto recording = f.device.record(body(true, true));
  f.set(1);
  recording->replay();
  EXPECT_EQ(f.value(*z), 2);
}

TEST(Recording, RefusesWhatCannotBeDoneAgain) {
  Fixture f;
  const int value = 1;
  const auto before = f.device.make_event();
  f.compute.record(*before);
  EXPECT_NE(error_of([&] { f.device.record([&] { f.compute.synchronize(); }); }), "");
  EXPECT_NE(error_of([&] { f.device.record([&] { f.device.allocate(4); }); }), "");
  EXPECT_NE(error_of([&] { f.device.record([&] { f.compute.wait(*before); }); }), "");
  EXPECT_EQ(error_of([&] { f.device.record([&] { f.compute.copy_from_host(f.x->address(), &value, 4); }); }),
            "[simulated] a copy of memory that is not pinned cannot be recorded");
  // An error ends it, and later work runs.
  f.set(3);
  EXPECT_EQ(f.value(*f.x), 3);
}

TEST(Recording, ChecksTheOrderOfEachReplay) {
  Fixture f;
  const auto recording = f.device.record([&] { f.add(f.from, f.to); });
  f.set(1);
  recording->replay();
  const int value = 2;
  EXPECT_NE(error_of([&] { f.copies.copy_from_host(f.x->address(), &value, sizeof value); }), "")
      << "the replay still reads it";
  const auto read = f.device.make_event();
  f.compute.record(*read);
  f.copies.wait(*read);
  f.copies.copy_from_host(f.x->address(), &value, sizeof value);
  EXPECT_NE(error_of([&] { recording->replay(); }), "") << "nobody waits for the copy";
  f.copies.synchronize();  // the event is destroyed
}

TEST(Recording, OfMemoryThatIsGoneIsAnError) {
  Fixture f;
  auto z = f.device.allocate(sizeof(int));
  void* to[1] = {z->address()};
  const auto recording = f.device.record([&] { f.add(f.from, to); });
  f.set(1);
  z.reset();
  EXPECT_NE(error_of([&] { recording->replay(); }), "");
}

TEST(Copies, OfPinnedMemorySayThatItIsReadLater) {
  Fixture f;
  const auto pinned = f.device.allocate_pinned(sizeof(int));
  int* const source = static_cast<int*>(pinned->address());
  *source = 7;
  const int plain = 7;
  EXPECT_EQ(f.compute.copy_from_host(f.x->address(), &plain, sizeof plain), SourceUse::over);
  EXPECT_EQ(f.compute.copy_from_host(f.x->address(), source, sizeof *source), SourceUse::in_flight);
  EXPECT_EQ(f.compute.copy({f.y->address(), f.x->address(), sizeof(int), &f.device, &f.device}), SourceUse::in_flight);
  EXPECT_EQ(f.value(*f.y), 7);
}

TEST(Copies, WhosePinnedSourceIsWrittenOverFail) {
  Fixture f;
  const auto pinned = f.device.allocate_pinned(sizeof(int));
  int* const source = static_cast<int*>(pinned->address());
  *source = 7;
  // After work on another stream that has not run yet.
  std::atomic<bool> open{false};
  struct Door : Kernel {
    std::atomic<bool>& open;
    explicit Door(std::atomic<bool>& flag) : open(flag) {}
    void run(const KernelArguments&) override {
      while (!open) std::this_thread::yield();
    }
  };
  SimulatedKernel door;
  door.device = &f.device;
  door.reference = std::make_shared<Door>(open);
  f.copies.run(door, {nullptr, nullptr, nullptr});
  f.copies.copy_from_host(f.x->address(), source, sizeof *source);
  *source = 8;
  open = true;
  EXPECT_EQ(error_of([&] { f.copies.synchronize(); }),
            "[simulated] the source of a copy from the host was written over before the copy was done");
}

TEST(Copies, GoBetweenTwoDevices) {
  Fixture one, two;
  one.set(9);
  two.compute.copy({two.x->address(), one.x->address(), sizeof(int), &two.device, &one.device});
  EXPECT_EQ(two.value(*two.x), 9);
  two.set(4);
  two.compute.copy({one.y->address(), two.x->address(), sizeof(int), &one.device, &two.device});
  EXPECT_EQ(one.value(*one.y), 4);
}

TEST(Devices, AreTheFirstOfTheirKindOrHaveANumber) {
  EXPECT_EQ(device_named("simulated").make()->name(), "simulated");
  EXPECT_EQ(device_named("simulated:2").make()->name(), "simulated:2");
  EXPECT_EQ(device_named("simulated:0").make()->name(), "simulated");
  EXPECT_EQ(error_of([] { device_named("cpu:1"); }), "device 'cpu:1': of cpu there is one, without a number");
  for (const char* wrong : {"simulated:", "simulated:x", "simulated:-1", "simulated:1x"})
    EXPECT_EQ(
        error_of([&] { device_named(wrong); }),
        "device '" + std::string(wrong) + "': a number is meant behind the colon (simulated:0, simulated:1, ...)");
  EXPECT_NE(error_of([] { device_named("gpu:1"); }).find("unknown device 'gpu:1' (allowed: cpu, cuda, simulated"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline
