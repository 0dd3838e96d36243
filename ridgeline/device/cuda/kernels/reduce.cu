#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/reduce.h"

namespace ridgeline::cuda {
RIDGELINE_REDUCE_KERNELS(RIDGELINE_DEVICE_CODE)
}
