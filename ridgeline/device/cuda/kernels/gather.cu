#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/gather.h"

namespace ridgeline::cuda {
RIDGELINE_GATHER_KERNELS(RIDGELINE_DEVICE_CODE)
}
