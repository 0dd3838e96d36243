#include "ridgeline/device/cpu/winograd/products.h"

#include <algorithm>

#include "ridgeline/device/cpu/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/winograd/products.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/winograd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::winograd::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX2

struct Block {
  std::int64_t depth;
  const float* a;
  std::int64_t a_row;
  std::int64_t a_step;
  const float* b;
  float* c;
  std::int64_t c_row;
  bool add;
  const float* ahead;  // a line of each row of the panel that comes next
};

constexpr int kLine = 16;  // floats in a line of the caches

// Rows x Vectors accumulators. They are added to c at the end and do not start from it: one rounding against the
// running sum for the whole depth.
template <int Rows, int Vectors, bool Ahead>
void multiply_block(const Block& block) {
  const Tag d;
  Vector sum[Rows][Vectors];
  unroll<Rows>([&](auto r)
                   RIDGELINE_INLINE { unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::Zero(d); }); });
  const float* HWY_RESTRICT a = block.a;
  const float* HWY_RESTRICT b = block.b;
  const std::int64_t a_row = block.a_row;
  const std::int64_t a_step = block.a_step;
  const float* ahead = block.ahead;
  for (std::int64_t k = block.depth; k > 0; --k) {
    if constexpr (Ahead) {
      __builtin_prefetch(ahead, 0, 2);
      ahead += kPanel;
    }
    Vector columns[Vectors];
    unroll<Vectors>([&](auto v) RIDGELINE_INLINE { columns[v] = hn::Load(d, b + v * kLanes); });
    unroll<Rows>([&](auto r) RIDGELINE_INLINE {
      const Vector factor = hn::Set(d, a[r * a_row]);
      unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::MulAdd(factor, columns[v], sum[r][v]); });
    });
    a += a_step;
    b += kPanel;
  }
  unroll<Rows>([&](auto r) RIDGELINE_INLINE {
    unroll<Vectors>([&](auto v) RIDGELINE_INLINE {
      float* at = block.c + r * block.c_row + v * kLanes;
      hn::Store(block.add ? hn::Add(sum[r][v], hn::Load(d, at)) : sum[r][v], d, at);
    });
  });
}

template <int Vectors>
void multiply_rows(Block block, std::int64_t rows) {
  // The first blocks fetch the next panel, a line of each row each: it comes from the last cache, or from memory.
  const float* const ahead_end = block.ahead == nullptr ? nullptr : block.ahead + kPanel;
  for (; rows >= kBlockRows; rows -= kBlockRows) {
    if (block.ahead != ahead_end) {
      multiply_block<kBlockRows, Vectors, true>(block);
      block.ahead += kLine;
    } else {
      multiply_block<kBlockRows, Vectors, false>(block);
    }
    block.a += kBlockRows * block.a_row;
    block.c += kBlockRows * block.c_row;
  }
  unroll<kBlockRows - 1>([&](auto r) RIDGELINE_INLINE {
    if (rows == r + 1) multiply_block<r + 1, Vectors, false>(block);
  });
}

void multiply_panel(const Product& p) {
  const auto vectors = static_cast<int>((p.columns + kLanes - 1) / kLanes);
  for (std::int64_t k = 0; k < p.depth; k += p.depth_step) {
    const bool last = k + p.depth_step >= p.depth;
    const Block block{std::min(p.depth_step, p.depth - k),
                      p.a + k * p.a_step,
                      p.a_row,
                      p.a_step,
                      p.b + k * kPanel,
                      p.c,
                      p.c_row,
                      p.add || k > 0,
                      last ? p.next_b : p.b + (k + p.depth_step) * kPanel};
    unroll<kBlockVectors>([&](auto v) RIDGELINE_INLINE {
      if (vectors == v + 1) multiply_rows<v + 1>(block, p.rows);
    });
  }
}

#else  // below AVX2 no kernel is made (see isa.h), so none is compiled

void multiply_panel(const Product&) {}

#endif

Multiply find_multiply() { return multiply_panel; }

}  // namespace ridgeline::device::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device::winograd {

HWY_EXPORT(find_multiply);

Multiply multiply() {
  active_isa();
  return HWY_DYNAMIC_DISPATCH(find_multiply)();
}

}  // namespace ridgeline::device::winograd
#endif  // HWY_ONCE
