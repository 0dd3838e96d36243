#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/device/cuda/driver_support.h"

namespace ridgeline::cuda::testing {
namespace {

// Uses every object once.
void use_the_card(const Calls::Fault& fault, std::size_t* live) {
  RecordingCard card({}, fault);
  try {
    constexpr int kElements = 256;
    constexpr std::size_t kSize = kElements * sizeof(float);
    Memory x(card.context, kSize, "x"), y(card.context, kSize, "y");
    PinnedMemory pinned(card.context, kSize);
    CudaStream stream(card.context), copies(card.context);
    CudaEvent event(card.context), begin(card.context, true), end(card.context, true);
    Kernels kernels(card.context, kAnyImages);
    const FunctionHandle function = kernels.function("self_test");
    allow_shared(*card.context, function, "self_test", 100000);
    copies.fill(x.address(), 0, kSize);
    copies.fill(y.address(), 0, kSize);
    copies.copy_to_device(x.address(), pinned.address(), kSize);
    copies.record(event);
    stream.wait(event);
    CapturedGraph graph(stream, [&] {
      launch_self_test(stream, function, x.address(), y.address(), 2, kElements);
      stream.copy_on_device(x.address(), y.address(), kSize);
      stream.library_call({.name = "nothing", .host = [](std::span<void* const>) {}});
    });
    stream.record(begin);
    graph.launch(stream);
    stream.record(end);
    stream.host_function([](void*) {}, nullptr);
    stream.copy_to_host(pinned.address(), x.address(), kSize);
    stream.synchronize();
    while (!end.reached()) {
    }
    end.synchronize();
    end.seconds_since(begin);
    card.context->free_bytes();
    card.context->synchronize();
  } catch (...) {
    *live = card.driver->counts().live_objects;
    throw;
  }
  *live = card.driver->counts().live_objects;
}

// Every call in turn fails with every error that a driver may answer with.
TEST(DriverFaults, EveryErrorAtEveryCallEndsInAClearErrorAndLeavesNothing) {
  constexpr Result kErrors[] = {result::kInvalidValue,   result::kOutOfMemory,   result::kInvalidContext,
                                result::kIllegalAddress, result::kLaunchFailed,  result::kNotSupported,
                                result::kUnknown,        result::kNotInitialized};
  std::vector<std::string> calls;
  std::size_t live = 0;
  use_the_card(
      [&](std::string_view call) {
        calls.emplace_back(call);
        return result::kSuccess;
      },
      &live);
  ASSERT_GT(calls.size(), 100u);
  EXPECT_EQ(live, 0u);
  for (const Result code : kErrors) {
    for (std::size_t wanted = 0; wanted < calls.size(); ++wanted) {
      std::size_t at = 0;
      const std::string message = error_of(
          [&] { use_the_card([&](std::string_view) { return at++ == wanted ? code : result::kSuccess; }, &live); });
      // A release that fails is no error of the work: cuMemFree, cuStreamDestroy, the context's, and the entering
      // before.
      const bool releases =
          calls[wanted].find("Destroy") != std::string::npos || calls[wanted].find("Free") != std::string::npos ||
          calls[wanted].find("Unload") != std::string::npos || calls[wanted].find("Release") != std::string::npos;
      const bool enters_to_release = calls[wanted] == "cuCtxSetCurrent" && wanted + 1 < calls.size() &&
                                     (calls[wanted + 1].find("Destroy") != std::string::npos ||
                                      calls[wanted + 1].find("Free") != std::string::npos ||
                                      calls[wanted + 1].find("Unload") != std::string::npos);
      if (releases || enters_to_release) {
        EXPECT_EQ(message, "") << calls[wanted];
        continue;
      }
      ASSERT_TRUE(message.starts_with("[cuda] "))
          << "call " << wanted << ' ' << calls[wanted] << ": '" << message << "'";
      const bool memory = code == result::kOutOfMemory && calls[wanted] == "cuMemAlloc";
      EXPECT_TRUE(memory || message.find(calls[wanted]) != std::string::npos) << calls[wanted] << ": " << message;
      EXPECT_EQ(live, 0u) << calls[wanted];
    }
  }
}

TEST(DriverFaults, ADriverThatIsTooOldSaysSo) {
  EXPECT_EQ(error_of([] { RecordingCard card({.driver_version = 12040}); }),
            "[cuda] the driver is too old: recording driver is for CUDA 12.4, 13.0 or later is needed");
}

TEST(DriverFaults, NoCardAndACardThatIsTooOldSaySo) {
  EXPECT_EQ(error_of([] { RecordingCard card({.devices = 0}); }),
            "[cuda] the driver shows this process no card (CUDA_VISIBLE_DEVICES?)");
  EXPECT_EQ(error_of([] { RecordingCard card({.compute_capability = 75}); }),
            "[cuda] recording device has compute capability 7.5, 8.0 or later is needed");
}

}  // namespace
}  // namespace ridgeline::cuda::testing
