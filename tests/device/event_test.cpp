// Events and second streams: what one stream waits for, another records.
#include "ridgeline/device/event.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/simulated/simulated_device.h"
#include "ridgeline/device/simulated/simulated_kernel.h"
#include "ridgeline/device/work_queue.h"

namespace ridgeline {
namespace {

// Waits until the test lets it go, then may throw; says when it has run.
struct Door : Kernel {
  std::atomic<bool> entered{false}, open{false}, passed{false};
  bool breaks = false;
  void run(const KernelArguments&) override {
    entered = true;
    while (!open) std::this_thread::yield();
    passed = true;
    if (breaks) throw Error("the door is broken");
  }
};

constexpr KernelArguments kNothing{nullptr, nullptr, nullptr};

TEST(Events, TheCpusSecondStreamRunsBesideTheFirst) {
  CpuDevice device;
  Door door;
  Event behind;
  device.exchange_stream().run(door, kNothing);
  device.exchange_stream().record(behind);
  door.open = true;  // the first stream is not held up: else this line is never reached
  device.stream().wait(behind);
  EXPECT_TRUE(door.passed);
}

TEST(Events, AStreamWaitsForWhatAnotherRecorded) {
  CpuDevice device;
  Door first, second;
  Event between;
  std::thread other([&] {
    WorkQueue queue;
    queue.push([&] { first.run(kNothing); });
    queue.record(between);
    queue.synchronize();
  });
  between.reset();
  device.exchange_stream().wait(between);
  second.open = true;
  device.exchange_stream().run(second, kNothing);
  EXPECT_FALSE(second.passed);
  first.open = true;
  other.join();
  device.exchange_stream().synchronize();
  EXPECT_TRUE(first.passed);
  EXPECT_TRUE(second.passed);
}

TEST(Events, AnErrorInFrontOfAnEventReachesWhoWaitsForIt) {
  CpuDevice device;
  Door door, skipped;
  door.open = skipped.open = true;
  door.breaks = true;
  Event event;
  device.exchange_stream().run(door, kNothing);
  device.exchange_stream().run(skipped, kNothing);
  device.exchange_stream().record(event);
  EXPECT_THROW(device.stream().wait(event), Error);
  EXPECT_THROW(device.exchange_stream().synchronize(), Error);
  EXPECT_FALSE(skipped.passed);
  device.exchange_stream().run(skipped, kNothing);  // usable again
  device.exchange_stream().synchronize();
  EXPECT_TRUE(skipped.passed);
}

TEST(Events, OfAQueueThatIsDestroyedAreReachedWithAnError) {
  Door door;
  Event event;
  std::thread opens;
  {
    WorkQueue queue;
    queue.push([&] { door.run(kNothing); });
    queue.record(event);
    while (!door.entered) std::this_thread::yield();
    opens = std::thread([&] {
      // Not before the queue is asked to end: its event is reached then, whatever still runs.
      EXPECT_THROW(event.wait(), Error);
      door.open = true;
    });
  }
  opens.join();
  EXPECT_TRUE(door.passed);
  EXPECT_THROW(event.wait(), Error);
}

TEST(Events, TheSimulatedDevicesStreamsWaitForEachOtherBehindTheHost) {
  SimulatedDevice device;
  const auto door = std::make_shared<Door>();
  SimulatedKernel kernel;
  kernel.name = "door";
  kernel.reference = door;
  const auto memory = device.allocate(sizeof(int));
  Event over;
  int value = 0, seen = 0;
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.exchange_stream().run(kernel, kNothing);
  device.exchange_stream().record(over);
  device.stream().wait(over);  // the host goes on
  value = 7;
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.stream().copy_to_host(&seen, memory->address(), sizeof seen);
  door->open = true;
  device.stream().synchronize();
  EXPECT_TRUE(door->passed);
  EXPECT_EQ(seen, 7);
}

}  // namespace
}  // namespace ridgeline
