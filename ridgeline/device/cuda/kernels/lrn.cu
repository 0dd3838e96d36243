#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/lrn.h"

namespace ridgeline::cuda {
RIDGELINE_LRN_KERNELS(RIDGELINE_DEVICE_CODE)
}
