#include "ridgeline/device/cpu/pixels/pixels.h"

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/speeds.h"

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

double share_of(const std::variant<Pixels, Refusal>& node) {
  const auto* const p = std::get_if<Pixels>(&node);
  if (p == nullptr) return speeds::kPixels.elsewhere;
  if (p->type == DType::bf16 && fast_bf16_dots()) return speeds::kPixels.elsewhere;  // dot products are faster
  const bool large = p->count() >= speeds::kLeastPixels && p->columns() >= speeds::kLeastPixelChannels &&
                     p->k >= speeds::kLeastPixelChannels;
  return large && (p->single() || p->strided()) ? 1 : speeds::kPixels.elsewhere;
}

}  // namespace ridgeline::device::pixels
