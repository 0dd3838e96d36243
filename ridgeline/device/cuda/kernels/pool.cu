#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/pool.h"

namespace ridgeline::cuda {
RIDGELINE_POOL_KERNELS(RIDGELINE_DEVICE_CODE)
}
