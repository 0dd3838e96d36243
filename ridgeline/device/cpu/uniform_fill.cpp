#include "ridgeline/device/uniform_fill.h"

#include <cstring>

#include "ridgeline/device/cpu/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/uniform_fill.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/loop/primitives-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
void fill(PhiloxKey, double, std::uint64_t, float*, std::size_t) {}
#else
namespace hn = hwy::HWY_NAMESPACE;

void fill(PhiloxKey key, double amount, std::uint64_t first_block, float* to, std::size_t count) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const hn::Half<FloatTag> half;
  const hn::Half<decltype(di)> half_i;
  const hn::RepartitionToWide<FloatTag> wide;
  const auto one_half = hn::Set(wide, 0.5), cell = hn::Set(wide, 0x1p-23), one = hn::Set(wide, 1.0);
  const auto factor = hn::Set(wide, amount);
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float tail[4 * HWY_LANES(float)];
  const PhiloxLanes philox(key);
  const auto drawn = [&](auto integers) HWY_ATTR {
    const auto middle = hn::Sub(hn::Mul(hn::Add(hn::PromoteTo(wide, integers), one_half), cell), one);
    return hn::DemoteTo(half, hn::Mul(factor, middle));
  };
  const auto real = [&](auto bits) HWY_ATTR {
    const auto integers = hn::BitCast(di, hn::ShiftRight<8>(bits));
    return hn::Combine(d, drawn(hn::UpperHalf(half_i, integers)), drawn(hn::LowerHalf(half_i, integers)));
  };
  for (std::size_t i = 0; i < count; i += 4 * lanes) {
    const bool whole = i + 4 * lanes <= count;
    float* place = whole ? to + i : tail;
    philox.draw(first_block + i / 4, 0,
                [&](std::size_t k, Words words) HWY_ATTR { hn::StoreU(real(words), d, place + k * lanes); });
    if (!whole) std::memcpy(to + i, tail, (count - i) * sizeof(float));
  }
}
#endif
}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(fill);

void fill_symmetric_uniform(PhiloxKey key, double amount, std::uint64_t first_block, std::span<float> to) {
  active_isa();  // limits the dispatch to it
  HWY_DYNAMIC_DISPATCH(fill)(key, amount, first_block, to.data(), to.size());
}

}  // namespace ridgeline::device
#endif
