#include "ridgeline/device/cpu/pixels/pixels.h"

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device::pixels {

std::variant<Pixels, Refusal> pixels_of(const KernelRequest& request, const ValueType& x, const ValueType& w,
                                        const ValueType& y) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  if (request.node.attributes.integer("groups") != 1) return Refusal{"several groups"};
  Pixels p;
  p.n = x.shape[0], p.h = x.shape[1], p.w = x.shape[2], p.c = x.shape[3];
  p.oh = y.shape[1], p.ow = y.shape[2], p.k = y.shape[3];
  p.window = window_of(request.def.name, request.node.attributes, w.shape[1], w.shape[2]);
  p.type = x.dtype;
  return p;
}

double share_of(const Pixels& p) {
  constexpr std::int64_t kLeastPixels = 1536, kLeastChannels = 64;
  if (p.type == DType::bf16 && fast_bf16_dots()) return kElsewhere;  // dot products are faster
  const bool large = p.count() >= kLeastPixels && p.columns() >= kLeastChannels && p.k >= kLeastChannels;
  return large && (p.single() || p.strided()) ? 1 : kElsewhere;
}

}  // namespace ridgeline::device::pixels
