#include "ridgeline/device/cuda/cublas/kernels.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/cudnn/kernels.h"
#include "ridgeline/device/cuda/table/entries.h"

namespace ridgeline::cuda {
namespace {

// A library that is not there, or does not open the card, is a reason like any other.
KernelChoice with_libraries(const KernelRequest& request, KernelChoice (*make)(const KernelRequest&, Libraries&)) {
  try {
    return make(request, static_cast<CudaDevice&>(*request.device).libraries());
  } catch (const Error& error) {
    return Refusal{error.what()};
  }
}

}  // namespace

KernelChoice make_library_convolution(const KernelRequest& request) {
  return with_libraries(request, cudnn::make_convolution);
}

KernelChoice make_library_product(const KernelRequest& request) {
  return with_libraries(request, cublas::make_product);
}

}  // namespace ridgeline::cuda
