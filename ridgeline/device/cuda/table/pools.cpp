#include "ridgeline/device/cpu/pool/pool_geometry.h"
#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"

namespace ridgeline::cuda {
namespace {

Pool pool_of(const KernelRequest& request, DType type, const Shape& image, const Shape& pooled) {
  const auto g = device::PoolGeometry::of(request.node.attributes, image, pooled);
  return {type, g.n, g.h, g.w, g.c, g.oh, g.ow, g.kh, g.kw, g.sh, g.sw, g.top, g.left};
}

Pool forward_pool(const KernelRequest& request) {
  return pool_of(request, request.inputs[0].type.dtype, request.inputs[0].type.shape, request.outputs[0].type.shape);
}

Pool backward_pool(const KernelRequest& request) {
  return pool_of(request, request.inputs[0].type.dtype, request.outputs[0].type.shape, request.inputs[0].type.shape);
}

KernelChoice make_max_pool(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  return launched(request, "max_pool", [pool = forward_pool(request)](LaunchSink sink, const KernelArguments& a) {
    max_pool(sink, pool, a.inputs[0], a.outputs[0], a.outputs[1]);
  });
}

KernelChoice make_max_pool_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  return launched(request, "max_pool", [pool = backward_pool(request)](LaunchSink sink, const KernelArguments& a) {
    max_pool_gradient(sink, pool, a.inputs[0], a.inputs[1], nullptr, a.outputs[0]);
  });
}

KernelChoice make_avg_pool(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const bool padding = request.node.attributes.boolean("count_include_pad");
  return launched(request, "avg_pool", [=, pool = forward_pool(request)](LaunchSink sink, const KernelArguments& a) {
    average_pool(sink, pool, padding, a.inputs[0], a.outputs[0]);
  });
}

KernelChoice make_avg_pool_bwd(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const bool padding = request.node.attributes.boolean("count_include_pad");
  return launched(request, "avg_pool", [=, pool = backward_pool(request)](LaunchSink sink, const KernelArguments& a) {
    average_pool_gradient(sink, pool, padding, a.inputs[0], a.outputs[0]);
  });
}

constexpr KernelEntry kPools[] = {
    own_entry("max_pool", "own", make_max_pool),
    own_entry("max_pool_bwd", "own", make_max_pool_bwd),
    own_entry("avg_pool", "own", make_avg_pool),
    own_entry("avg_pool_bwd", "own", make_avg_pool_bwd),
};

}  // namespace

std::span<const KernelEntry> pool_entries() { return kPools; }

}  // namespace ridgeline::cuda
