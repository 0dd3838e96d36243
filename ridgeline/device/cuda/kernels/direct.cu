#include "ridgeline/device/cuda/kernels/direct.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_DIRECT_KERNELS(RIDGELINE_DEVICE_CODE)
}
