#include "ridgeline/device/cuda/kernels/batch_norm.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_BATCH_NORM_KERNELS(RIDGELINE_DEVICE_CODE)
}
