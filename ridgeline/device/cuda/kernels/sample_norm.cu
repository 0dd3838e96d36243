#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/sample_norm.h"

namespace ridgeline::cuda {
RIDGELINE_SAMPLE_NORM_KERNELS(RIDGELINE_DEVICE_CODE)
}
