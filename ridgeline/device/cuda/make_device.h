// ridgeline/device/cuda/make_device.h
//
// A card as a device, and what there is to say of the cards of this machine.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "ridgeline/device/cuda/kernel_images.h"
#include "ridgeline/device/devices.h"

namespace ridgeline::cuda {

// As the device "cuda" of the table wants it. `images`: of our kernels. RIDGELINE_CUDA_DRIVER=recording takes the
// recording driver instead of the machine's, for trying things out where there is no card; RIDGELINE_CARDS_OVER says how
// ranks exchange (comm/agreement.h).
std::unique_ptr<Device> make_device(const DeviceOptions& options, std::span<const KernelImage> images);
// A line a card, then one a library, with where it is or where it was looked for; an Error where there is no driver, or
// one that is too old.
std::string describe_cards();

}  // namespace ridgeline::cuda
