#include "ridgeline/device/cuda/kernels/column_sums.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_COLUMN_SUMS_KERNELS(RIDGELINE_DEVICE_CODE)
}
