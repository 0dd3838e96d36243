#include "ridgeline/device/cuda/kernels/image_tail.h"
#include "ridgeline/device/cuda/kernels/device_code.cuh"

namespace ridgeline::cuda {
RIDGELINE_IMAGE_TAIL_KERNELS(RIDGELINE_DEVICE_CODE)
}
