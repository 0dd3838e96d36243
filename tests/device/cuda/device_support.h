// tests/device/cuda/device_support.h
//
// A CudaDevice on the recording driver.
#pragma once

#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/devices.h"
#include "tests/device/cuda/driver_support.h"
#include "tests/device/cuda/node_problem.h"

namespace ridgeline::cuda::testing {

struct RecordingDevice : RecordingCard {
  explicit RecordingDevice(KernelPromise promise = {}, RecordingOptions options = {}, Calls::Fault fault = {},
                           ExchangeOptions exchanges = {})
      : RecordingCard(std::move(options), std::move(fault)),
        device(context, {.promise = promise, .images = kAnyImages, .exchanges = std::move(exchanges)}) {}
  CudaDevice device;
};

// A device of the table: a card of the recording driver for each session. `name` stays.
void add_recording_device(std::string_view name = "cuda_recording", const ExchangeOptions& exchanges = {});
// What happened on such a device so far.
RecordingCounts counts_of(Device& device);

}  // namespace ridgeline::cuda::testing
