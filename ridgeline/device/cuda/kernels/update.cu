#include "ridgeline/device/cuda/kernels/update.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_UPDATE_KERNELS(RIDGELINE_DEVICE_CODE)
}
