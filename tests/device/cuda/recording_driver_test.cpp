#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/device/cuda/driver_support.h"

namespace ridgeline::cuda::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(float);

// Two vectors on a card, a stream, and the kernel.
struct Vectors : RecordingCard {
  explicit Vectors(RecordingOptions options = {}) : RecordingCard(std::move(options)) {
    std::iota(static_cast<float*>(pinned.address()), static_cast<float*>(pinned.address()) + kCount, 0.0f);
    stream.copy_to_device(x.address(), pinned.address(), kBytes);
    stream.fill(y.address(), 0, kBytes);
    stream.synchronize();
  }
  void launch(CudaStream& on, float a) { launch_self_test(on, function, x.address(), y.address(), a, kCount); }
  std::vector<float> read() {
    std::vector<float> values(kCount);
    stream.copy_to_host(values.data(), y.address(), kBytes);
    stream.synchronize();
    return values;
  }
  Memory x{context, kBytes, "x"}, y{context, kBytes, "y"};
  PinnedMemory pinned{context, kBytes};
  CudaStream stream{context}, other{context};
  CudaEvent event{context};
  Kernels kernels{context, kAnyImages};
  FunctionHandle function = kernels.function("self_test");
};

TEST(RecordingDriver, KernelsComputeOnMemoryThatTheHostCannotTouch) {
  Vectors v;
  v.launch(v.stream, 2);
  const std::vector<float> y = v.read();
  EXPECT_EQ(y[7], 14);
  EXPECT_EQ(y[999], 1998);
  EXPECT_DEATH(*reinterpret_cast<volatile float*>(v.y.address()) = 1, "");
}

TEST(RecordingDriver, WorkIsDoneNoEarlierThanTheHostWaits) {
  Vectors v;
  auto* pinned = static_cast<float*>(v.pinned.address());
  v.launch(v.stream, 2);
  v.stream.copy_to_host(pinned, v.y.address(), kBytes);
  EXPECT_EQ(pinned[7], 7);  // of before
  v.stream.synchronize();
  EXPECT_EQ(pinned[7], 14);
}

TEST(RecordingDriver, FreshMemoryIsNotZero) {
  RecordingCard card;
  Memory memory(card.context, 4, "it");
  CudaStream stream(card.context);
  float value = 0;
  stream.copy_to_host(&value, memory.address(), 4);
  EXPECT_NE(value, value);
}

TEST(RecordingDriver, TwoStreamsOnTheSameBytesNeedAnOrder) {
  Vectors v;
  v.launch(v.stream, 2);
  EXPECT_THAT(error_of([&] { v.launch(v.other, 2); }), HasSubstr("touch the same bytes, and nothing orders them"));
  v.stream.record(v.event);
  v.other.wait(v.event);
  v.launch(v.other, 2);
  v.other.synchronize();
  EXPECT_EQ(v.read()[3], 12);
}

TEST(RecordingDriver, AWaitOfTheHostOrdersTwoStreams) {
  Vectors v;
  v.launch(v.stream, 2);
  v.stream.record(v.event);
  v.event.synchronize();
  v.launch(v.other, 2);
  v.other.synchronize();
  EXPECT_EQ(v.read()[3], 12);
}

TEST(RecordingDriver, PinnedMemoryIsReadLateAndOrderedAsWell) {
  Vectors v;
  v.stream.copy_to_device(v.x.address(), v.pinned.address(), kBytes);
  EXPECT_THAT(error_of([&] { v.other.copy_to_host(v.pinned.address(), v.y.address(), kBytes); }),
              HasSubstr("touch the same bytes"));
  static_cast<float*>(v.pinned.address())[3] = 50;  // too early: the copy has not been made
  v.launch(v.stream, 1);
  EXPECT_EQ(v.read()[3], 50);
}

TEST(RecordingDriver, AnEventIsReachedAfterSomePolls) {
  Vectors v;
  v.launch(v.stream, 2);
  v.launch(v.stream, 2);
  v.stream.record(v.event);
  EXPECT_FALSE(v.event.reached());
  int polls = 1;
  while (!v.event.reached()) ++polls;
  EXPECT_LE(polls, 3);
}

TEST(RecordingDriver, AddressesAreChecked) {
  Vectors v;
  std::vector<float> host(kCount);
  const auto host_address = reinterpret_cast<DeviceAddress>(host.data());
  EXPECT_THAT(error_of([&] { launch_self_test(v.stream, v.function, host_address, v.y.address(), 1, kCount); }),
              HasSubstr("is no address of the device"));
  EXPECT_THAT(error_of([&] { v.stream.copy_to_device(host_address, host.data(), 4); }),
              HasSubstr("is no address of the device"));
  EXPECT_THAT(error_of([&] { v.stream.copy_to_device(v.x.address(), reinterpret_cast<void*>(v.y.address()), 4); }),
              HasSubstr("the source is an address of the device, where the host's is meant"));
  EXPECT_THAT(error_of([&] { launch_self_test(v.stream, v.function, v.x.address() + 4, v.y.address(), 1, kCount); }),
              HasSubstr("leave their block"));
}

TEST(RecordingDriver, AnAddressThatIsNotListedIsFound) {
  Vectors v;
  SelfTestParameters parameters{reinterpret_cast<const float*>(v.x.address()), reinterpret_cast<float*>(v.y.address()),
                                1, kCount};
  const PointerMember pointers[] = {updates(&SelfTestParameters::y, kBytes)};
  const Launch launch{.name = "self_test",
                      .function = v.function,
                      .parameters = &parameters,
                      .parameter_bytes = sizeof parameters,
                      .pointers = pointers};
  EXPECT_THAT(error_of([&] { v.stream.launch(launch); }), HasSubstr("byte 0 is a device address that is not listed"));
}

TEST(RecordingDriver, FreedMemoryIsNobodys) {
  RecordingCard card;
  CudaStream stream(card.context);
  DeviceAddress address = 0;
  {
    const Memory memory(card.context, 64, "it");
    address = memory.address();
  }
  EXPECT_THAT(error_of([&] { stream.fill(address, 0, 64); }), HasSubstr("freed memory"));
}

TEST(RecordingDriver, TooMuchMemoryIsRefusedWithWhatIsFree) {
  RecordingCard card({.memory_bytes = 1000});
  Memory first(card.context, 300, "the first");
  EXPECT_EQ(error_of([&] { Memory(card.context, 701, "the arena"); }),
            "[cuda] not enough memory on recording device: 701 bytes are wanted for the arena, 700 of 1000 are free");
}

TEST(RecordingDriver, AnErrorInsideOfWorkIsSticky) {
  Vectors v({.work_fault = [](std::string_view work) {
    return work == "self_test" ? result::kIllegalAddress : result::kSuccess;
  }});
  v.launch(v.stream, 1);
  const std::string wanted = "CUDA_ERROR_ILLEGAL_ADDRESS: in 'self_test'";
  EXPECT_THAT(error_of([&] { v.stream.synchronize(); }), HasSubstr(wanted));
  EXPECT_THAT(error_of([&] { v.other.synchronize(); }), HasSubstr(wanted));
  EXPECT_THAT(error_of([&] { Memory(v.context, 4, "it"); }), HasSubstr(wanted));
}

TEST(RecordingDriver, AThreadThatHasNotSetTheContextIsRefused) {
  RecordingCard card;
  std::thread([&] {
    DeviceAddress address = 0;
    EXPECT_EQ(card.driver->allocate(&address, 4), result::kInvalidContext);
  }).join();
}

TEST(RecordingDriver, StaleHandlesAreFound) {
  RecordingCard card;
  CudaStream stream(card.context);
  EventHandle handle = nullptr;
  {
    const CudaEvent event(card.context);
    handle = event.handle();
  }
  EXPECT_EQ(card.driver->event_record(handle, stream.handle()), result::kInvalidHandle);
}

TEST(RecordingDriver, NothingIsLeftWhenObjectsAreGone) {
  RecordingCard card;
  {
    Memory memory(card.context, 64, "it");
    PinnedMemory pinned(card.context, 64);
    CudaStream stream(card.context);
    CudaEvent event(card.context);
    Kernels kernels(card.context, kAnyImages);
    kernels.function("self_test");
    CapturedGraph graph(stream, [&] { stream.fill(memory.address(), 0, 64); });
    EXPECT_EQ(card.driver->counts().live_objects, 7u);
  }
  EXPECT_EQ(card.driver->counts().live_objects, 0u);
}

TEST(RecordingDriver, AKernelThatNobodyWroteIsNamed) {
  RecordingCard card;
  Kernels kernels(card.context, kAnyImages);
  EXPECT_EQ(error_of([&] { kernels.function("missing"); }), "[cuda] no kernel 'missing' in this build");
}

TEST(RecordingDriver, ALibraryCallRunsItsHostVersionOnItsBytes) {
  Vectors v;
  const LibraryCall call{.name = "double",
                         .touches = {{v.x.address(), kBytes, Touch::reads}, {v.y.address(), kBytes, Touch::writes}},
                         .host = [](std::span<void* const> addresses) {
                           const auto* x = static_cast<const float*>(addresses[0]);
                           auto* y = static_cast<float*>(addresses[1]);
                           for (int i = 0; i < kCount; ++i) y[i] = 2 * x[i];
                         }};
  v.stream.library_call(call);
  EXPECT_EQ(v.read()[5], 10);
}

}  // namespace
}  // namespace ridgeline::cuda::testing
