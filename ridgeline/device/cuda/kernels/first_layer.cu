#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/first_layer.h"

namespace ridgeline::cuda {
RIDGELINE_FIRST_LAYER_KERNELS(RIDGELINE_DEVICE_CODE)
}
