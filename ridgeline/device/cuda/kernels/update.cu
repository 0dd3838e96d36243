#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/update.h"

namespace ridgeline::cuda {
RIDGELINE_UPDATE_KERNELS(RIDGELINE_DEVICE_CODE)
}
