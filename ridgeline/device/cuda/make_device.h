// ridgeline/device/cuda/make_device.h
//
// Makes a card a device, and describes the cards of this machine.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "ridgeline/device/cuda/kernel_images.h"
#include "ridgeline/device/devices.h"

namespace ridgeline::cuda {

// For the device "cuda" of the table. `images`: of our kernels. RIDGELINE_CUDA_DRIVER=recording selects the recording
// driver instead of the machine's, for experiments without a card; RIDGELINE_CARDS_OVER selects how ranks exchange
// (comm/agreement.h).
std::unique_ptr<Device> make_device(const DeviceOptions& options, std::span<const KernelImage> images);
// One line for each card, then one for each library, with its place or the places that were searched; an Error if there
// is no driver, or one that is too old.
std::string describe_cards();

}  // namespace ridgeline::cuda
