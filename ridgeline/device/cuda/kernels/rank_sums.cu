#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/rank_sums.h"

namespace ridgeline::cuda {
RIDGELINE_RANK_SUMS_KERNELS(RIDGELINE_DEVICE_CODE)
}
