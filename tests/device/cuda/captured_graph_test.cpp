#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/device/cuda/driver_support.h"

namespace ridgeline::cuda::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kFew = 100;
constexpr std::size_t kFewBytes = kFew * sizeof(float);

// Three vectors of ones and two streams.
struct Three : RecordingCard {
  Three() {
    const std::vector<float> ones(kFew, 1.0f);
    for (const Memory* memory : {&a, &b, &c}) stream.copy_to_device(memory->address(), ones.data(), kFewBytes);
    stream.synchronize();
  }
  void add(CudaStream& on, const Memory& from, const Memory& to) {
    launch_self_test(on, function, from.address(), to.address(), 1, kFew);
  }
  float first_of(const Memory& memory) {
    float value = 0;
    stream.copy_to_host(&value, memory.address(), sizeof value);
    stream.synchronize();
    return value;
  }
  Memory a{context, kFewBytes, "a"}, b{context, kFewBytes, "b"}, c{context, kFewBytes, "c"};
  CudaStream stream{context}, other{context};
  CudaEvent forked{context}, joined{context};
  Kernels kernels{context, kAnyImages};
  FunctionHandle function = kernels.function("self_test");
};

TEST(CapturedGraph, NothingIsDoneWhileItIsCapturedAndAllOfItInEachReplay) {
  Three t;
  CapturedGraph graph(t.stream, [&] {
    t.add(t.stream, t.a, t.b);
    t.add(t.stream, t.b, t.c);
  });
  EXPECT_EQ(graph.nodes(), 2u);
  EXPECT_EQ(t.first_of(t.b), 1);
  graph.launch(t.stream);
  graph.launch(t.stream);
  EXPECT_EQ(t.first_of(t.b), 3);
  EXPECT_EQ(t.first_of(t.c), 1 + 2 + 3);
}

TEST(CapturedGraph, AnotherStreamJoinsByAnEvent) {
  Three t;
  CapturedGraph graph(t.stream, [&] {
    t.stream.record(t.forked);
    t.other.wait(t.forked);
    t.add(t.other, t.a, t.b);
    t.other.record(t.joined);
    t.stream.wait(t.joined);
    t.add(t.stream, t.b, t.c);
  });
  graph.launch(t.stream);
  EXPECT_EQ(t.first_of(t.c), 3);
  t.add(t.other, t.a, t.a);  // the capture has left the stream
  t.other.synchronize();
  EXPECT_EQ(t.first_of(t.a), 2);
}

TEST(CapturedGraph, TwoNodesOnTheSameBytesNeedAPath) {
  Three t;
  const std::string message = error_of([&] {
    CapturedGraph graph(t.stream, [&] {
      t.stream.record(t.forked);
      t.other.wait(t.forked);
      t.add(t.stream, t.a, t.b);
      t.add(t.other, t.b, t.c);  // reads what the node before writes
      t.other.record(t.joined);
      t.stream.wait(t.joined);
    });
  });
  EXPECT_THAT(message, HasSubstr("nodes 0 'self_test' and 1 'self_test' touch the same bytes"));
}

TEST(CapturedGraph, AStreamThatNobodyWaitsForIsFound) {
  Three t;
  const std::string message = error_of([&] {
    CapturedGraph graph(t.stream, [&] {
      t.stream.record(t.forked);
      t.other.wait(t.forked);
      t.add(t.other, t.a, t.b);
    });
  });
  EXPECT_THAT(message, HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNJOINED"));
  EXPECT_EQ(t.first_of(t.b), 1);
}

TEST(CapturedGraph, WhatACaptureForbidsEndsIt) {
  Three t;
  float value = 0;
  const auto during = [&](auto body) { return error_of([&] { CapturedGraph(t.stream, [&] { body(); }); }); };
  EXPECT_THAT(during([&] { t.stream.synchronize(); }), HasSubstr("a wait of the host inside of a capture"));
  EXPECT_THAT(during([&] { Memory(t.context, 4, "it"); }), HasSubstr("an allocation inside of a capture"));
  EXPECT_THAT(during([&] { t.stream.copy_to_host(&value, t.a.address(), 4); }),
              HasSubstr("a copy to memory that is not pinned inside of a capture"));
  EXPECT_THAT(during([&] { t.stream.copy_to_device(t.a.address(), &value, 4); }),
              HasSubstr("a copy from memory that is not pinned inside of a capture"));
  t.other.record(t.joined);
  EXPECT_THAT(during([&] { t.stream.wait(t.joined); }), HasSubstr("CUDA_ERROR_STREAM_CAPTURE_ISOLATION"));
  t.add(t.stream, t.a, t.b);  // and the stream is of use again
  EXPECT_EQ(t.first_of(t.b), 2);
}

TEST(CapturedGraph, AnErrorOfTheBodyIsTheOneThatIsTold) {
  Three t;
  EXPECT_EQ(error_of([&] { CapturedGraph(t.stream, [&] { throw Error("mine"); }); }), "mine");
  t.add(t.stream, t.a, t.b);
  EXPECT_EQ(t.first_of(t.b), 2);
}

TEST(CapturedGraph, AReplayAllocatesNothing) {
  Three t;
  CapturedGraph graph(t.stream, [&] { t.add(t.stream, t.a, t.b); });
  graph.launch(t.stream);
  t.stream.synchronize();
  const RecordingCounts before = t.driver->counts();
  for (int i = 0; i < 10; ++i) graph.launch(t.stream);
  t.stream.synchronize();
  const RecordingCounts after = t.driver->counts();
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.live_objects, before.live_objects);
  EXPECT_EQ(after.replays, before.replays + 10);
  EXPECT_EQ(after.waits, before.waits + 1);
}

TEST(CapturedGraph, AReplayBesideAnotherStreamsWorkNeedsAnOrder) {
  Three t;
  CapturedGraph graph(t.stream, [&] { t.add(t.stream, t.a, t.b); });
  t.add(t.other, t.b, t.c);
  EXPECT_THAT(error_of([&] { graph.launch(t.stream); }), HasSubstr("touch the same bytes"));
}

TEST(CapturedGraph, ANodeThatFailsIsNamed) {
  Three t;
  const LibraryCall call{.name = "conv1 wgrad", .host = [](std::span<void* const>) { throw Error("a fault"); }};
  CapturedGraph graph(t.stream, [&] { t.stream.library_call(call); });
  graph.launch(t.stream);
  EXPECT_THAT(error_of([&] { t.stream.synchronize(); }),
              HasSubstr("CUDA_ERROR_LAUNCH_FAILED: in 'conv1 wgrad': a fault"));
}

}  // namespace
}  // namespace ridgeline::cuda::testing
