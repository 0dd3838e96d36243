#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/first_layer_gradient.h"

namespace ridgeline::cuda {
RIDGELINE_FIRST_LAYER_GRADIENT_KERNELS(RIDGELINE_DEVICE_CODE)
}
