#include "ridgeline/device/cuda/kernels/pool.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_POOL_KERNELS(RIDGELINE_DEVICE_CODE)
}
