#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/dropout.h"

namespace ridgeline::cuda {
RIDGELINE_DROPOUT_KERNELS(RIDGELINE_DEVICE_CODE)
}
