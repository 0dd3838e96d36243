#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/direct.h"

namespace ridgeline::cuda {
RIDGELINE_DIRECT_KERNELS(RIDGELINE_DEVICE_CODE)
}
