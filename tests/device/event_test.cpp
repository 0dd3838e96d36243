// Events and second streams: one stream waits for an event that another records.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/host_event.h"
#include "ridgeline/device/simulated/simulated_device.h"
#include "ridgeline/device/simulated/simulated_kernel.h"
#include "ridgeline/device/work_queue.h"

namespace ridgeline {
namespace {

// Waits until the test releases it, then may throw; records when it has run.
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
  HostEvent behind(device);
  device.stream_for(StreamPurpose::exchanges).run(door, kNothing);
  device.stream_for(StreamPurpose::exchanges).record(behind);
  door.open = true;  // the first stream is not blocked, else this line is never reached
  device.stream().wait(behind);
  EXPECT_TRUE(door.passed);
}

TEST(Events, AStreamWaitsForWhatAnotherRecorded) {
  CpuDevice device;
  Door first, second;
  HostEvent between(device);
  WorkQueue queue;
  queue.push([&] { first.run(kNothing); });
  queue.record(between);
  device.stream_for(StreamPurpose::exchanges).wait(between);
  second.open = true;
  device.stream_for(StreamPurpose::exchanges).run(second, kNothing);
  EXPECT_FALSE(second.passed);
  first.open = true;
  queue.synchronize();
  device.stream_for(StreamPurpose::exchanges).synchronize();
  EXPECT_TRUE(first.passed);
  EXPECT_TRUE(second.passed);
}

TEST(Events, AnErrorInFrontOfAnEventReachesWhoWaitsForIt) {
  CpuDevice device;
  Door door, skipped;
  door.open = skipped.open = true;
  door.breaks = true;
  HostEvent event(device);
  device.stream_for(StreamPurpose::exchanges).run(door, kNothing);
  device.stream_for(StreamPurpose::exchanges).run(skipped, kNothing);
  device.stream_for(StreamPurpose::exchanges).record(event);
  EXPECT_THROW(device.stream().wait(event), Error);
  EXPECT_THROW(device.stream_for(StreamPurpose::exchanges).synchronize(), Error);
  EXPECT_FALSE(skipped.passed);
  device.stream_for(StreamPurpose::exchanges).run(skipped, kNothing);  // can be used again
  device.stream_for(StreamPurpose::exchanges).synchronize();
  EXPECT_TRUE(skipped.passed);
}

TEST(Events, OfAQueueThatIsDestroyedAreReachedWithAnError) {
  const CpuDevice device;
  Door door;
  HostEvent event(device);
  std::thread opens;
  {
    WorkQueue queue;
    queue.push([&] { door.run(kNothing); });
    queue.record(event);
    while (!door.entered) std::this_thread::yield();
    opens = std::thread([&] {
      // Only when the queue is asked to end: then its event is reached, whatever still runs.
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
  kernel.device = &device;
  kernel.reference = door;
  const auto memory = device.allocate(sizeof(int));
  const auto over = device.make_event();
  int value = 0, seen = 0;
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.stream_for(StreamPurpose::exchanges).run(kernel, kNothing);
  device.stream_for(StreamPurpose::exchanges).record(*over);
  device.stream().wait(*over);  // the host continues
  value = 7;
  device.stream().copy_from_host(memory->address(), &value, sizeof value);
  device.stream().copy_to_host(&seen, memory->address(), sizeof seen);
  door->open = true;
  device.stream().synchronize();
  EXPECT_TRUE(door->passed);
  EXPECT_EQ(seen, 7);
}

TEST(Events, RecordedAgainTheyAreWaitedForAsTheyWereWhenSomebodyAsked) {
  const CpuDevice device;
  HostEvent event(device);
  EXPECT_TRUE(event.reached()) << "never recorded";
  const std::uint64_t first = event.record(), second = event.record();
  event.reach(first);
  event.wait_for(first);  // does not wait for the second stream
  EXPECT_FALSE(event.reached());
  event.reach(second, std::make_exception_ptr(Error("broken")));
  event.wait_for(first);
  EXPECT_THROW(event.wait(), Error);
  event.reach(event.record());
  event.wait();
  EXPECT_THROW(event.wait_for(second), Error);
}

}  // namespace
}  // namespace ridgeline
