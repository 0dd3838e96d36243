#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/device/cuda/device_support.h"

namespace ridgeline::cuda::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kSome = 256 * sizeof(float);

TEST(CudaDevice, SaysWhatItIs) {
  RecordingDevice card;
  EXPECT_EQ(card.device.name(), "cuda");
  EXPECT_EQ(card.device.architecture(), "sm_90");
  EXPECT_FALSE(card.device.host_memory());
  EXPECT_TRUE(card.device.records());
}

TEST(CudaDevice, TheLimitOfMemoryIsWhatIsFreeAndWhatItHolds) {
  RecordingDevice card({}, {.memory_bytes = 10000});
  const std::unique_ptr<DeviceMemory> memory = card.device.allocate(4000);
  EXPECT_EQ(card.device.memory_limit(), 10000u);
  Memory other(card.context, 1000, "another program");
  EXPECT_EQ(card.device.memory_limit(), 9000u);
}

TEST(CudaDevice, CopiesSayWhenTheirSourceMayBeWrittenOver) {
  RecordingDevice card;
  const auto memory = card.device.allocate(kSome), second = card.device.allocate(kSome);
  const auto pinned = card.device.allocate_pinned(kSome);
  std::vector<float> host(256, 1.0f);
  Stream& stream = card.device.stream();
  EXPECT_EQ(stream.copy_from_host(memory->address(), host.data(), kSome), SourceUse::over);
  EXPECT_EQ(stream.copy_from_host(memory->address(), pinned->address(), kSome), SourceUse::in_flight);
  EXPECT_EQ(stream.copy({.to = second->address(),
                         .from = memory->address(),
                         .bytes = kSome,
                         .to_device = &card.device,
                         .from_device = &card.device}),
            SourceUse::in_flight);
}

TEST(CudaDevice, EventsOrderItsStreamsAndTellWhenTheyWereReached) {
  RecordingDevice card;
  const auto memory = card.device.allocate(kSome);
  const auto pinned = card.device.allocate_pinned(kSome);
  std::fill_n(static_cast<float*>(pinned->address()), 256, 3.0f);
  Stream &copies = card.device.stream_for(StreamPurpose::copies), &compute = card.device.stream();
  const std::unique_ptr<Event> filled = card.device.make_event();
  EXPECT_TRUE(filled->reached());  // never recorded
  const auto before = std::chrono::steady_clock::now();
  const std::unique_ptr<Event> timed = card.device.make_timed_event();
  copies.copy_from_host(memory->address(), pinned->address(), kSome);
  copies.record(*filled);
  compute.wait(*filled);
  float value = 0;
  compute.copy_to_host(&value, memory->address(), sizeof value);
  compute.record(*timed);
  timed->wait();
  EXPECT_EQ(value, 3.0f);
  EXPECT_GE(timed->when(), before);
  EXPECT_LE(timed->when(), std::chrono::steady_clock::now());
}

TEST(CudaDevice, ARecordingIsDoneAgainByOneCall) {
  RecordingDevice card;
  const auto memory = card.device.allocate(kSome);
  const auto pinned = card.device.allocate_pinned(kSome);
  Stream& stream = card.device.stream();
  const std::unique_ptr<Recording> recording =
      card.device.record([&] { stream.copy_from_host(memory->address(), pinned->address(), kSome); });
  for (float value : {1.0f, 2.0f}) {
    std::fill_n(static_cast<float*>(pinned->address()), 256, value);
    recording->replay();
    float got = 0;
    stream.copy_to_host(&got, memory->address(), sizeof got);
    stream.synchronize();
    EXPECT_EQ(got, value);
  }
}

TEST(CudaDevice, WhatARecordingForbidsIsRefused) {
  RecordingDevice card;
  const auto memory = card.device.allocate(kSome);
  std::vector<float> host(256);
  EXPECT_EQ(error_of([&] { card.device.record([&] { card.device.allocate(4); }); }),
            "[cuda] allocating memory cannot be recorded");
  EXPECT_THAT(error_of([&] {
                card.device.record([&] { card.device.stream().copy_to_host(host.data(), memory->address(), kSome); });
              }),
              HasSubstr("a copy to memory that is not pinned inside of a capture"));
}

TEST(CudaDevice, AKernelOfAnotherDeviceIsRefused) {
  RecordingDevice card, other;
  const NodeProblem problem("softmax", {Tensor(DType::f32, {2, 4})}, {});
  KernelChoice choice = other.device.kernels("softmax").front().make(problem.request(other.device));
  EXPECT_THAT(error_of([&] { card.device.stream().run(*std::get<std::unique_ptr<Kernel>>(choice), {}); }),
              HasSubstr("was made for another device"));
}

TEST(CudaDevice, AStickyErrorNamesTheOpAndTheLaunch) {
  RecordingDevice card({}, {.work_fault = [](std::string_view work) {
                         return work.find("softmax") != std::string_view::npos ? result::kIllegalAddress
                                                                               : result::kSuccess;
                       }});
  const NodeProblem problem("softmax", {Tensor(DType::f32, {2, 4})}, {});
  KernelChoice choice = card.device.kernels("softmax").front().make(problem.request(card.device));
  EXPECT_THAT(error_of([&] { run_on_device(card.device, *std::get<std::unique_ptr<Kernel>>(choice), problem, false); }),
              HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS: in 'softmax_under_test: axis_softmax_f32'"));
}

}  // namespace
}  // namespace ridgeline::cuda::testing
