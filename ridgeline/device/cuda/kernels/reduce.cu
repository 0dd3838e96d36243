#include "ridgeline/device/cuda/kernels/reduce.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_REDUCE_KERNELS(RIDGELINE_DEVICE_CODE)
}
