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
  const float* ahead;  // the first line to be fetched meanwhile
};

constexpr int kLine = 16;  // floats in a line of the caches

// Spreads the lines that a product fetches over its steps, four at a time.
class Fetcher {
 public:
  Fetcher(const std::array<Lines, 3>& ranges, std::int64_t fours) : ranges_(ranges), fours_(fours) {
    for (const Lines& range : ranges) left_ += range.count;
  }

  // For the next `fours` times four steps: what each four asks for, none to four lines, from `first` on.
  struct Share {
    int lines;
    const float* first;
  };
  Share next(std::int64_t fours) {
    while (at_ < ranges_.size() && ranges_[at_].count <= 0) ++at_;
    if (at_ == ranges_.size() || fours == 0) return {0, nullptr};
    const int lines = left_ <= fours_ ? 1 : left_ <= 2 * fours_ ? 2 : 4;
    Lines& range = ranges_[at_];
    const Share share{lines, range.begin};
    const std::int64_t asked = std::min(range.count, lines * fours);
    range.begin += lines * fours * kLine;
    range.count -= asked;
    left_ -= asked;
    fours_ -= fours;
    return share;
  }

 private:
  std::array<Lines, 3> ranges_;
  std::size_t at_ = 0;
  std::int64_t left_ = 0;  // lines
  std::int64_t fours_;
};

// Rows x Vectors accumulators. They are added to c at the end and do not start from it: one rounding against the
// running sum for the whole depth. Every four steps fetch `Ahead` lines.
template <int Rows, int Vectors, int Ahead>
void multiply_block(const Block& block) {
  const Tag d;
  Vector sum[Rows][Vectors];
  unroll<Rows>([&](auto r)
                   RIDGELINE_INLINE { unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::Zero(d); }); });
  const float* HWY_RESTRICT a = block.a;
  const float* HWY_RESTRICT b = block.b;
  const std::int64_t a_row = block.a_row;
  const std::int64_t a_step = block.a_step;
  const auto step = [&]() RIDGELINE_INLINE {
    Vector columns[Vectors];
    unroll<Vectors>([&](auto v) RIDGELINE_INLINE { columns[v] = hn::Load(d, b + v * kLanes); });
    unroll<Rows>([&](auto r) RIDGELINE_INLINE {
      const Vector factor = hn::Set(d, a[r * a_row]);
      unroll<Vectors>([&](auto v) RIDGELINE_INLINE { sum[r][v] = hn::MulAdd(factor, columns[v], sum[r][v]); });
    });
    a += a_step;
    b += kPanel;
  };
  std::int64_t k = block.depth;
  if constexpr (Ahead > 0) {
    const float* ahead = block.ahead;
    for (; k >= 4; k -= 4) {
      unroll<4>([&](auto i) RIDGELINE_INLINE {
        if constexpr (i % (4 / Ahead) == 0) {
          __builtin_prefetch(ahead, 0, 2);
          ahead += kLine;
        }
        step();
      });
    }
  }
  for (; k > 0; --k) step();

  float* const c = block.c;
  const std::int64_t c_row = block.c_row;
  const auto store = [&](auto add) RIDGELINE_INLINE {
    unroll<Rows>([&](auto r) RIDGELINE_INLINE {
      unroll<Vectors>([&](auto v) RIDGELINE_INLINE {
        float* at = c + r * c_row + v * kLanes;
        hn::Store(add ? hn::Add(sum[r][v], hn::Load(d, at)) : sum[r][v], d, at);
      });
    });
  };
  if (block.add) {
    store(std::true_type());
  } else {
    store(std::false_type());
  }
}

template <int Rows, int Vectors, int Ahead>
void multiply_next(Block& block) {
  multiply_block<Rows, Vectors, Ahead>(block);
  block.a += Rows * block.a_row;
  block.c += Rows * block.c_row;
}

template <int Vectors>
void multiply_rows(Block block, std::int64_t rows, [[maybe_unused]] Fetcher& fetcher) {
  for (; rows >= kBlockRows; rows -= kBlockRows) {
    if constexpr (Vectors == kBlockVectors) {  // a narrower panel is the last of its position: not worth the code
      const Fetcher::Share share = fetcher.next(block.depth / 4);
      block.ahead = share.first;
      switch (share.lines) {
        case 0: multiply_next<kBlockRows, Vectors, 0>(block); break;
        case 1: multiply_next<kBlockRows, Vectors, 1>(block); break;
        case 2: multiply_next<kBlockRows, Vectors, 2>(block); break;
        default: multiply_next<kBlockRows, Vectors, 4>(block);
      }
    } else {
      multiply_next<kBlockRows, Vectors, 0>(block);
    }
  }
  static_assert(kBlockRows <= 8);
  if (rows & 4) multiply_next<4, Vectors, 0>(block);
  if (rows & 2) multiply_next<2, Vectors, 0>(block);
  if (rows & 1) multiply_next<1, Vectors, 0>(block);
}

void multiply_panel(const Product& p) {
  const auto vectors = static_cast<int>((p.columns + kLanes - 1) / kLanes);
  const std::int64_t steps = p.depth / p.depth_step;
  Fetcher fetcher(p.ahead, p.rows / kBlockRows * (steps * (p.depth_step / 4) + p.depth % p.depth_step / 4));
  for (std::int64_t k = 0; k < p.depth; k += p.depth_step) {
    const Block block{std::min(p.depth_step, p.depth - k),
                      p.a + k * p.a_step,
                      p.a_row,
                      p.a_step,
                      p.b + k * kPanel,
                      p.c,
                      p.c_row,
                      p.add || k > 0,
                      nullptr};
    unroll<kBlockVectors>([&](auto v) RIDGELINE_INLINE {
      if (vectors == v + 1) multiply_rows<v + 1>(block, p.rows, fetcher);
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
