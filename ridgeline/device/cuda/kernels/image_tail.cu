#include "ridgeline/device/cuda/kernels/device_code.cuh"
#include "ridgeline/device/cuda/kernels/image_tail.h"

namespace ridgeline::cuda {
RIDGELINE_IMAGE_TAIL_KERNELS(RIDGELINE_DEVICE_CODE)
}
