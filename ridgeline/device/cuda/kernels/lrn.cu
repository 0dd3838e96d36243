#include "ridgeline/device/cuda/kernels/lrn.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_LRN_KERNELS(RIDGELINE_DEVICE_CODE)
}
