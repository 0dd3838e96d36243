#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/softmax.h"

namespace ridgeline::cuda {
RIDGELINE_SOFTMAX_KERNELS(RIDGELINE_DEVICE_CODE)
}
