#include "ridgeline/device/cuda/kernels/softmax.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_SOFTMAX_KERNELS(RIDGELINE_DEVICE_CODE)
}
