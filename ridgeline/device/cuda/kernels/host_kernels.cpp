#include "ridgeline/device/cuda/kernels/host_kernels.h"

#include "ridgeline/device/cuda/kernels/row.h"
#include "ridgeline/device/cuda/kernels/self_test.h"

namespace ridgeline::cuda {
namespace {

void self_test_on_host(const Extent3& grid, const Extent3& block, unsigned, const void* parameters) {
  const auto& p = *static_cast<const SelfTestParameters*>(parameters);
  for (unsigned i = 0; i < grid.x * block.x; ++i) self_test_element(p, static_cast<int>(i));
}

}  // namespace

std::vector<HostKernel> host_kernels() {
  std::vector<HostKernel> kernels = {{"self_test", self_test_on_host}};
  for (const KernelRow* row : kernel_rows()) {
    kernels.push_back({row->symbol, [row](const Extent3& grid, const Extent3&, unsigned, const void* parameters) {
                         row->host(parameters, {grid.x, grid.y, grid.z});
                       }});
  }
  return kernels;
}

}  // namespace ridgeline::cuda
