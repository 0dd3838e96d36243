#include "ridgeline/device/cpu/pixels/pixels.h"

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/speeds.h"

namespace ridgeline::device::pixels {

std::variant<Pixels, Refusal> pixels_of(const KernelRequest& request, const ValueType& x, const ValueType& w,
                                        const ValueType& y) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  Pixels p;
  p.type = x.dtype;
  if (x.shape.rank() == 2) {  // a dense layer: rows are the pixels of one line
    if (x.shape[0] < speeds::kLeastPixels) {
      return Refusal{std::to_string(x.shape[0]) + " rows: of dense layers this kernel takes " +
                     std::to_string(speeds::kLeastPixels) + " and more"};
    }
    p.n = p.h = p.oh = 1, p.w = p.ow = x.shape[0], p.c = x.shape[1], p.k = y.shape[1];
    return p;
  }
  if (request.node.attributes.integer("groups") != 1) return Refusal{"several groups"};
  p.n = x.shape[0], p.h = x.shape[1], p.w = x.shape[2], p.c = x.shape[3];
  p.oh = y.shape[1], p.ow = y.shape[2], p.k = y.shape[3];
  p.window = window_of(request.def.name, request.node.attributes, w.shape[1], w.shape[2]);
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
