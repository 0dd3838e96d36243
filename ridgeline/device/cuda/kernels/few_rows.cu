#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/few_rows.h"

namespace ridgeline::cuda {
RIDGELINE_FEW_ROWS_KERNELS(RIDGELINE_DEVICE_CODE)
}
