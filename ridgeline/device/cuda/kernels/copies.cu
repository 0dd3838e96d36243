#include "ridgeline/device/cuda/kernels/copies.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_COPIES_KERNELS(RIDGELINE_DEVICE_CODE)
}
