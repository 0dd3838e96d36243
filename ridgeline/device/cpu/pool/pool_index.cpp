#include "ridgeline/device/cpu/pool/pool_index.h"

#include <array>

#include "ridgeline/core/threads.h"
#include "ridgeline/graph/op/pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/pool/pool_index.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

bool all_below(const std::uint8_t* HWY_RESTRICT index, std::int64_t n, std::int64_t limit) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto most = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) most = hn::Max(most, hn::LoadU(d, index + i));
  const auto last = hn::Set(d, static_cast<std::uint8_t>(limit - 1));  // limit is 1 to 255
  bool below = hn::AllTrue(d, hn::Eq(hn::Max(most, last), last));
  for (; i < n; ++i) below = below && index[i] < limit;
  return below;
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(all_below);

namespace {

// One window's elements, by a table of the positions in the image.
void check_window(const PoolGeometry& p, const Taps& rows, const Taps& columns, const std::uint8_t* index,
                  std::int64_t at) {
  std::array<bool, 256> inside{};
  for (std::int64_t r = rows.first; r < rows.last; ++r) {
    for (std::int64_t s = columns.first; s < columns.last; ++s) inside[static_cast<std::size_t>(r * p.kw + s)] = true;
  }
  for (std::int64_t c = 0; c < p.c; ++c) {
    if (!inside[index[at + c]]) fail_pool_index(index[at + c], at + c);
  }
}

}  // namespace

void check_pool_index(const PoolGeometry& p, const std::uint8_t* index) {
  parallel_for(p.n * p.oh, 1, [&](std::int64_t first, std::int64_t last) { check_pool_index(p, index, first, last); });
}

void check_pool_index(const PoolGeometry& p, const std::uint8_t* index, std::int64_t first, std::int64_t last) {
  // Columns of windows that are completely in the image.
  std::int64_t begin = 0, end = p.ow;
  while (begin < end && Taps(begin, p.sw, p.left, p.kw, p.w).count() < p.kw) ++begin;
  while (begin < end && Taps(end - 1, p.sw, p.left, p.kw, p.w).count() < p.kw) --end;
  for (std::int64_t row = first; row < last; ++row) {
    const Taps rows(row % p.oh, p.sh, p.top, p.kh, p.h);
    const std::int64_t from = row * p.ow;
    const bool whole = rows.count() == p.kh && begin < end &&
                       HWY_DYNAMIC_DISPATCH(all_below)(index + (from + begin) * p.c, (end - begin) * p.c, p.kh * p.kw);
    for (std::int64_t ow = 0; ow < p.ow; ++ow) {
      if (whole && ow >= begin && ow < end) continue;
      check_window(p, rows, Taps(ow, p.sw, p.left, p.kw, p.w), index, (from + ow) * p.c);
    }
  }
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
