#include "ridgeline/device/cuda/kernels/axis_softmax.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_AXIS_SOFTMAX_KERNELS(RIDGELINE_DEVICE_CODE)
}
