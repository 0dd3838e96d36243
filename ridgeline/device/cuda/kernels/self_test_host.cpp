#include "ridgeline/device/cuda/kernels/self_test_host.h"

#include "ridgeline/device/cuda/kernels/self_test.h"

namespace ridgeline::cuda {

const HostKernel kSelfTest = {"self_test",
                              [](const Extent3& grid, const Extent3& block, unsigned, const void* parameters) {
                                const auto& p = *static_cast<const SelfTestParameters*>(parameters);
                                for (unsigned i = 0; i < grid.x * block.x; ++i)
                                  self_test_element(p, static_cast<int>(i));
                              }};

}  // namespace ridgeline::cuda
