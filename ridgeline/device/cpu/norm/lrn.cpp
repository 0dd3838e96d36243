#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/norm/lrn.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"

#ifndef RIDGELINE_OWN_LRN_SHAPE
#define RIDGELINE_OWN_LRN_SHAPE
namespace ridgeline::device {

// A pixel's channels and `reach` zeros on either side live on the stack.
constexpr std::int64_t kMaxChannels = 2048;
constexpr std::int64_t kMaxReach = 16;

struct Lrn {
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
  std::int64_t reach = 0;  // the window is [c - reach, c + reach]
  float bias = 1;
  float share = 0;  // alpha / size
};

}  // namespace ridgeline::device
#endif

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kBuffer = kMaxChannels + 2 * kMaxReach;

// s^-0.75 by two roots and a division, each rounded once.
template <class V>
HWY_INLINE V power(V s) {
  const auto root = hn::Sqrt(s);
  return hn::Div(hn::Set(hn::DFromV<V>(), 1.0f), hn::Mul(root, hn::Sqrt(root)));
}

// Sum over the window around channel c; `padded` holds `reach` zeros before channel 0 and after the last.
template <class D>
HWY_INLINE hn::Vec<D> window_sum(D d, const float* padded, std::int64_t reach, std::int64_t c) {
  auto sum = hn::LoadU(d, padded + c);
  for (std::int64_t i = 1; i <= 2 * reach; ++i) sum = hn::Add(sum, hn::LoadU(d, padded + c + i));
  return sum;
}

void clear_margins(float* padded, const Lrn& p) {
  for (std::int64_t i = 0; i < p.reach; ++i) padded[i] = padded[p.reach + p.channels + i] = 0;
}

template <class T>
void lrn_pixels(const Lrn& p, const T* HWY_RESTRICT x, T* HWY_RESTRICT y, std::int64_t begin, std::int64_t end) {
  HWY_ALIGN float squares[kBuffer];
  clear_margins(squares, p);
  for (std::int64_t pixel = begin; pixel < end; ++pixel) {
    const T* in = x + pixel * p.channels;
    T* out = y + pixel * p.channels;
    for_lanes(p.channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = load(d, in + c);
      hn::StoreU(hn::Mul(v, v), d, squares + p.reach + c);
    });
    for_lanes(p.channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto s = hn::MulAdd(window_sum(d, squares, p.reach, c), hn::Set(d, p.share), hn::Set(d, p.bias));
      store(hn::Mul(load(d, in + c), power(s)), d, out + c);
    });
  }
}

// With s = bias + share * sum of x^2: dx_i = dy_i * s_i^-b - 2*b*share * x_i * sum over windows j around i of
// dy_j * x_j * s_j^(-b-1).
template <class T>
void lrn_bwd_pixels(const Lrn& p, const T* HWY_RESTRICT x, const T* HWY_RESTRICT dy, T* HWY_RESTRICT dx,
                    std::int64_t begin, std::int64_t end) {
  HWY_ALIGN float squares[kBuffer];
  HWY_ALIGN float ratios[kBuffer];
  HWY_ALIGN float powers[kBuffer];
  clear_margins(squares, p);
  clear_margins(ratios, p);
  for (std::int64_t pixel = begin; pixel < end; ++pixel) {
    const std::int64_t at = pixel * p.channels;
    for_lanes(p.channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = load(d, x + at + c);
      hn::StoreU(hn::Mul(v, v), d, squares + p.reach + c);
    });
    for_lanes(p.channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto s = hn::MulAdd(window_sum(d, squares, p.reach, c), hn::Set(d, p.share), hn::Set(d, p.bias));
      const auto scaled = hn::Mul(load(d, dy + at + c), power(s));
      hn::StoreU(scaled, d, powers + c);
      hn::StoreU(hn::Div(hn::Mul(scaled, load(d, x + at + c)), s), d, ratios + p.reach + c);
    });
    for_lanes(p.channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto factor = hn::Mul(hn::Set(d, -1.5f * p.share), load(d, x + at + c));
      store(hn::MulAdd(factor, window_sum(d, ratios, p.reach, c), hn::LoadU(d, powers + c)), d, dx + at + c);
    });
  }
}

void lrn_pixels_f32(const Lrn& p, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  lrn_pixels(p, x, y, begin, end);
}
void lrn_pixels_bf16(const Lrn& p, const bfloat16* x, bfloat16* y, std::int64_t begin, std::int64_t end) {
  lrn_pixels(p, x, y, begin, end);
}
void lrn_bwd_pixels_f32(const Lrn& p, const float* x, const float* dy, float* dx, std::int64_t begin,
                        std::int64_t end) {
  lrn_bwd_pixels(p, x, dy, dx, begin, end);
}
void lrn_bwd_pixels_bf16(const Lrn& p, const bfloat16* x, const bfloat16* dy, bfloat16* dx, std::int64_t begin,
                         std::int64_t end) {
  lrn_bwd_pixels(p, x, dy, dx, begin, end);
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(lrn_pixels_f32);
HWY_EXPORT(lrn_pixels_bf16);
HWY_EXPORT(lrn_bwd_pixels_f32);
HWY_EXPORT(lrn_bwd_pixels_bf16);

namespace {

void lrn_pixels(const Lrn& p, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(lrn_pixels_f32)(p, x, y, begin, end);
}
void lrn_pixels(const Lrn& p, const bfloat16* x, bfloat16* y, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(lrn_pixels_bf16)(p, x, y, begin, end);
}
void lrn_bwd_pixels(const Lrn& p, const float* x, const float* dy, float* dx, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(lrn_bwd_pixels_f32)(p, x, dy, dx, begin, end);
}
void lrn_bwd_pixels(const Lrn& p, const bfloat16* x, const bfloat16* dy, bfloat16* dx, std::int64_t begin,
                    std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(lrn_bwd_pixels_bf16)(p, x, dy, dx, begin, end);
}

std::variant<Lrn, Refusal> lrn_of(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Shape& shape = request.inputs[0].type.shape;
  const std::int64_t size = attributes.integer("size");
  if (attributes.real("beta") != 0.75) return Refusal{"beta is not 0.75"};
  for (const KernelOperand& operand : request.inputs) {
    if (operand.type.dtype != request.inputs[0].type.dtype) return Refusal{"x and dy of two types"};
  }
  if (size % 2 == 0 || size / 2 > kMaxReach) return Refusal{"size " + std::to_string(size) + " is even or above 33"};
  if (shape[-1] > kMaxChannels) return Refusal{"more than " + std::to_string(kMaxChannels) + " channels"};
  if (attributes.real("bias") <= 0 || attributes.real("alpha") < 0) return Refusal{"the base may be zero or negative"};
  return Lrn{shape.elements() / std::max<std::int64_t>(1, shape[-1]), shape[-1], size / 2,
             static_cast<float>(attributes.real("bias")),
             static_cast<float>(attributes.real("alpha") / static_cast<double>(size))};
}

}  // namespace

KernelChoice make_own_lrn(const KernelRequest& request) {
  const auto shape = lrn_of(request);
  if (const auto* refusal = std::get_if<Refusal>(&shape)) return *refusal;
  const Lrn p = std::get<Lrn>(shape);
  return make_body_kernel(own_name("lrn"), [p, dtype = request.inputs[0].type.dtype](const KernelArguments& a) {
    with_type(dtype, [&](auto stored) {
      using T = decltype(stored);
      parallel_for(p.pixels, 64, [&](std::int64_t begin, std::int64_t end) {
        lrn_pixels(p, input<T>(a, 0), output<T>(a, 0), begin, end);
      });
    });
  });
}

KernelChoice make_own_lrn_bwd(const KernelRequest& request) {
  const auto shape = lrn_of(request);
  if (const auto* refusal = std::get_if<Refusal>(&shape)) return *refusal;
  const Lrn p = std::get<Lrn>(shape);
  const int dy = static_cast<int>(request.inputs.size()) - 1;
  const DType dtype = request.inputs[0].type.dtype;
  return make_body_kernel(own_name("lrn_bwd"), [p, dy, dtype](const KernelArguments& a) {
    with_type(dtype, [&](auto stored) {
      using T = decltype(stored);
      parallel_for(p.pixels, 64, [&](std::int64_t begin, std::int64_t end) {
        lrn_bwd_pixels(p, input<T>(a, 0), input<T>(a, dy), output<T>(a, 0), begin, end);
      });
    });
  });
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
