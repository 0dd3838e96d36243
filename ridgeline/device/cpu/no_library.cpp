// A build without oneDNN: own kernels compute everything.
#include "ridgeline/device/cpu/library.h"

namespace ridgeline::device {

std::span<const KernelEntry> library_kernels() { return {}; }

std::string library_version() { return "no library"; }

}  // namespace ridgeline::device
