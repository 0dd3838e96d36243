#include "ridgeline/device/cuda/kernels/dropout.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_DROPOUT_KERNELS(RIDGELINE_DEVICE_CODE)
}
