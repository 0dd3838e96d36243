#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/pool/pool_geometry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/pool/avg_pool.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/for_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Output rows [begin, end) of the N*OH rows.
void avg_pool_rows(const PoolGeometry& p, bool count_pad, const float* HWY_RESTRICT x, float* HWY_RESTRICT y,
                   std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float* image = x + row / p.oh * p.h * p.w * p.c;
    const Taps rows(row % p.oh, p.sh, p.top, p.kh, p.h);
    for (std::int64_t ow = 0; ow < p.ow; ++ow) {
      const Taps columns(ow, p.sw, p.left, p.kw, p.w);
      const auto area = static_cast<float>(count_pad ? p.kh * p.kw : rows.count() * columns.count());
      for_four_lanes(p.c, [&](auto d, std::int64_t c, auto count) HWY_ATTR {
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        const float* corner = image + (rows.origin * p.w + columns.origin) * p.c + c;
        hn::Vec<decltype(d)> sum[decltype(count)::value];
        for (int k = 0; k < count; ++k) sum[k] = hn::Zero(d);
        for (std::int64_t r = rows.first; r < rows.last; ++r) {
          for (std::int64_t s = columns.first; s < columns.last; ++s) {
            const float* at = corner + (r * p.w + s) * p.c;
            for (int k = 0; k < count; ++k) sum[k] = hn::Add(sum[k], hn::LoadU(d, at + k * lanes));
          }
        }
        float* out = y + (row * p.ow + ow) * p.c + c;
        for (int k = 0; k < count; ++k) hn::StoreU(hn::Div(sum[k], hn::Set(d, area)), d, out + k * lanes);
      });
    }
  }
}

// Input rows [begin, end) of the N*H rows: every input gathers from the windows that cover it.
void avg_pool_bwd_rows(const PoolGeometry& p, bool count_pad, const float* HWY_RESTRICT dy, float* HWY_RESTRICT dx,
                       std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t first_output = row / p.h * p.oh * p.ow;
    const Covering rows(row % p.h, p.sh, p.top, p.kh, p.oh);
    for (std::int64_t iw = 0; iw < p.w; ++iw) {
      const Covering columns(iw, p.sw, p.left, p.kw, p.ow);
      for_four_lanes(p.c, [&](auto d, std::int64_t c, auto count) HWY_ATTR {
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        hn::Vec<decltype(d)> sum[decltype(count)::value];
        for (int k = 0; k < count; ++k) sum[k] = hn::Zero(d);
        for (std::int64_t oh = rows.first; oh < rows.last; ++oh) {
          const std::int64_t taps = count_pad ? p.kh : Taps(oh, p.sh, p.top, p.kh, p.h).count();
          for (std::int64_t ow = columns.first; ow < columns.last; ++ow) {
            const std::int64_t area = taps * (count_pad ? p.kw : Taps(ow, p.sw, p.left, p.kw, p.w).count());
            const float* at = dy + (first_output + oh * p.ow + ow) * p.c + c;
            const auto divisor = hn::Set(d, static_cast<float>(area));
            for (int k = 0; k < count; ++k) sum[k] = hn::Add(sum[k], hn::Div(hn::LoadU(d, at + k * lanes), divisor));
          }
        }
        for (int k = 0; k < count; ++k) hn::StoreU(sum[k], d, dx + (row * p.w + iw) * p.c + c + k * lanes);
      });
    }
  }
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(avg_pool_rows);
HWY_EXPORT(avg_pool_bwd_rows);

KernelChoice make_own_avg_pool(const KernelRequest& request) {
  const PoolGeometry p =
      PoolGeometry::of(request.node.attributes, request.inputs[0].type.shape, request.outputs[0].type.shape);
  if (p.pad_reaches_kernel()) return Refusal{"padding as wide as the kernel: a window may hold no element"};
  const bool count_pad = request.node.attributes.boolean("count_include_pad");
  return make_body_kernel(own_name("avg_pool"), [p, count_pad](const KernelArguments& a) {
    parallel_for(p.n * p.oh, 1, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(avg_pool_rows)(p, count_pad, input<float>(a, 0), output<float>(a, 0), begin, end);
    });
  });
}

KernelChoice make_own_avg_pool_bwd(const KernelRequest& request) {
  const PoolGeometry p =
      PoolGeometry::of(request.node.attributes, request.outputs[0].type.shape, request.inputs[0].type.shape);
  if (p.pad_reaches_kernel()) return Refusal{"padding as wide as the kernel: a window may hold no element"};
  const bool count_pad = request.node.attributes.boolean("count_include_pad");
  return make_body_kernel(own_name("avg_pool_bwd"), [p, count_pad](const KernelArguments& a) {
    parallel_for(p.n * p.h, 1, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(avg_pool_bwd_rows)(p, count_pad, input<float>(a, 0), output<float>(a, 0), begin, end);
    });
  });
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
