#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/own/kernels.h"
#include "ridgeline/device/cpu/own/pool_index.h"
#include "ridgeline/device/cpu/pool_geometry.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/own/pool.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/own/for_lanes-inl.h"
#include "ridgeline/device/cpu/own/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Output rows [begin, end) of the N*OH rows.
template <class T>
void max_pool_rows(const PoolGeometry& p, const T* HWY_RESTRICT x, T* HWY_RESTRICT y, std::uint8_t* HWY_RESTRICT index,
                   std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* image = x + row / p.oh * p.h * p.w * p.c;
    const Taps rows(row % p.oh, p.sh, p.top, p.kh, p.h);
    for (std::int64_t ow = 0; ow < p.ow; ++ow) {
      const Taps columns(ow, p.sw, p.left, p.kw, p.w);
      const std::int64_t out = (row * p.ow + ow) * p.c;
      for_four_lanes(p.c, [&](auto d, std::int64_t c, auto count) HWY_ATTR {
        const hn::RebindToSigned<decltype(d)> di;
        const hn::Rebind<std::uint8_t, decltype(di)> du8;
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        const T* corner = image + (rows.origin * p.w + columns.origin) * p.c + c;
        const T* first = corner + (rows.first * p.w + columns.first) * p.c;
        hn::Vec<decltype(d)> best[decltype(count)::value];
        hn::Vec<decltype(di)> where[decltype(count)::value];
        for (int k = 0; k < count; ++k) {
          best[k] = load(d, first + k * lanes);
          where[k] = hn::Set(di, static_cast<std::int32_t>(rows.first * p.kw + columns.first));
        }
        for (std::int64_t r = rows.first; r < rows.last; ++r) {
          for (std::int64_t s = columns.first; s < columns.last; ++s) {
            const T* at = corner + (r * p.w + s) * p.c;
            const auto here = hn::Set(di, static_cast<std::int32_t>(r * p.kw + s));
            for (int k = 0; k < count; ++k) {
              const auto v = load(d, at + k * lanes);
              // Greater, or the first NaN: NaN compares false with everything, and once it is the best it stays.
              const auto wins = hn::AndNot(hn::Le(v, best[k]), hn::Eq(best[k], best[k]));
              best[k] = hn::IfThenElse(wins, v, best[k]);
              where[k] = hn::IfThenElse(hn::RebindMask(di, wins), here, where[k]);
            }
          }
        }
        for (int k = 0; k < count; ++k) {
          store(best[k], d, y + out + c + k * lanes);
          hn::StoreU(hn::DemoteTo(du8, where[k]), du8, index + out + c + k * lanes);
        }
      });
    }
  }
}

// Input rows [begin, end) of the N*H rows: every input gathers from the windows that cover it.
template <class T>
void max_pool_bwd_rows(const PoolGeometry& p, const T* HWY_RESTRICT dy, const std::uint8_t* HWY_RESTRICT index,
                       T* HWY_RESTRICT dx, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t ih = row % p.h;
    const std::int64_t first_output = row / p.h * p.oh * p.ow;
    const Covering rows(ih, p.sh, p.top, p.kh, p.oh);
    for (std::int64_t iw = 0; iw < p.w; ++iw) {
      const Covering columns(iw, p.sw, p.left, p.kw, p.ow);
      for_four_lanes(p.c, [&](auto d, std::int64_t c, auto count) HWY_ATTR {
        const hn::RebindToSigned<decltype(d)> di;
        const hn::Rebind<std::uint8_t, decltype(di)> du8;
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        hn::Vec<decltype(d)> sum[decltype(count)::value];
        for (int k = 0; k < count; ++k) sum[k] = hn::Zero(d);
        for (std::int64_t oh = rows.first; oh < rows.last; ++oh) {
          const std::int64_t r = ih + p.top - oh * p.sh;
          for (std::int64_t ow = columns.first; ow < columns.last; ++ow) {
            const std::int64_t s = iw + p.left - ow * p.sw;
            const std::int64_t out = (first_output + oh * p.ow + ow) * p.c + c;
            const auto wanted = hn::Set(di, static_cast<std::int32_t>(r * p.kw + s));
            for (int k = 0; k < count; ++k) {
              const auto where = hn::PromoteTo(di, hn::LoadU(du8, index + out + k * lanes));
              const auto here = hn::RebindMask(d, hn::Eq(where, wanted));
              sum[k] = hn::Add(sum[k], hn::IfThenElseZero(here, load(d, dy + out + k * lanes)));
            }
          }
        }
        for (int k = 0; k < count; ++k) store(sum[k], d, dx + (row * p.w + iw) * p.c + c + k * lanes);
      });
    }
  }
}

void max_pool_rows_f32(const PoolGeometry& p, const float* x, float* y, std::uint8_t* index, std::int64_t begin,
                       std::int64_t end) {
  max_pool_rows(p, x, y, index, begin, end);
}
void max_pool_rows_bf16(const PoolGeometry& p, const bfloat16* x, bfloat16* y, std::uint8_t* index, std::int64_t begin,
                        std::int64_t end) {
  max_pool_rows(p, x, y, index, begin, end);
}
void max_pool_bwd_rows_f32(const PoolGeometry& p, const float* dy, const std::uint8_t* index, float* dx,
                           std::int64_t begin, std::int64_t end) {
  max_pool_bwd_rows(p, dy, index, dx, begin, end);
}
void max_pool_bwd_rows_bf16(const PoolGeometry& p, const bfloat16* dy, const std::uint8_t* index, bfloat16* dx,
                            std::int64_t begin, std::int64_t end) {
  max_pool_bwd_rows(p, dy, index, dx, begin, end);
}

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

HWY_EXPORT(max_pool_rows_f32);
HWY_EXPORT(max_pool_rows_bf16);
HWY_EXPORT(max_pool_bwd_rows_f32);
HWY_EXPORT(max_pool_bwd_rows_bf16);
HWY_EXPORT(avg_pool_rows);
HWY_EXPORT(avg_pool_bwd_rows);

KernelChoice make_own_max_pool(const KernelRequest& request) {
  const PoolGeometry p =
      PoolGeometry::of(request.node.attributes, request.inputs[0].type.shape, request.outputs[0].type.shape);
  if (p.pad_reaches_kernel()) return Refusal{"padding as wide as the kernel: a window may hold no element"};
  if (p.kh * p.kw > 255) return Refusal{"more than 255 positions in a window do not fit the u8 index"};
  const bool narrow = request.inputs[0].type.dtype == DType::bf16;
  return make_body_kernel(own_name("max_pool"), [p, narrow](const KernelArguments& a) {
    parallel_for(p.n * p.oh, 1, [&](std::int64_t begin, std::int64_t end) {
      if (narrow) {
        HWY_DYNAMIC_DISPATCH(max_pool_rows_bf16)
        (p, input<bfloat16>(a, 0), output<bfloat16>(a, 0), output<std::uint8_t>(a, 1), begin, end);
      } else {
        HWY_DYNAMIC_DISPATCH(max_pool_rows_f32)
        (p, input<float>(a, 0), output<float>(a, 0), output<std::uint8_t>(a, 1), begin, end);
      }
    });
  });
}

KernelChoice make_own_max_pool_bwd(const KernelRequest& request) {
  const PoolGeometry p =
      PoolGeometry::of(request.node.attributes, request.outputs[0].type.shape, request.inputs[0].type.shape);
  const bool narrow = request.inputs[0].type.dtype == DType::bf16;
  return make_body_kernel(own_name("max_pool_bwd"), [p, narrow](const KernelArguments& a) {
    check_pool_index(p, input<std::uint8_t>(a, 1));
    parallel_for(p.n * p.h, 1, [&](std::int64_t begin, std::int64_t end) {
      if (narrow) {
        HWY_DYNAMIC_DISPATCH(max_pool_bwd_rows_bf16)
        (p, input<bfloat16>(a, 0), input<std::uint8_t>(a, 1), output<bfloat16>(a, 0), begin, end);
      } else {
        HWY_DYNAMIC_DISPATCH(max_pool_bwd_rows_f32)
        (p, input<float>(a, 0), input<std::uint8_t>(a, 1), output<float>(a, 0), begin, end);
      }
    });
  });
}

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
