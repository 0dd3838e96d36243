#include "ridgeline/device/cuda/kernels/depthwise.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_DEPTHWISE_KERNELS(RIDGELINE_DEVICE_CODE)
}
